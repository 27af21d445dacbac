/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_LEVEL_NETWORK_H
#define FLOW_LEVEL_NETWORK_H

#include "astra-frontend/model/network/connection-key.h"
#include "astra-frontend/model/network/joined-operations.h"
#include "astra-frontend/model/network/shared-network.h"
#include "astra-frontend/model/network/unused-network.h"
#include "flow-router.h"
#include "fluid-transfers.h"

#include "ns3/event-loop.h"
#include "ns3/in-network-planner.h"
#include "ns3/in-network-queue.h"
#include "ns3/link-changes.h"
#include "ns3/link-use.h"
#include "ns3/object-pool.h"
#include "ns3/path-timing.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/// Settings of a FlowLevelFabric.
struct FlowLevelConfig
{
    ns3::FrameSizes networkFrames;             ///< frames between servers
    ns3::FrameSizes nvlinkFrames;              ///< frames on NVLink
    uint64_t ackIntervalBytes{1};              ///< payload per acknowledgement; 1: one per frame
    uint32_t queuePairs{1};                    ///< of a message on each NIC
    bool persistentConnections{false};         ///< messages between servers share connections
    uint32_t ecmpSeed{1};                      ///< as ns3::SwitchNode::EcmpSeed
    ns3::PathUse pathUse{ns3::PathUse::Fixed}; ///< how packets of a flow part, for its ideal
    std::vector<bool> spreading{};             ///< by node: spreads frames; empty: no switch does
    TimePs routeUpdateDelay{100'000'000};      ///< from a link's change to the routes'
    std::vector<ns3::LinkChange> linkChanges{};
    ns3::InNetworkLimits inNetwork{}; ///< trees of network switches
    uint32_t inNetworkOperations{0};  ///< that a switch carries out at a time; 0: any number
    /// @return whether a link may lose frames for good, so that no tree has it; empty: none may
    std::function<bool(uint32_t link)> losesFrames{};
    /// @return bytes that packets may have queued at a node's port without a sender being told;
    /// empty: any number
    std::function<double(uint32_t node, uint16_t port)> quietBytes{};
};

/// A message, or a part of one, that its sender has the acknowledgement of.
struct FlowLevelRecord
{
    uint32_t src;   ///< host
    uint32_t dst;   ///< host
    uint16_t sport; ///< UDP source port
    uint16_t dport; ///< UDP destination port
    uint64_t bytes; ///< without headers
    TimePs startPs; ///< when it was posted
};

/**
 * @ingroup astra-frontend
 * @brief A congestion-aware network without packets: messages are fluids that share links max-min
 * fairly.
 *
 * Topology, routes, ECMP choices, connections, NIC choice, header bytes and the bandwidth that
 * acknowledgements take are those of the packet-level network. A message on an idle path takes
 * exactly as long as its frames would; under contention the fluid rate replaces queues, and the
 * path's latency is added to it.
 *
 * In-network operations stream: contributions go up to the NVSwitch, or up a tree of switches, from
 * the time their members join, results go down when all contributions have begun, and none ends
 * before the slowest. Members that join at one time send at one rate, as members receive at one:
 * that of the slowest.
 *
 * Left out: queues (and so queueing delay, PFC, ECN and losses), the ramps of congestion control,
 * scheduling between priorities, unfairness between flows of one bottleneck.
 *
 * @code
 * EventLoop loop;
 * FlowLevelFabric fabric(loop, topology, {});
 * fabric.GetNetwork(0).Send({.dst = 1, .tag = 0, .bytes = 1 << 20, .handler = sent, .arg = arg});
 * loop.Run();
 * @endcode
 */
class FlowLevelFabric : public SharedNetwork
{
  public:
    /**
     * @param loop its clock and events; outlives the object, which takes its hook
     * @param topology outlives the object
     * @throw ns3::InputError for a link event that names no link
     */
    FlowLevelFabric(EventLoop& loop, const ns3::ClusterTopology& topology, FlowLevelConfig config);
    ~FlowLevelFabric() override;

    /**
     * They share the routes, so neither has links that change. It costs little: a link takes memory
     * once a message takes it.
     * @param limit simulated time at which it stops
     * @return a network like this one on which nothing has happened yet
     */
    UnusedNetwork MakeUnused(TimePs limit) const;

