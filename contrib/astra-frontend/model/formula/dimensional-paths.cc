/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dimensional-paths.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr uint32_t PORTS_PER_DIMENSION = 4; // out and in, each of a ring's two directions

struct Way
{
    uint32_t links;
    bool backward; ///< around a ring
};

Way
WayBetween(const NetworkDimension& dimension, uint32_t from, uint32_t to)
{
    switch (dimension.shape)
    {
    case NetworkDimension::Shape::Ring: {
        const uint32_t forward = (to + dimension.npus - from) % dimension.npus;
        const uint32_t backward = dimension.npus - forward;
        return {std::min(forward, backward), backward < forward};
    }
    case NetworkDimension::Shape::FullyConnected:
        return {1, false};
    case NetworkDimension::Shape::Switch:
        break;
    }
    return {2, false};
}

} // namespace

uint32_t
DimensionalPaths::GetRankCount() const
{
    uint32_t ranks = 1;
    for (const NetworkDimension& dimension : m_dimensions)
    {
        ranks *= dimension.npus;
    }
    return ranks;
}

uint32_t
DimensionalPaths::GetPortCount() const
{
    return GetRankCount() * PORTS_PER_DIMENSION * static_cast<uint32_t>(m_dimensions.size());
}

std::optional<MessagePath>
DimensionalPaths::Find(uint32_t src,
                       uint32_t dst,
                       uint32_t,
                       uint64_t wireBytes,
                       uint64_t rateCapBps)
{
    const auto portsPerRank = PORTS_PER_DIMENSION * static_cast<uint32_t>(m_dimensions.size());
    MessagePath path{};
    double slowest = 0;
    uint32_t from = src;
    uint32_t to = dst;
    TimePs latency = 0;
    for (uint32_t i = 0; i < m_dimensions.size(); ++i)
    {
        const NetworkDimension& dimension = m_dimensions[i];
        const uint32_t here = from % dimension.npus;
        const uint32_t there = to % dimension.npus;
        from /= dimension.npus;
        to /= dimension.npus;
        if (here == there)
        {
            continue;
        }
        const Way way = WayBetween(dimension, here, there);
        latency += way.links * dimension.latency;
        if (slowest == 0 || dimension.bytesPerNs < slowest)
        {
            slowest = dimension.bytesPerNs;
            const uint32_t port = PORTS_PER_DIMENSION * i + 2 * way.backward;
            path.egress = portsPerRank * src + port;
            path.ingress = portsPerRank * dst + port + 1;
        }
    }
    path.egressTime = std::llround(static_cast<double>(wireBytes) * 1000 / slowest);
    path.ingressTime = path.egressTime;
    path.alone = latency + path.egressTime;
    const TimePs limited =
        rateCapBps
            ? std::llround(static_cast<double>(wireBytes) * 8e12 / static_cast<double>(rateCapBps))
            : 0;
    path.limited = std::max(path.alone, latency + limited);
    path.acknowledgement = 0;
    return path;
}

bool
DimensionalPaths::ShareReducingSwitch(std::span<const int>) const
{
    return false;
}

} // namespace AstraSim
