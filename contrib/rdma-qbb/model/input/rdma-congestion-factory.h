/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_FACTORY_H
#define RDMA_CONGESTION_FACTORY_H

#include "ns3/rdma-congestion-ops.h"

#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/// One algorithm that CC_MODE can name.
struct CongestionMode
{
    std::string_view word;     ///< what CC_MODE may say: a number, or the name without "ns3::"
    std::string_view typeName; ///< ns-3 TypeId name
};

/// @return all algorithms of this module
const std::vector<CongestionMode>& GetCongestionModes();

/**
 * Make a congestion control.
 *
 * @param mode the value of CC_MODE: a number, or the name of any TypeId derived from
 * ns3::RdmaCongestionOps, with or without "ns3::"
 * @param origin what to call the place of the value in an error
 * @throw InputError if there is no such algorithm
 */
Ptr<RdmaCongestionOps> CreateCongestionOps(const std::string& mode,
                                           const std::string& origin = "CC_MODE");

} // namespace ns3

#endif /* RDMA_CONGESTION_FACTORY_H */