    /**
     * @param limit of the simulated time
     * @return whether nothing is left to happen although messages are under way: over links this
     * slow they arrive when the clock has ended
     * @throw ns3::InputError if so, and nothing else limits the time
     */
    bool EndsBeyondClock(TimePs limit) const;

    /**
     * Simulate what should have begun before now, up to now; it goes on from there. It and all that
     * is under way share no link.
     * @param from when the first of it should have begun
     * @param begin schedules its beginnings on a clock set back to @p from
     */
    void CatchUp(TimePs from, const std::function<void()>& begin);

    /// The next connection of two hosts is the first of them again.
    void ForgetConnections(uint32_t src, uint32_t dst)
    {
        m_router.ForgetConnections(src, dst);
    }

    /// @return packet-hops that packets would have had for all that has begun, about
    uint64_t GetPacketHops() const
    {
        return m_packetHops;
    }

    static constexpr TimePs NO_BOUND = std::numeric_limits<TimePs>::max();

    /// @return the most by which ends up to now may differ from those of packets: the time in which
    /// packets would have queued inside the network. NO_BOUND if they may have slowed senders down
    TimePs FindDoubtPs() const;

    /// A flow that belongs to no rank's program.
    struct Background
    {
        uint32_t src;        ///< host
        uint32_t dst;        ///< host
        uint64_t bytes;      ///< 1 or more
        uint8_t priority;    ///< with dport tells connections apart
        uint16_t dport;      ///< UDP destination port
        MessageHandler done; ///< at the last acknowledgement
        void* arg;           ///< of done
    };

    /// Start a flow now.
    void StartBackground(const Background& flow);

    /// @param observer told of every part of a message as it is acknowledged
    void SetObserver(std::function<void(const FlowLevelRecord&)> observer)
    {
        m_observer = std::move(observer);
    }

    /// Count messages on the links that they take. @param use outlives the object
    void CountIn(ns3::LinkUse& use)
    {
        m_use = &use;
    }

    /// Tell nobody of messages from now on.
    void Unwatch()
    {
        m_observer = nullptr;
        m_use = nullptr;
    }

