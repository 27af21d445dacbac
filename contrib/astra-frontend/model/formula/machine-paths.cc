/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-paths.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

// Even port numbers are egress ports; the odd number after each is the ingress port of the same
// device. First come the NICs, one for each rank; ranks that share a NIC use the number of the
// first of them. Then come the NVLinks: one for each rank with an NVSwitch, or one for each pair
// of GPUs of a server in a mesh.

uint32_t
MachinePaths::GetRankCount() const
{
    return m_machine.ranks;
}

uint32_t
MachinePaths::GetPortCount() const
{
    return 2 * m_machine.ranks * (1 + (m_machine.isMesh ? m_machine.gpusPerServer : 1));
}

std::optional<MessagePath>
MachinePaths::Find(uint32_t src, uint32_t dst, uint32_t, uint64_t wireBytes, uint64_t rateCapBps)
{
    const uint32_t gpus = m_machine.gpusPerServer;
    const double bytes = static_cast<double>(wireBytes) * m_machine.exposed;
    const auto timeAt = [bytes](double GBps) { return ns3::RoundToPs(bytes * 1000 / GBps); };
    const TimePs limited = rateCapBps ? timeAt(static_cast<double>(rateCapBps) / 8e9) : 0;
    if (!m_machine.isJoined || src / gpus != dst / gpus)
    {
        const auto nicOf = [this](uint32_t rank) { return rank - rank % m_machine.gpusPerNic; };
        return MakePath(2 * nicOf(src),
                        2 * nicOf(dst) + 1,
                        timeAt(m_machine.nicGBps),
                        limited,
                        m_machine.networkDelay);
    }
    const uint32_t nvlinks = 2 * m_machine.ranks;
    if (m_machine.isMesh)
    {
        return MakePath(nvlinks + 2 * (src * gpus + dst % gpus),
                        nvlinks + 2 * (dst * gpus + src % gpus) + 1,
                        timeAt(m_machine.nvlinkGBps / (gpus - 1)),
                        limited,
                        0);
    }
    return MakePath(nvlinks + 2 * src,
                    nvlinks + 2 * dst + 1,
                    timeAt(m_machine.nvlinkGBps),
                    limited,
                    0);
}

MessagePath
MachinePaths::MakePath(uint32_t egress, uint32_t ingress, TimePs time, TimePs limited, TimePs delay)
{
    return {egress,
            ingress,
            time,
            time,
            ns3::AddPs(time, delay),
            ns3::AddPs(std::max(time, limited), delay),
            delay};
}

bool
MachinePaths::ShareReducingSwitch(std::span<const int> ranks) const
{
    const auto serverOf = [this](int rank) {
        return static_cast<uint32_t>(rank) / m_machine.gpusPerServer;
    };
    return std::ranges::all_of(ranks,
                               [&](int rank) { return serverOf(rank) == serverOf(ranks.front()); });
}

} // namespace AstraSim
