/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORWARDING_TABLE_H
#define FORWARDING_TABLE_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ns3
{

// Hot path: every switch asks for the next hops of every frame. Two dependent loads, no loop.

/// Place of a host in the groups that tables are made for.
struct HostPlace
{
    uint32_t group; ///< number of the group: hosts behind the same switches
    uint32_t index; ///< the host's number in its group
};

/**
 * @ingroup rdma-qbb
 * @brief A switch's answer to "by which ports does a shortest path to this host begin?"
 *
 * Made and kept by FabricRoutes; a table stays at its address when routes change. Hosts behind the
 * same switches form a group and share an entry, so a table grows with the number of groups.
 */
class ForwardingTable
{
  public:
    /**
     * @param host number of the destination host
     * @return ports of this switch, ascending; empty if no path leads to the host
     */
    std::span<const uint16_t> NextHops(uint32_t host) const
    {
        const HostPlace place = m_places[host];
        const uint32_t row = place.group - m_firstGroup;
        if (row >= m_entries.size())
        {
            return {};
        }
        const Entry entry = m_entries[row];
        const uint16_t* ports = entry.isRun ? ALL_PORTS.data() : m_ports.data();
        return {ports + entry.offset + place.index * entry.stride, entry.width};
    }

  private:
    friend class FabricRoutes;

    /// The ports towards a group: one set for all its hosts, or one set each where they are
    /// attached.
    struct Entry
    {
        uint32_t offset : 31 {0};   ///< into m_ports, or ALL_PORTS
        uint32_t isRun : 1 {false}; ///< whether the sets are a contiguous part of ALL_PORTS
        uint16_t width{0};          ///< number of ports in a set
        uint16_t stride{0}; ///< 0: one set for all hosts; else width: one set per host, in order
    };

    /// Set the ports of an entry. Those that are no run are stored in m_ports.
    void SetPorts(Entry& entry, std::span<const uint16_t> ports);

    /// The numbers from 0 on. Most sets are a part of this array, which stays in the cache.
    static const std::array<uint16_t, 4096> ALL_PORTS;

    const HostPlace* m_places{nullptr};
    uint32_t m_firstGroup{0};
    std::vector<Entry> m_entries;
    std::vector<uint16_t> m_ports;
};

} // namespace ns3

#endif /* FORWARDING_TABLE_H */