    /// @return column "ideal" of FCT files
    TimePs GetIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        return m_router.IdealFctPs(src, dst, bytes);
    }

    /// @return the planner of in-network operations, which knows the room that switches have
    ns3::InNetworkPlanner& GetInNetworkPlanner() const
    {
        return *m_inNetwork;
    }

    /// @return the bytes on the links; directions are numbered as FlowRouter does, but for those
    /// of MakeUnused()
    FluidTransfers& GetTransfers()
    {
        return m_transfers;
    }

    /// @return the same, to look at
    const FluidTransfers& GetTransfers() const
    {
        return m_transfers;
    }

    /// @return the topology
    const ns3::ClusterTopology& GetTopology() const
    {
        return m_router.GetTopology();
    }

    /// @return messages that no path carries on, at most @p limit lines
    std::vector<std::string> DescribeCutOff(std::size_t limit) const;

  private:
    /// @param like the fabric that MakeUnused() was called of, or null
    FlowLevelFabric(EventLoop& loop,
                    const ns3::ClusterTopology& topology,
                    FlowLevelConfig config,
                    const FlowLevelFabric* like);

    struct Connection;
    struct Operation;

    /// Between Send() and its last acknowledgement.
    struct Message : NetworkMessage
    {
        Message* next{nullptr};
        FlowLevelFabric* fabric{nullptr};
        uint64_t wireBytes{0};
        uint64_t lane{0}; ///< tells connections between two hosts apart: a channel, or a priority
        bool hashesNic{false}; ///< whether the hash chooses the NIC: flows without a channel
        uint16_t dport{100};
    };

    /// The part of a message on one connection, or the contributions to an in-network operation or
    /// its results.
    struct Part
    {
        Part* next{nullptr};
        FlowLevelFabric* fabric{nullptr};
        Message* message{nullptr};
        Connection* connection{nullptr}; ///< null: it has one of its own
        Operation* operation{nullptr};
        uint64_t bytes{0};
        TimePs startPs{0};
        TimePs tail{0};     ///< from the departure of its last frame to its delivery
        TimePs ackDelay{0}; ///< from there to the acknowledgement
        ns3::ConnectionStart start{};
        uint32_t number{0};       ///< of the message's parts, or of an operation's contributions
        uint32_t port{0};         ///< see ns3::MessagePart
        uint64_t rateCapBps{0};   ///< its share of the message's
        bool left{false};         ///< all its bytes have left the source
        bool acknowledged{false}; ///< and its sender knows that they have arrived
    };

    /// Messages that follow each other: one is on its way, the others wait for it to leave.
    struct Connection
    {
        Connection* next{nullptr};
        /// The stream that it serves while messages are left to send; null: it stays.
        const MessageStream* stream{nullptr};
        ns3::ConnectionStart start{};
        Part* first{nullptr};
        Part* last{nullptr};
        uint64_t rateCapBps{0};
        uint32_t number{0}; ///< of a stream's: of the parts of its messages
        uint16_t sport{0};  ///< to open it with; 0: the next free one
        bool open{false};
    };

    /// Switches that carry out operations of a set, or null.
    using Tree = std::shared_ptr<const ns3::InNetworkTree>;

    // --- messages (flow-level-network.cc)
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
        const uint64_t frame = m_config.networkFrames.mtuPayload;
        return m_router.FindCut(src, dst).Divide(bytes, frame, channel, plane);
    }

    void Launch(Message* message);
    void LaunchPart(Message* message, uint32_t number, const ns3::MessagePart& cut);
    void Post(Part* part);
    /// @param keepsTurn the part before it on its connection has just left
    /// @return whether there is a path
    bool Begin(Part* part, bool keepsTurn);
    void AdvanceConnection(Connection& connection);
    /// @return the connection that parts of this number of messages before in the stream have not
    /// left yet, or a new one on their path
    Connection* FollowStream(const Message& message, uint32_t number);
    void OnPartLeft(Part* part);
    void OnPartDelivered(Part* part);
    void OnPartAcknowledged(Part* part);
    void Release(Part* part);
    void Acknowledge(Message* message);
    uint32_t AddLink(uint32_t node, uint16_t port, uint64_t rateBps);
    /// Count the hops of a part's frames over m_path, and of their acknowledgements over m_back.
    void CountHops(const Part& part, const ns3::FrameSizes& sizes, bool nvlink);
    /// @return the number in m_transfers of a direction of a link
    uint32_t LinkOf(uint32_t directedLink);

    /// @return whether switches spread the frames of a part: a single frame takes one path,
    /// whichever
    bool IsSpread(const Part& part, bool nvlink) const;

    /// Count a part on the links of m_path, or on those that it is spread over.
    void Count(const Part& part, bool nvlink);

    /// Fill a request, and a part's tail and ackDelay, from m_path and m_back.
    void Plan(Part& part,
              bool nvlink,
              const ns3::FrameSizes& sizes,
              FluidTransfers::Request& request);

    /// Times of a part with frames that switches spread over several paths.
    struct SpreadTiming
    {
        TimePs latest; ///< of a frame on the slowest of them
        double rate;   ///< of all together, bytes per picosecond
    };

    /// Fill m_uses from m_path and m_back, or from the links that frames are spread over, and the
    /// part's ackDelay.
    /// @return how its frames are spread, if they are
    std::optional<SpreadTiming> FillUses(Part& part, bool nvlink, const ns3::FrameSizes& sizes);
    /// Fill a request's bytes and cap and a part's tail if switches spread its frames over paths.
    void TimeSpread(Part& part,
                    const SpreadTiming& timing,
                    const ns3::FrameSizes& sizes,
                    uint64_t rateCapBps,
                    FluidTransfers::Request& request) const;
    /// Fill a request's bytes and cap and a part's tail from the path's timing.
    void Time(Part& part,
              const ns3::PathInfo& path,
              const ns3::FrameSizes& sizes,
              uint64_t rateCapBps,
              FluidTransfers::Request& request) const;

    // --- links
    void ScheduleLinkEvents();
    void SetLinkUp(uint32_t link, bool up);
    void SetLinkRate(uint32_t link, uint64_t rateBps);
    /// Let transfers have a link's rate, or none if it is down.
    void ApplyLinkRate(uint32_t link);
    void UpdateRoutes();
    void Reroute(FluidTransfer& transfer);

    // --- in-network operations
    bool Supports(std::span<const int> members) override;
    bool Join(int rank, const JoinRequest& request) override;
    /// @return whether a link may be part of a tree
    bool IsFitToReduce(uint32_t link) const;
    const Tree& FindTree(const MemberSet& set, std::span<const int> members, uint32_t stripe);
    Operation* OpenOperation(const JoinRequest& request, const Tree& tree, uint32_t root);

    /// @return sizes of the frames on a tree, without the overhead of a protocol
    const ns3::FrameSizes& FramesOf(const ns3::InNetworkTree& tree) const
    {
        return tree.nvlink ? m_config.nvlinkFrames : m_config.networkFrames;
    }

    /// @return whether an operation may begin. Else its members join when its switches have room
    bool HasPlaces(Operation& operation);
    /// Members join whose time it is. The contributions of those that send are one transfer.
    void JoinMembers(Operation& operation);
    /// Start the contributions or the results of these members. Leaves a path as slow and as long
    /// as any of theirs in m_path.
    Part* Stream(Operation& operation,
                 std::span<const uint32_t> members,
                 bool isResult,
                 FluidTransfer::Handler onReached);
    /// Put the links of these members' contributions into m_uses and m_levels.
    void TakeLinksUp(Operation& operation, std::span<const uint32_t> members);
    /// The same of the results to them.
    void TakeLinksDown(const Operation& operation, std::span<const uint32_t> members);
    /// Take the link from a node's port into m_uses and m_levels, and count it.
    /// @param level links between it and the root @param src,dst a member that sends, or receives
    void TakeLink(const Operation& operation,
                  uint32_t node,
                  uint16_t port,
                  uint32_t level,
                  uint32_t src,
                  uint32_t dst);
    void StartResults(Operation& operation);
    void OnContributionsArrived(Part* part);
    void OnResultsArrived(Part* part);
    /// Members to which f(index) applies have what they wait for.
    template <typename Function>
    void FinishMembers(Operation& operation, Function f);
    void FinishReceivers(Operation& operation);
    /// Members that joined after what they receive had come are told.
    void TellLateMembers(Operation& operation);
    /// @return whether it is the last
    bool FinishMember(Operation& operation, uint32_t member);

    EventLoop& m_loop;
    FlowLevelConfig m_config;
    ns3::LinkUse* m_use{nullptr};
    ns3::MessageCut m_backgroundCut; ///< for flows without a channel: the hash chooses the NIC
    FlowRouter m_router;
    std::vector<uint64_t> m_linkRates; ///< bit/s by link, up or not; empty if none ever changes
    FluidTransfers m_transfers;
    /// Of MakeUnused(): by direction, its number in m_transfers. Elsewhere all are in m_transfers.
    std::optional<boost::unordered_flat_map<uint32_t, uint32_t>> m_links;
    boost::unordered_flat_map<ConnectionKey, std::unique_ptr<Connection>, ConnectionKey::Hash>
        m_connections;
    MemberSets m_memberSets;
    std::shared_ptr<ns3::InNetworkPlanner> m_inNetwork; ///< also of networks like this one
    std::unordered_map<uint64_t, Tree> m_trees;         ///< by set and stripe
    std::map<uint32_t, bool> m_supported;               ///< by set
    ns3::InNetworkQueue m_places;
    JoinedOperations<Operation*> m_operations;
    ObjectPool<Connection> m_ownConnections; ///< of streams
    /// By stream and number of a part.
    boost::unordered_flat_map<std::pair<const MessageStream*, uint32_t>, Connection*> m_busyStreams;
    ObjectPool<Message> m_messages;
    ObjectPool<Part> m_parts;
    std::vector<std::unique_ptr<Operation>> m_allOperations;
    std::vector<Operation*> m_freeOperations;
    std::vector<Part*> m_withoutPath;
    uint64_t m_packetHops{0};
    std::function<void(const FlowLevelRecord&)> m_observer;

    // Kept between calls for their memory.
    ns3::PathInfo m_path;
    std::vector<uint32_t> m_back;
    std::vector<FlowRouter::Share> m_shares;
    std::vector<MaxMinSolver::Use> m_uses;
    std::vector<uint32_t> m_members;    ///< of an operation
    std::vector<ns3::PathHop> m_levels; ///< by links to the root: as slow and as long as any
    std::vector<bool> m_reached;        ///< by switch of an operation
};

} // namespace AstraSim

#endif /* FLOW_LEVEL_NETWORK_H */
