/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_OFFLOAD_H
#define COLLECTIVE_OFFLOAD_H

#include "ns3/object.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The groups of ranks with collectives in the engines of NICs: a parameter of programs, as
 * the fabric itself runs no collectives.
 */
class CollectiveOffload : public Object
{
  public:
    static TypeId GetTypeId();

    /// Accepted values, for messages.
    static constexpr const char* EXPECTED =
        "NCCL, or ACCL and then none (all) or some of TP, DP, EP, DP_EP, PP, CP and CUSTOM";

    /**
     * @param text as in EXPECTED
     * @return the classes of traffic that engines carry out; nullopt if @p text is something else
     */
    static std::optional<std::vector<std::string>> Parse(std::string_view text);

  private:
    std::string m_engine;
};

} // namespace ns3

#endif /* COLLECTIVE_OFFLOAD_H */
