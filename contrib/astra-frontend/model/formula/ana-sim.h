/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANA_SIM_H
#define ANA_SIM_H

#include "ana-check.h"
#include "astra-frontend/model/network/joined-operations.h"
#include "astra-frontend/model/network/shared-network.h"
#include "astra-frontend/model/network/unused-network.h"
#include "message-paths.h"

#include "ns3/event-loop.h"
#include "ns3/object-pool.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The analytical network that all ranks share: a few events per message, no packets.
 *
 * A message takes the time it would take alone, and longer where messages share a port next to a
 * rank: a port serves those that are sent at the same time side by side, and the others in turn;
 * messages of one connection (source, destination, channel) come one after the other.
 * Between the ports the network holds any number of messages (full bisection), so there is no
 * congestion inside it. Send latency, wire inflation and speed limits of messages count; messages
 * of one (source, destination, channel) with a limit share it.
 *
 * Left out: congestion control and acknowledgements' own load, pauses, losses, link failures.
 *
 * @code
 * AnaSim network(std::make_unique<TopologyPaths>(topology, sizes));
 * network.GetNetwork(0).Send({.dst = 5, .tag = 7, .bytes = 1 << 20, .handler = sent, .arg = arg});
 * network.GetLoop().Run();
 * @endcode
 */
class AnaSim : public SharedNetwork
{
  public:
    /// @param paths may be another AnaSim's, too
    explicit AnaSim(std::shared_ptr<MessagePaths> paths);

    EventLoop& GetLoop()
    {
        return m_loop;
    }

    const EventLoop& GetLoop() const
    {
        return m_loop;
    }

    /// @return a network with the same paths on which nothing has happened yet
    UnusedNetwork MakeUnused() const;

    /// Check all messages; before the first. @param report receives violations
    void StartChecks(AnaCheck::Report report);

    /// The simulation is over. @param drained whether nothing was left to simulate
    void FinishChecks(bool drained);

    /// @return waiting messages in the network, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

  private:
    struct Message : NetworkMessage
    {
        Message* next{nullptr};
        AnaSim* network{nullptr};
        uint64_t wireBytes{0};
        TimePs acknowledgement{0};
    };

    /// A part of a message that waits for its turn on a lane.
    struct Part
    {
        Part* next{nullptr};
        Message* message{nullptr};
        MessagePath path{};
    };

    /// A message that has been sent at the current time, and when its ports are through with it.
    struct Entering
    {
        Message* message;
        MessagePath path;
        TimePs egressWork;  ///< time at the port of its connection's messages up to it, sent now
        TimePs ingressWork; ///< the same at the other port
        TimePs egressEnd;
        TimePs ingressEnd;
        bool isLast; ///< of its connection
    };

    /// Source, destination, channel, and the number of a part of its messages.
    using Lane = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;

    /// Members of an in-network operation under way, which learn of its end.
    using Operation = std::vector<std::pair<MessageHandler, void*>>;

    TimePs Now() const override
    {
        return m_loop.Now();
    }

    void Schedule(TimePs delay, MessageHandler handler, void* arg) override
    {
        m_loop.Schedule(delay, handler, arg);
    }

    void Send(uint32_t src, const SendRequest& request) override;

    ns3::MessageCut::Parts Cut(uint32_t src,
                               uint32_t dst,
                               uint64_t bytes,
                               uint32_t channel,
                               uint16_t plane) override
    {
        return m_paths->Cut(src, dst, bytes, channel, plane);
    }

    bool Supports(std::span<const int> members) override
    {
        return m_paths->ShareReducingSwitch(members);
    }

    bool Join(int rank, const JoinRequest& request) override;
    static void Launch(void* message);
    void LaunchPart(Message& message, uint32_t number, const ns3::MessagePart& part);
    static void TakeTurn(void* part);
    void EnterPorts(Message& message, const MessagePath& path);
    /// Give the messages that have been sent at this time their places at the ports.
    void SharePorts();
    /// Share each port among the entries that pass it.
    void ForEachPort(uint32_t MessagePath::*port, void (AnaSim::*share)(std::span<uint32_t>));
    /// Let the messages that one connection sends at this time wait for each other.
    /// @param entries all of one egress port
    void QueueConnections(std::span<uint32_t> entries);
    /**
     * Serve connections side by side at one port.
     * @param entries of the port
     * @param begin when the port begins
     * @param work of an entry's connection until the entry is through
     * @param end gets the time when an entry is through
     * @return when all are through
     */
    TimePs Serve(std::span<uint32_t> entries,
                 TimePs begin,
                 TimePs Entering::*work,
                 TimePs Entering::*end);
    /// @param entries of one port
    void ShareEgress(std::span<uint32_t> entries);
    void ShareIngress(std::span<uint32_t> entries);
    static void Delivered(void* message);
    static void Acknowledged(void* message);
    TimePs InNetworkTime(const JoinRequest& request);

    EventLoop m_loop;
    std::shared_ptr<MessagePaths> m_paths;
    std::vector<TimePs> m_portFree; ///< end of each port's queued work
    std::vector<Entering> m_entering;
    std::vector<uint32_t> m_order; ///< of m_entering, while ports are shared
    boost::unordered_flat_map<Lane, TimePs> m_laneFree;
    MemberSets m_memberSets;
    JoinedOperations<std::shared_ptr<Operation>> m_operations;
    ObjectPool<Message> m_messages;
    ObjectPool<Part> m_parts;
    std::vector<std::pair<uint32_t, uint32_t>> m_withoutPath;
    std::unique_ptr<AnaCheck> m_check; ///< null if nothing is checked
};

} // namespace AstraSim

#endif /* ANA_SIM_H */
