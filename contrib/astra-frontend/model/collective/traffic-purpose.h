/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_PURPOSE_H
#define TRAFFIC_PURPOSE_H

#include "collective-types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * What a message is for, as records of traffic name it: a collective operation and the kind of its
 * group, in one small number. 0: no collective's (a message between two ranks).
 */
constexpr uint16_t
TrafficPurpose(CollectiveOp op, GroupKind kind)
{
    return static_cast<uint16_t>(1 + static_cast<unsigned>(kind) * 16 + static_cast<unsigned>(op));
}

/// The purpose of flows beside the workloads; follows those of collectives.
constexpr uint16_t BACKGROUND_PURPOSE = TrafficPurpose(CollectiveOp::None, GroupKind::Custom) + 16;

/// @return the name of each purpose by number, such as "AllReduce DP"
std::vector<std::string> TrafficPurposeNames();

} // namespace AstraSim

#endif /* TRAFFIC_PURPOSE_H */
