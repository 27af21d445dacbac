/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_BOOKS_H
#define COLLECTIVE_BOOKS_H

#include "collective-implementation.h"
#include "flow-graph.h"
#include "rank-network.h"

#include <boost/dynamic_bitset.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace AstraSim
{

/// Receives violations.
using CheckReport = std::function<void(const std::string& what)>;

/**
 * @ingroup collectives
 * @brief Books of one collective: the messages that its ranks have sent and received, and the data
 * that they have.
 *
 * Ranks are indices in the group, tags are counted from the collective's first.
 */
class CollectiveBooks
{
  public:
    /// @param graph null if the flows do not follow from one; borrowed
    CollectiveBooks(const CommGroup& group,
                    const CollectiveRequest& request,
                    const FlowGraph* graph,
                    std::string algorithm,
                    CheckReport report);

    /// Accept any result: a custom collective may leave ranks with any data.
    void DemandNothing()
    {
        m_demands = false;
    }

    /// @return the index in the group of a rank of the network
    uint32_t IndexOf(int rank) const;

    void Sent(uint32_t src, int dstRank, int tag, uint64_t bytes);
    void Received(uint32_t rank, int srcRank, int tag, uint64_t bytes);

    /// A rank's place in an in-network operation, for JoinEnded().
    struct Joined
    {
        uint64_t message; ///< number of the message in its lane
        uint32_t inbound; ///< the lane that gets the result; Lane::NONE for none
        uint32_t set;     ///< number of the set of members, see FlowGraph::GetMemberSets()
    };

    Joined Join(uint32_t rank, InNetworkOp op, int tag, uint64_t bytes);
    void JoinEnded(uint32_t rank, const Joined& joined, int tag, uint64_t bytes);

    /// A rank is done. @return whether it is the last one
    bool Done(uint32_t rank);

  private:
    using Contributions = boost::dynamic_bitset<>;
    using Connection = std::tuple<uint32_t, uint32_t, int>; ///< source, destination, tag

    struct Message
    {
        uint64_t bytes;
        Contributions carries;
    };

    struct Sum
    {
        uint32_t senders{0};
        Contributions carries;
    };

    struct Rank
    {
        Contributions has;
        uint64_t bytesReceived{0};
        std::vector<uint64_t> sent;                            ///< messages, by outbound lane
        std::vector<uint64_t> received;                        ///< messages, by inbound lane
        std::map<std::pair<uint32_t, int>, uint32_t> outbound; ///< lane, by peer and tag
        std::map<std::pair<uint32_t, int>, uint32_t> inbound;
    };

    void Fail(const std::string& what) const;
    void FindLanes(uint32_t rank);
    /// Pass over messages without bytes, which no rank sends.
    void SkipEmpty(uint32_t rank, uint32_t lane, bool isOutbound);
    void CheckOrder(uint32_t rank, uint32_t lane, uint64_t bytes);
    void CheckComplete(uint32_t rank);
    void Arrived(uint32_t rank, uint32_t inbound);
    /// @return the lane of a rank that takes part in an operation; nothing if there is none
    std::optional<uint32_t> FindJoined(uint32_t rank, InNetworkOp op, int tag, bool sends) const;
    /// @return whether ranks' blocks are equal to a byte, so that no slack is due
    bool HasExactBlocks() const;
    /// @return whether each rank has a share of a buffer that is divided among them
    bool HasShares() const;
    bool Demands(uint32_t src, uint32_t dst) const;
    uint64_t BytesDemanded(uint32_t rank) const;

    const CommGroup& m_group;
    CollectiveRequest m_request;
    const FlowGraph* m_graph;
    std::vector<std::vector<uint32_t>> m_memberSets; ///< of the graph
    std::string m_algorithm;
    CheckReport m_report;
    std::map<int, uint32_t> m_indexOf; ///< in the group, by rank of the network
    std::vector<Rank> m_ranks;
    std::map<Connection, std::deque<Message>> m_underWay;
    std::map<std::tuple<uint32_t, int, uint64_t>, Sum> m_sums; ///< by set, tag, message
    uint32_t m_done{0};
    bool m_demands{true};
};

} // namespace AstraSim

#endif /* COLLECTIVE_BOOKS_H */
