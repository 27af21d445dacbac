/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_EXECUTOR_H
#define FLOW_EXECUTOR_H

#include "collective-data.h"
#include "collective-implementation.h"
#include "collective-types.h"
#include "gpu-model.h"
#include "rank-steps.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <vector>

namespace AstraSim
{

/// Times of lanes, each kept once, as those of most lanes are the same. Threads may share it.
class LaneTimesSet
{
  public:
    /// Those of a lane without messages.
    static constexpr LaneTimes NO_TIMES{};

    /// @return @p times, at an address that stays
    const LaneTimes& Keep(const LaneTimes& times)
    {
        const std::scoped_lock lock(m_mutex);
        return *m_kept.insert(times).first;
    }

  private:
    struct Hash
    {
        std::size_t operator()(const LaneTimes& times) const;
    };

    std::mutex m_mutex;
    std::unordered_set<LaneTimes, Hash> m_kept;
};

/// A collective to carry out, shared by all ranks' executors of one instance.
struct FlowExecution : TimedGraph
{
    /// Ranks of the network in each of a graph's sets of members.
    using MemberRanks = std::vector<std::vector<int>>;

    FlowExecution() = default;
    /// @param group outlives the execution
    FlowExecution(TimedGraph timed, const CommGroup& group);

    const CommGroup* group{nullptr};
    std::shared_ptr<const MemberRanks> memberRanks;
    std::shared_ptr<LaneTimesSet> times; ///< of all ranks' lanes
    TimePs startLatency{0};              ///< once, before the first flow
    double wireInflation{1};             ///< protocol overhead on the wire
    /// Payload of a packet: one can leave when a GPU has written all of it; 0: bytes leave one by
    /// one.
    uint64_t packetBytes{0};
};

class FlowExecutor;

/**
 * @brief The executors of one collective's ranks, by index in the group: those that have begun and
 * are not done. A receiver tells its senders through it which slots are free, as NCCL's receivers
 * write a counter in the sender's memory; the time that takes is part of a step's latency.
 */
using FlowRanks = std::vector<FlowExecutor*>;

/**
 * @ingroup collectives
 * @brief Carries out one rank's part of a FlowGraph on a RankNetwork.
 *
 * Keeps a few counters per lane and one posted receive per inbound lane. Between ranks that are not
 * near (RankNetwork::IsNear()) receivers tell their senders of free slots in messages (credits).
 * Where the graph has a StepOrder, receives are posted step by step instead, and a rank is done
 * with its last step, whether or not its messages have been acknowledged. On
 * a physical network, where each rank is a process, the machine takes its real time, so no modelled
 * latency is added.
 */
class FlowExecutor : public RankCollective
{
  public:
    /**
     * @param execution shared by the ranks
     * @param ranks shared by the ranks of this instance
     * @param rank index in the group
     */
    FlowExecutor(FlowExecution execution,
                 std::shared_ptr<FlowRanks> ranks,
                 uint32_t rank,
                 RankNetwork& network,
                 int tagBase,
                 const MessageInfo& info,
                 std::function<void()> done);

    ~FlowExecutor() override;

    void Start() override;
    std::string DescribeWait() const override;

    bool CarryData(CollectiveData& data) override
    {
        m_data = &data;
        return true;
    }

  private:
    // Other lanes read the first cache line of each, too. Counters count messages.
    struct alignas(64) Outbound
    {
        FlowExecutor* owner;
        uint32_t sent{0};
        uint32_t completed{0};
        uint32_t taken{0};     ///< messages that have left their slots at the receiver
        uint32_t passed{0};    ///< needs of the message that left last
        uint64_t nextBytes{0}; ///< bytes of the next message to send, if isNextKnown
        uint64_t nextNeeds{0}; ///< its needs of the first of sources; 0 without sources
        LaneRange sources{0, 0};
        uint32_t window{0};    ///< messages that may be on their way now; 0 if none may be sent
        uint32_t sentNeeds{0}; ///< nextNeeds of the message sent last
        uint32_t index;
        bool holdsSlots : 1 {false}; ///< whether its messages wait for slots at the receiver
        bool isUsed : 1 {false};     ///< whether it has messages
        bool hasResult : 1 {false};  ///< whether it fills an inbound lane of its own, lane.result
        bool isBuffered : 1 {false}; ///< whether messages wait in a buffer of the sender's own
        bool isFar : 1 {false};      ///< whether the receiver tells of free slots in messages
        bool isNextKnown{false}; ///< whether nextBytes and nextNeeds are those of message `sent`
        bool delaysCopy{false};  ///< CopyArrived() of the same index waits for it

