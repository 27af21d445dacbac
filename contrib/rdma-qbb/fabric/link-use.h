/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_USE_H
#define LINK_USE_H

#include "ns3/cluster-topology.h"
#include "ns3/qbb-bytes.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Use of each link, in bytes of messages: by purpose, and by the largest pairs of hosts.
 *
 * Purposes are numbers that the caller knows; there are few. Pairs there may be millions:
 * a port keeps PAIRS_KEPT counters only (Space-Saving: Metwally, Agrawal, El Abbadi 2005), among
 * which is every pair with more than 1 / PAIRS_KEPT of the port's bytes; bytes that a pair inherits
 * from one that it displaced are known and not listed as its own.
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

    /// Senders and bytes of one port.
    struct Port
    {
        uint64_t messages{0};
        uint64_t bytes{0};
        std::vector<Purpose> purposes; ///< in the order of their first use
        std::vector<Pair> pairs;
    };

    /// @param topology of the ports to count
    explicit LinkUse(const ClusterTopology& topology);

    /**
     * The use by some of the senders, to be added to that of all by Merge(). It knows only the
     * ports that they use.
     * @param whole that of all
     */
    static LinkUse PartOf(const LinkUse& whole);

    /// Add the use by some senders, in each process of the run. @param part PartOf() this one
    void Merge(const LinkUse& part);

    /**
     * Count a message, or its part, that leaves a node by a port.
     * @param node id of the node @param port from 0
     * @param src,dst host numbers @param bytes of the message @param purpose of the message
     */
    void Add(uint32_t node,
             uint16_t port,
             uint32_t src,
             uint32_t dst,
             uint64_t bytes,
             uint16_t purpose)
    {
        Add(IndexOf(node, port), src, dst, bytes, purpose);
    }

    /// The same for the port with that IndexOf(). Most messages over a link follow one of the same
    /// hosts for the same purpose.
    void Add(uint32_t index, uint32_t src, uint32_t dst, uint64_t bytes, uint16_t purpose)
    {
        Runs& runs = m_runs[index];
        Run* run = &runs.first;
        if (!run->IsOf(src, dst, purpose))
        {
            run = &runs.second;
            if (!run->IsOf(src, dst, purpose))
            {
                run = &Begin(index, src, dst, purpose);
            }
        }
        ++run->messages;
        run->bytes += bytes;
    }

    /// @return the number of a port among all ports; in a part, among those used
    uint32_t IndexOf(uint32_t node, uint16_t port)
    {
        const uint32_t index = (*m_firstPort)[node] + port;
        return m_isPart ? FindSlot(index) : index;
    }

    /// @return the use of the port so far; not of a part
    const Port& Of(uint32_t node, uint16_t port) const
    {
        const uint32_t index = (*m_firstPort)[node] + port;
        EndRuns(index);
        return m_ports[index];
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
     * "0>8 45%; 1>9 20%"; pairs that may have 1% or less are left out
     */
    std::string DescribePairs(uint32_t node, uint16_t port, std::size_t limit) const;

  private:
    /// The newest messages over a port of one pair of hosts for one purpose. Put() adds them to the
    /// port's counters when the run ends.
    struct Run
    {
        uint64_t messages{0};
        uint64_t bytes{0};
        uint32_t src{0};
        uint32_t dst{0};
        uint16_t purpose{0};
        bool isAlone{false}; ///< whether no second run may go on beside it

        bool IsOf(uint32_t theSrc, uint32_t theDst, uint16_t thePurpose) const
        {
            return src == theSrc && dst == theDst && purpose == thePurpose;
        }
    };

    /// The newest messages over a port. Most messages change only these, so they have a cache line
    /// of their own, apart from Port. Messages of the two runs may alternate, as those to the
    /// peers of a rank in a tree do.
    struct alignas(64) Runs
    {
        Run first;
        Run second; ///< began after the first; unused if the port may lack counters for both
    };

    static_assert(sizeof(Runs) == 64);

    /// Begin a run of a port. @return it
    Run& Begin(uint32_t index, uint32_t src, uint32_t dst, uint16_t purpose);
    /// End the runs of a port in the order in which they began, and add them to its counters.
    void EndRuns(uint32_t index) const;
    static void Put(Port& port, const Run& run);
    static void AddPurpose(Port& port, const Purpose& purpose);
    static void AddPair(Port& port, const Pair& pair);

    LinkUse() = default;
    void Add(uint32_t index, const Port& from);
    /// Append this part's counts.
    void Put(QbbBytes& bytes) const;
    /// Add the counts that a part has Put().
    void MergeFrom(QbbByteReader& reader);
    /// @param index of a port in the whole @return in this part
    uint32_t FindSlot(uint32_t index);

    std::shared_ptr<const std::vector<uint32_t>> m_firstPort; ///< by node: its first of all ports
    bool m_isPart{false};
    boost::unordered_flat_map<uint32_t, uint32_t> m_slots; ///< of a part: by index in the whole
    // Mutable: a getter ends the runs of a port, which changes no sum.
    mutable std::vector<Runs> m_runs;
    mutable std::vector<Port> m_ports;
};

} // namespace ns3

#endif /* LINK_USE_H */
