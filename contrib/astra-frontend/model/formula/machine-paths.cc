/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-paths.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr uint32_t PORTS_PER_RANK = 4; // NVLinks out and in, NICs out and in

} // namespace

uint32_t
MachinePaths::GetRankCount() const
{
    return m_machine.ranks;
}

uint32_t
MachinePaths::GetPortCount() const
{
    return PORTS_PER_RANK * m_machine.ranks;
}

std::optional<MessagePath>
MachinePaths::Find(uint32_t src, uint32_t dst, uint32_t, uint64_t wireBytes, uint64_t rateCapBps)
{
    const bool near = src / m_machine.gpusPerServer == dst / m_machine.gpusPerServer;
    const double bytes = static_cast<double>(wireBytes) * m_machine.exposed;
    const TimePs time =
        ns3::RoundToPs(bytes * 1000 / (near ? m_machine.nvlinkGBps : m_machine.nicGBps));
    const TimePs limited =
        rateCapBps ? ns3::RoundToPs(bytes * 8e12 / static_cast<double>(rateCapBps)) : 0;
    const uint32_t kind = near ? 0 : 2;
    return MessagePath{PORTS_PER_RANK * src + kind,
                       PORTS_PER_RANK * dst + kind + 1,
                       time,
                       time,
                       time,
                       std::max(time, limited),
                       0};
}

bool
MachinePaths::ShareReducingSwitch(std::span<const int> ranks) const
{
    const auto serverOf = [this](int rank) {
        return static_cast<uint32_t>(rank) / m_machine.gpusPerServer;
    };
    return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
        return serverOf(rank) == serverOf(ranks.front());
    });
}

} // namespace AstraSim