        // further state for sending
        MessageStream* stream{nullptr}; ///< MessageInfo::stream of its messages
        uint64_t latencyBytes{0};       ///< size of the message that latency was computed for
        TimePs latency{0};              ///< StartOf() latencyBytes
        TimePs busy{0};                 ///< part of latency in which no other message starts
        uint32_t creditsToCome{0};      ///< credit messages that a far receiver still sends
        uint32_t written{0};            ///< messages that PostWritten() has handed to the CPU
        TimePs blockFree{0};            ///< when the channel's block has finished its work
        Lane lane;
        const LaneTimes* times{&LaneTimesSet::NO_TIMES};
    };

    struct alignas(64) Inbound
    {
        FlowExecutor* owner;
        uint32_t received{0};
        uint32_t taken{0}; ///< passed on or copied: their slots are free
        uint32_t told{0};  ///< free slots that the sender knows of
        uint32_t index : 30;
        uint32_t isFar : 1 {0};      ///< whether the sender is told of free slots in messages
        uint32_t isPassedOn : 1 {0}; ///< whether one of passedBy has messages
        LaneRange passedBy{0, 0};    ///< GetTargets(), where slots are held
        Outbound* sender{nullptr};   ///< the lane at its sender, once it has begun
        uint64_t nextBytes{0};       ///< bytes of the next message to receive
        std::optional<uint64_t> nextOwnCopy; ///< its FlowGraph::GetOwnCopy()

        // further state for receiving
        MessageStream* stream{nullptr}; ///< MessageInfo::stream of its messages
        uint32_t peerLane{0};           ///< FlowGraph::GetPeerLane()
        Lane lane;
        const LaneTimes* times{&LaneTimesSet::NO_TIMES};
    };

    /// @return whether a lane's other end is at a rank that is not near
    bool IsFar(const Lane& lane) const;
    void Begin();
    /// Send all messages of a lane that may go.
    void Advance(Outbound& outbound);
    /// Send the next message of a lane, if it may go. @return whether it does
    bool AdvanceOne(Outbound& outbound);
    /// Send the first messages of the lanes that a CPU serves: one of each lane, then the second of
    /// each, and so on (NCCL src/transport/net.cc, sendProxyProgress).
    void SendByTurns();
    /// Wait for the next message of a lane, if there is one.
    void Expect(Inbound& inbound);
    /// Ask the network for a message of a lane.
    void Receive(Inbound& inbound,
                 uint64_t message,
                 uint64_t bytes,
                 MessageHandler handler,
                 void* arg);
    static void OnSentOf(void* outbound);
    void OnSent(Outbound& outbound);
    void OnArrived(Inbound& inbound);
    /// Copy the message that has arrived on a lane, when the GPU is free to.
    void CopyArrived(Inbound& inbound);
    /// Tell the sender of a lane which slots have become free.
    void FreeSlots(Inbound& inbound);

    /// @return messages that have been copied out of the slots they came in: over NVLink, or into a
    /// buffer
    static uint32_t CopiedOut(const Outbound& outbound)
    {
        return outbound.isBuffered ? outbound.sent : outbound.completed;
    }

