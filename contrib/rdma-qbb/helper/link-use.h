/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_USE_H
#define LINK_USE_H

#include "ns3/cluster-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @brief What used each link, in bytes of messages: by purpose, and by the largest pairs of hosts.
 *
 * Purposes are numbers whose meaning the caller knows; there are few. Pairs there may be millions:
 * a port keeps PAIRS_KEPT counters only (Space-Saving: Metwally, Agrawal, El Abbadi 2005), among
 * which is every pair with more than 1 / PAIRS_KEPT of the port's bytes; what a pair inherits from
 * one that it displaced is known and not listed as its own.
 *
 * Headers, acknowledgements and retransmissions are not counted.
 */
class LinkUse
{
  public:
    static constexpr uint32_t PAIRS_KEPT = 16;

    /// Bytes that one purpose sent over a port.
    struct Purpose
    {
        uint16_t purpose;
        uint64_t bytes;
    };

    /// Bytes that one pair of hosts sent over a port.
    struct Pair
    {
        uint32_t src;
        uint32_t dst;
        uint64_t bytes;     ///< at most
        uint64_t inherited; ///< part of bytes that may be other pairs'
    };

    /// What used one port.
    struct Port
    {
        uint64_t messages{0};
        uint64_t bytes{0};
        std::vector<Purpose> purposes; ///< in the order of their first use
        std::vector<Pair> pairs;
        uint32_t lastPurpose{0}; ///< index of the one counted last: often the next as well
        uint32_t lastPair{0};    ///< likewise
    };

    /// @param topology whose ports are counted
    explicit LinkUse(const ClusterTopology& topology);

    /**
     * Count a message, or its part, that leaves a node by a port.
     * @param node id of the node @param port from 0
     * @param src,dst host numbers @param bytes of the message @param purpose what it is for
     */
    void Add(uint32_t node,
             uint16_t port,
             uint32_t src,
             uint32_t dst,
             uint64_t bytes,
             uint16_t purpose)
    {
        Port& used = m_ports[m_firstPort[node] + port];
        ++used.messages;
        used.bytes += bytes;
        if (used.lastPurpose >= used.purposes.size() ||
            used.purposes[used.lastPurpose].purpose != purpose)
        {
            FindPurpose(used, purpose);
        }
        used.purposes[used.lastPurpose].bytes += bytes;
        if (used.lastPair < used.pairs.size() && used.pairs[used.lastPair].src == src &&
            used.pairs[used.lastPair].dst == dst)
        {
            used.pairs[used.lastPair].bytes += bytes;
        }
        else
        {
            AddPair(used, src, dst, bytes);
        }
    }

    /// @return what used the port so far
    const Port& Of(uint32_t node, uint16_t port) const
    {
        return m_ports[m_firstPort[node] + port];
    }

    /**
     * @param names name of each purpose, by number; the empty name is not listed
     * @return the purposes with their share of the port's bytes, the largest first, such as
     * "AllReduce DP 92%; AllToAll EP 8%"
     */
    std::string DescribePurposes(uint32_t node,
                                 uint16_t port,
                                 const std::vector<std::string>& names) const;

    /**
     * @param limit at most so many
     * @return the pairs that sent most with their share of the port's bytes, such as
     * "0>8 45%; 1>9 20%"; without those that are not surely above 1%
     */
    std::string DescribePairs(uint32_t node, uint16_t port, std::size_t limit) const;

  private:
    /// Make lastPurpose that purpose.
    static void FindPurpose(Port& port, uint16_t purpose);

    /// Count bytes of a pair, and make it lastPair.
    static void AddPair(Port& port, uint32_t src, uint32_t dst, uint64_t bytes);

    std::vector<std::size_t> m_firstPort; ///< by node: its first in m_ports
    std::vector<Port> m_ports;
};

} // namespace ns3

#endif /* LINK_USE_H */
