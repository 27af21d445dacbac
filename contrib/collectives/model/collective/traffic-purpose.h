/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRAFFIC_PURPOSE_H
#define TRAFFIC_PURPOSE_H

#include "collective-types.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/**
 * Purpose of a message, as records of traffic name it: a collective operation and the kind of its
 * group, in one small number. 0: no collective (a message between two ranks).
 */
constexpr uint16_t
TrafficPurpose(CollectiveOp op, GroupKind kind)
{
    return static_cast<uint16_t>(1 + static_cast<unsigned>(kind) * 16 + static_cast<unsigned>(op));
}

/// The purpose of flows beside the workloads; follows those of collectives.
constexpr uint16_t BACKGROUND_PURPOSE = TrafficPurpose(CollectiveOp::None, GroupKind::Custom) + 16;

/// The purpose of keys and values that move to where a request is decoded.
constexpr uint16_t KV_CACHE_PURPOSE = BACKGROUND_PURPOSE + 1;

/// @return a message's source and destination as a group named "KV" for keys and values, else "PP";
/// records of collectives have it
CommGroup PairOfMessage(int src, int dst, uint16_t purpose);

/**
 * @param name TP, DP, EP, DP_EP, PP, CP, CUSTOM (collectives of such groups), MESSAGES (between two
 * ranks, such as those of a pipeline) or KV
 * @return the purposes of the class; none if there is no such class
 */
std::vector<uint16_t> PurposesOfClass(std::string_view name);

/// @return the name of each purpose by number, such as "AllReduce DP"
std::vector<std::string> TrafficPurposeNames();

} // namespace AstraSim

#endif /* TRAFFIC_PURPOSE_H */