    /// The data of a message has been copied into the buffer of its next lane.
    void LeaveSlots(Outbound& outbound);
    /// @return messages of an inbound lane that the message copied last to @p outbound needed
    uint32_t NeededByLast(const Outbound& outbound, uint32_t inbound) const;
    /// @return messages of an inbound lane that messages of @p outbound have passed on
    uint32_t PassedOn(const Outbound& outbound, uint32_t inbound) const;
    /// Ask receivers that have begun earlier which slots are free.
    void LearnSlots();
    /// Wait for the receiver's next message about a free slot, if one is to come.
    void ExpectCredit(Outbound& outbound);
    /// Send a far sender a credit message for the slots that have become free since the last one.
    void SendCredits(const Inbound& inbound, uint32_t before);
    /// @return slots of a lane, from its sender to its receiver's next lanes
    uint32_t SlotsOf(const LaneTimes& times) const;
    /// @return messages with a credit for their slot to the sender of a lane
    uint32_t CreditsOf(const Lane& lane, const LaneTimes& times) const;
    /// @return whether the next message of a lane has a slot at its receiver
    bool HasSlot(const Outbound& outbound) const;
    /// @return whether the data for the next message of a lane have arrived
    bool HasData(const Outbound& outbound) const;
    /// Send the next message of a lane.
    void Send(Outbound& outbound);
    /// Let the CPU take up the message that a lane's block has written next.
    void PostWritten(Outbound& outbound);
    /// Give a message to the network. @param work time until the channel's block has written it
    void Post(Outbound& outbound, uint64_t message, uint64_t bytes, TimePs work);
    /// @return the time between the moment when a message may go and its first packet
    CopyTime StartOf(const LaneTimes& times, uint64_t bytes, uint64_t message) const;
    /// @return how long a message waits until the CPU that serves the NIC is free
    /// @param busy time of this CPU for the message
    TimePs OccupyCpu(TimePs busy);
    /// @param accesses to each of so many bytes
    /// @return when from now the block of a lane's channel has read and written them
    TimePs OccupyBlock(Outbound& outbound, uint64_t bytes, uint32_t accesses);
    /// Copy within the GPU. @param bytes of a message of a lane of copies
    void Copy(Outbound& outbound, uint64_t bytes, MessageHandler handler);
    void OnReceived(Inbound& inbound);
    /// Take part in an in-network operation of a lane. @param message of the lane
    void Join(const Lane& lane,
              const LaneTimes& times,
              uint64_t bytes,
              MessageHandler handler,
              void* arg);
    void CheckDone();
    /// Begin as many steps of a sequence as may be under way. @param areFirst whether these are its
    /// first, whose messages have the memory bus before them
    void BeginSteps(uint32_t sequence, bool areFirst);
    /// Send the message of a step, which is at the network port, and wait for its counterpart.
    void CarryOut(RankStep& step);
    /// The message of a step is in the rank's memory.
    void Store(RankStep& step);
    /// The sequence of a step that has gone on may go on further, or the rank be done.
    void GoOnAfter(uint32_t sequence);
    /// Run @p handler with the step when one of its messages has gone through the memory bus.
    void TakeBus(RankStep& step, bool outbound, MessageHandler handler);
    std::string DescribeSteps() const;
    /// Run @p handler with @p arg from the event loop.
    void Defer(MessageHandler handler, void* arg);

    // members used for each message come first
    std::vector<Outbound> m_outbound;
    std::vector<Inbound> m_inbound;
    uint64_t m_left{0}; ///< messages to be sent or received
    FlowExecution m_execution;
    std::shared_ptr<FlowRanks> m_ranks;
    uint32_t m_rank;
    int m_tagBase;
    RankNetwork& m_network;
    bool m_holdsSlots; ///< FlowGraph::HoldsSlots()
    bool m_isPhysical; ///< whether other ranks are other processes
    bool m_hasFar{false};
    TimePs m_cpuFree{0}; ///< when the CPU that serves the NIC can start another message
    CollectiveData* m_data{nullptr};
    std::optional<RankSteps> m_steps; ///< where the graph has a StepOrder
    MessageInfo m_info;
    std::function<void()> m_done;
};

} // namespace AstraSim

#endif /* FLOW_EXECUTOR_H */
