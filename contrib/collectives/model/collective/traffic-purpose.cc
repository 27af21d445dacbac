/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-purpose.h"

namespace AstraSim
{

static_assert(static_cast<unsigned>(CollectiveOp::Barrier) < 16, "an operation takes four bits");

std::vector<std::string>
TrafficPurposeNames()
{
    std::vector<std::string> names(KV_CACHE_PURPOSE + 1U);
    names[0] = "messages";
    names[BACKGROUND_PURPOSE] = "background flows";
    names[KV_CACHE_PURPOSE] = "KV cache";
    for (unsigned kind = 0; kind <= static_cast<unsigned>(GroupKind::Custom); ++kind)
    {
        for (unsigned op = 1; op <= static_cast<unsigned>(CollectiveOp::Barrier); ++op)
        {
            const auto group = static_cast<GroupKind>(kind);
            std::string name = ToString(static_cast<CollectiveOp>(op));
            if (group != GroupKind::Custom)
            {
                name += std::string(" ") + ToString(group);
            }
            names[TrafficPurpose(static_cast<CollectiveOp>(op), group)] = std::move(name);
        }
    }
    return names;
}

CommGroup
PairOfMessage(int src, int dst, uint16_t purpose)
{
    const bool isCache = purpose == KV_CACHE_PURPOSE;
    return {0, isCache ? GroupKind::Custom : GroupKind::Pp, isCache ? "KV" : "PP", {src, dst}};
}

std::vector<uint16_t>
PurposesOfClass(std::string_view name)
{
    if (name == "MESSAGES")
    {
        return {0};
    }
    if (name == "KV")
    {
        return {KV_CACHE_PURPOSE};
    }
    std::vector<uint16_t> purposes;
    for (unsigned kind = 0; kind <= static_cast<unsigned>(GroupKind::Custom); ++kind)
    {
        const auto group = static_cast<GroupKind>(kind);
        for (unsigned op = 1; name == ToString(group) && op < 16; ++op)
        {
            purposes.push_back(TrafficPurpose(static_cast<CollectiveOp>(op), group));
        }
    }
    return purposes;
}

} // namespace AstraSim
