/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-executor.h"

#include "lost-switches.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <boost/functional/hash.hpp>
#include <cmath>

namespace AstraSim
{

// The state of a lane is a few counters of messages: sent, completed, taken out of their slots.
// The next message of an outbound lane leaves (AdvanceOne) if the window has room, the data that
// the graph's GetNeeds() asks for have arrived (HasData), and the receiver has a slot (HasSlot).
// Each event therefore advances only the lanes that it may unblock: OnSent() the same lane,
// OnReceived() the lanes that pass the data on, and FreeSlots() the sender's lane, directly or
// by a credit message if the sender is far. The times of GPU and CPU for a message are its send
// latency (StartOf, OccupyBlock, OccupyCpu); copies and messages without bytes are events of the
// rank's clock alone. A rank is done when m_left is 0: no message is left to send or to receive.
//
// A graph with a StepOrder goes another way from Begin() on: BeginSteps() takes the next steps of a
// sequence, CarryOut() sends a step's message and asks for its counterpart, which takes the memory
// bus when it has come; then GoOnAfter() begins the steps that waited for this one. Steps are no
// lanes with needs: a message of a step needs as many earlier steps of its sequence as have ended
// in any order, on whichever lanes, while GetNeeds() counts the messages of one lane. A step asks
// for its counterpart only when it has begun, so that data which comes early takes the shared bus
// late, and a rank does not wait for acknowledgements. Lanes would need a second kind of need, of
// window and of end: more than the six functions of steps below and RankSteps.

namespace
{

/// @return the lane, if 32-bit counters can count its messages
Lane
Countable(const Lane& lane)
{
    constexpr uint64_t LIMIT = INT32_MAX;
    if (lane.messages > LIMIT)
    {
        throw ns3::InputError("workload",
                              0,
                              "has a collective of " + std::to_string(lane.messages) +
                                  " messages on one connection",
                              "at most " + std::to_string(LIMIT));
    }
    return lane;
}

} // namespace

std::size_t
LaneTimesSet::Hash::operator()(const LaneTimes& times) const
{
    std::size_t hash = 0; // of those in which lanes of one collective differ
    boost::hash_combine(hash, times.slots);
    boost::hash_combine(hash, times.latency);
    boost::hash_combine(hash, times.rateCapBps);
    boost::hash_combine(hash, times.passBytes);
    boost::hash_combine(hash, times.hiddenBytes);
    boost::hash_combine(hash, times.psPerAccess);
    return hash;
}

FlowExecution::FlowExecution(TimedGraph timed, const CommGroup& theGroup)
    : TimedGraph(std::move(timed)),
      group(&theGroup),
      times(std::make_shared<LaneTimesSet>())
{
    auto ranks = std::make_shared<MemberRanks>();
    for (const auto& members : graph->GetMemberSets())
    {
        auto& set = ranks->emplace_back();
        for (const uint32_t member : members)
        {
            set.push_back(group->ranks[member]);
        }
    }
    memberRanks = std::move(ranks);
}

FlowExecutor::FlowExecutor(FlowExecution execution,
                           std::shared_ptr<FlowRanks> ranks,
                           uint32_t rank,
                           RankNetwork& network,
                           int tagBase,
                           const MessageInfo& info,
                           std::function<void()> done)
    : m_execution(std::move(execution)),
      m_ranks(std::move(ranks)),
      m_rank(rank),
      m_tagBase(tagBase),
      m_network(network),
      m_holdsSlots(m_execution.graph->HoldsSlots()),
      m_isPhysical(network.IsPhysical()),
      m_info(info),
      m_done(std::move(done))
{
    (*m_ranks)[rank] = this;
    m_info.wireInflation = m_execution.wireInflation;
    const FlowGraph& graph = *m_execution.graph;
    const GpuModel& gpu = *m_execution.gpu;
    m_outbound.reserve(graph.GetLaneCount());
    for (uint32_t i = 0; i < graph.GetLaneCount(); ++i)
    {
        Outbound& outbound = m_outbound.emplace_back();
        outbound.owner = this;
        outbound.index = i;
        outbound.lane = Countable(graph.GetOutbound(rank, i));
        outbound.holdsSlots = m_holdsSlots && outbound.lane.kind == LaneKind::Message;
        outbound.isUsed = outbound.lane.messages > 0;
        outbound.hasResult = outbound.lane.result != Lane::NONE;
        outbound.isFar = outbound.isUsed && IsFar(outbound.lane);
        m_hasFar = m_hasFar || outbound.isFar;
        if (outbound.isUsed)
        {
            outbound.times = &m_execution.times->Keep(gpu.GetTimes(rank, i, true, outbound.lane));
            outbound.sources = graph.GetSources(rank, i);
        }
        m_left += outbound.lane.messages;
    }
    m_inbound.reserve(graph.GetLaneCount());
    for (uint32_t i = 0; i < graph.GetLaneCount(); ++i)
    {
        Inbound& inbound = m_inbound.emplace_back();
        inbound.owner = this;
        inbound.index = i;
        inbound.lane = Countable(graph.GetInbound(rank, i));
        inbound.isFar = inbound.lane.messages > 0 && IsFar(inbound.lane);
        m_hasFar = m_hasFar || inbound.isFar;
        if (inbound.lane.messages > 0)
        {
            inbound.times = &m_execution.times->Keep(gpu.GetTimes(rank, i, false, inbound.lane));
            inbound.peerLane = graph.GetPeerLane(rank, i);
        }
        if (m_holdsSlots && inbound.lane.messages)
        {
            inbound.passedBy = graph.GetTargets(rank, i, 0);
            inbound.isPassedOn = std::ranges::any_of(inbound.passedBy, [this](uint32_t target) {
                return m_outbound[target].isUsed;
            });
        }
        m_left += inbound.lane.messages;
    }
    if (const StepOrder* order = graph.GetStepOrder())
    {
        m_steps.emplace(*order, rank);
    }
}

FlowExecutor::~FlowExecutor()
{
    (*m_ranks)[m_rank] = nullptr;
    if (!m_hasFar || m_steps) // acknowledgements of steps may still come
    {
        return;
    }
    for (const Outbound& outbound : m_outbound)
    {
        if (outbound.isFar && outbound.stream)
        {
            m_network.EndStream(outbound.stream, true);
        }
    }
    for (const Inbound& inbound : m_inbound)
    {
        if (inbound.isFar && inbound.stream)
        {
            m_network.EndStream(inbound.stream, false);
        }
    }
}

bool
FlowExecutor::IsFar(const Lane& lane) const
{
    return lane.kind == LaneKind::Message && !m_network.IsNear(m_execution.group->ranks[lane.peer]);
}

void
FlowExecutor::Defer(MessageHandler handler, void* arg)
{
    m_network.Schedule(0, handler, arg);
}

void
FlowExecutor::Start()
{
    if (m_steps)
    {
        for (uint32_t sequence = 0; sequence < m_steps->GetSequences(); ++sequence)
        {
            BeginSteps(sequence, true);
        }
        return;
    }
    m_network.Schedule(
        m_isPhysical ? 0 : m_execution.startLatency,
        [](void* self) { static_cast<FlowExecutor*>(self)->Begin(); },
        this);
}

void
FlowExecutor::Begin()
{
    if (m_left == 0)
    {
        m_done();
        return;
    }
    for (auto& outbound : m_outbound)
    {
        const Lane& lane = outbound.lane;
        if (lane.messages > 0)
        {
            outbound.window =
                outbound.times->slots ? outbound.times->slots : m_execution.graph->GetSlots();
        }
        outbound.isBuffered = outbound.holdsSlots && !m_isPhysical &&
                              outbound.times->slots > m_execution.graph->GetSlots();
        if (outbound.isFar && outbound.holdsSlots)
        {
            outbound.creditsToCome = CreditsOf(lane, *outbound.times);
            ExpectCredit(outbound);
        }
    }
    LearnSlots();
    for (auto& inbound : m_inbound)
    {
        Expect(inbound);
    }
    SendByTurns();
    for (auto& outbound : m_outbound)
    {
        Advance(outbound);
    }
}

void
FlowExecutor::SendByTurns()
{
    const auto takesTurns = [](const Outbound& outbound) {
        const auto& starts = outbound.times->slowStarts;
        return outbound.sources.empty() &&
               std::ranges::any_of(starts, [](auto& start) { return start.occupies; });
    };
    for (bool hasSent = true; hasSent;)
    {
        hasSent = false;
        for (auto& outbound : m_outbound)
        {
            hasSent = (takesTurns(outbound) && AdvanceOne(outbound)) || hasSent;
        }
    }
}

inline bool
FlowExecutor::HasSlot(const Outbound& outbound) const
{
    // A message without bytes takes no slot, and its receiver may be ahead of its sender. Towards a
    // far receiver it waits for one nevertheless, so that all credits have come before the rank is
    // done.
    return !outbound.holdsSlots || (outbound.nextBytes == 0 && !outbound.isFar) ||
           outbound.sent < outbound.taken + SlotsOf(*outbound.times);
}

inline bool
FlowExecutor::HasData(const Outbound& outbound) const
{
    if (outbound.sources.empty())
    {
        return true;
    }
    const uint32_t first = outbound.sources.front();
    if (m_inbound[first].received < outbound.nextNeeds)
    {
        return false;
    }
    for (uint32_t source = first + 1; source <= outbound.sources.back(); ++source)
    {
        if (m_inbound[source].received <
            m_execution.graph->GetNeeds(m_rank, outbound.index, outbound.sent, source))
        {
            return false;
        }
    }
    return true;
}

void
FlowExecutor::Advance(Outbound& outbound)
{
    while (AdvanceOne(outbound))
    {
    }
}

inline bool
FlowExecutor::AdvanceOne(Outbound& outbound)
{
    if (outbound.sent - outbound.completed >= outbound.window)
    {
        return false;
    }
    if (!outbound.isNextKnown)
    {
        const FlowGraph& graph = *m_execution.graph;
        const auto& sources = outbound.sources;
        outbound.nextBytes = graph.GetBytes(m_rank, outbound.index, outbound.sent);
        outbound.nextNeeds =
            sources.empty()
                ? 0
                : graph.GetNeeds(m_rank, outbound.index, outbound.sent, sources.front());
        outbound.isNextKnown = true;
    }
    if (!HasSlot(outbound) || !HasData(outbound))
    {
        return false;
    }
    outbound.isNextKnown = false;
    outbound.sentNeeds = static_cast<uint32_t>(outbound.nextNeeds);
    if (++outbound.sent == outbound.lane.messages)
    {
        outbound.window = 0;
    }
    Send(outbound);
    if (outbound.isBuffered)
    {
        LeaveSlots(outbound);
    }
    if (outbound.delaysCopy && outbound.times->psPerAccess > 0)
    {
        CopyArrived(m_inbound[outbound.index]);
    }
    return true;
}

void
FlowExecutor::Send(Outbound& outbound)
{
    const Lane& lane = outbound.lane;
    const LaneTimes& times = *outbound.times;
    const uint64_t bytes = outbound.nextBytes;
    if (bytes == 0)
    {
        Defer(OnSentOf, &outbound);
        return;
    }
    if (lane.kind == LaneKind::Copy)
    {
        Copy(outbound, bytes, OnSentOf);
        return;
    }
    if (lane.kind != LaneKind::Message)
    {
        Join(lane, times, bytes, OnSentOf, &outbound);
        return;
    }
    const uint64_t message = outbound.sent - 1;
    if (times.psPerAccess == 0)
    {
        Post(outbound, message, bytes, 0);
        return;
    }
    const uint32_t accesses = m_execution.gpu->GetSendAccesses(m_rank, outbound.index, message);
    const TimePs work = OccupyBlock(outbound, bytes, accesses);
    const auto occupiesCpu = [](const SlowStart& slow) { return slow.Applies() && slow.occupies; };
    if (m_isPhysical || std::ranges::none_of(times.slowStarts, occupiesCpu))
    {
        Post(outbound, message, bytes, work);
        return;
    }
    // The CPU turns to messages in the order in which blocks have written them.
    m_network.Schedule(
        work,
        [](void* arg) {
            auto* lane = static_cast<Outbound*>(arg);
            lane->owner->PostWritten(*lane);
        },
        &outbound);
}

void
FlowExecutor::PostWritten(Outbound& outbound)
{
    uint64_t message = 0;
    uint64_t bytes = 0;
    while (bytes == 0) // messages without bytes have not come here
    {
        message = outbound.written++;
        bytes = m_execution.graph->GetBytes(m_rank, outbound.index, message);
    }
    Post(outbound, message, bytes, 0);
}

void
FlowExecutor::Post(Outbound& outbound, uint64_t message, uint64_t bytes, TimePs work)
{
    const Lane& lane = outbound.lane;
    const LaneTimes& times = *outbound.times;
    if (outbound.latencyBytes != bytes || message == 0 || message == times.connections ||
        message == times.withLatency)
    {
        outbound.latencyBytes = bytes;
        const CopyTime start = StartOf(times, bytes, message);
        outbound.latency = start.latency;
        outbound.busy = start.busy;
    }
    MessageInfo info = m_info;
    info.channel = lane.channel;
    info.sendLatency =
        outbound.busy ? OccupyCpu(outbound.busy) + outbound.latency : outbound.latency;
    info.sendLatency = ns3::AddPs(info.sendLatency, work);
    info.rateCapBps = times.rateCapBps;
    info.stream = outbound.stream;
    m_network.Send({.dst = m_execution.group->ranks[lane.peer],
                    .tag = m_tagBase + lane.tag,
                    .bytes = bytes,
                    .info = &info,
                    .handler = m_steps ? nullptr : OnSentOf,
                    .arg = &outbound,
                    .buffer = m_data ? m_data->GetOutgoing(outbound.index, message) : nullptr});
    outbound.stream = info.stream;
}

void
FlowExecutor::Expect(Inbound& inbound)
{
    const Lane& lane = inbound.lane;
    const bool joins = lane.OnlyReceives(m_rank);
    if (inbound.received == lane.messages || (lane.kind != LaneKind::Message && !joins))
    {
        return; // the rank's own contribution brings the result
    }
    const MessageHandler received = [](void* arg) {
        auto* lane = static_cast<Inbound*>(arg);
        lane->owner->OnArrived(*lane);
    };
    const FlowGraph& graph = *m_execution.graph;
    const uint64_t bytes = graph.GetBytes(lane.peer, inbound.peerLane, inbound.received);
    inbound.nextBytes = bytes;
    inbound.nextOwnCopy = graph.GetOwnCopy(m_rank, inbound.index, inbound.received);
    if (bytes == 0)
    {
        Defer(received, &inbound);
        return;
    }
    if (joins)
    {
        Join(lane, *inbound.times, bytes, received, &inbound);
        return;
    }
    Receive(inbound, inbound.received, bytes, received, &inbound);
}

void
FlowExecutor::Receive(Inbound& inbound,
                      uint64_t message,
                      uint64_t bytes,
                      MessageHandler handler,
                      void* arg)
{
    MessageInfo info = m_info;
    info.channel = inbound.lane.channel;
    info.stream = inbound.stream;
    m_network.Receive({.src = m_execution.group->ranks[inbound.lane.peer],
                       .tag = m_tagBase + inbound.lane.tag,
                       .bytes = bytes,
                       .info = &info,
                       .handler = handler,
                       .arg = arg,
                       .buffer = m_data ? m_data->GetIncoming(inbound.index, message) : nullptr});
    inbound.stream = info.stream;
}

void
FlowExecutor::Join(const Lane& lane,
                   const LaneTimes& times,
                   uint64_t bytes,
                   MessageHandler handler,
                   void* arg)
{
    static constexpr InNetworkOp OPERATIONS[] = {InNetworkOp::Reduce,
                                                 InNetworkOp::Multicast,
                                                 InNetworkOp::ReduceMulticast};
    const int root = m_execution.group->ranks[lane.peer];
    MessageInfo info = m_info;
    info.channel = lane.channel;
    info.sendLatency = times.latency;
    info.rateCapBps = times.rateCapBps;
    info.wireInflation = times.wireInflation;
    const auto kind = static_cast<uint8_t>(lane.kind) - static_cast<uint8_t>(LaneKind::Reduce);
    const bool hasBegun = m_network.Join({.op = OPERATIONS[kind],
                                          .members = (*m_execution.memberRanks)[lane.members],
                                          .root = root,
                                          .tag = m_tagBase + lane.tag,
                                          .bytes = bytes,
                                          .info = &info,
                                          .handler = handler,
                                          .arg = arg});
    if (!hasBegun)
    {
        throw LostSwitches("network", m_execution.group->name);
    }
}

void
FlowExecutor::OnSentOf(void* outbound)
{
    auto* lane = static_cast<Outbound*>(outbound);
    lane->owner->OnSent(*lane);
}

void
FlowExecutor::OnSent(Outbound& outbound)
{
    ++outbound.completed;
    --m_left;
    if (m_holdsSlots)
    {
        if (outbound.sources.size() == 1 && !outbound.isBuffered)
        {
            outbound.passed = outbound.completed == outbound.sent
                                  ? outbound.sentNeeds
                                  : NeededByLast(outbound, outbound.sources.front());
        }
        for (const uint32_t source : outbound.sources)
        {
            FreeSlots(m_inbound[source]);
        }
    }
    Advance(outbound);
    if (outbound.delaysCopy)
    {
        CopyArrived(m_inbound[outbound.index]);
    }
    if (outbound.hasResult)
    {
        OnReceived(m_inbound[outbound.lane.result]);
        return;
    }
    CheckDone();
}

void
FlowExecutor::OnArrived(Inbound& inbound)
{
    if (inbound.nextOwnCopy)
    {
        CopyArrived(inbound);
        return;
    }
    OnReceived(inbound);
}

uint32_t
FlowExecutor::NeededByLast(const Outbound& outbound, uint32_t inbound) const
{
    return static_cast<uint32_t>(
        m_execution.graph->GetNeeds(m_rank, outbound.index, CopiedOut(outbound) - 1, inbound));
}

void
FlowExecutor::OnReceived(Inbound& inbound)
{
    if (m_data && inbound.nextBytes > 0 && inbound.lane.kind == LaneKind::Message)
    {
        m_data->Arrived(inbound.index, inbound.received);
    }
    ++inbound.received;
    --m_left;
    // Data that is passed on leaves its slot when it has been sent: OnSent(). Other data, and data
    // that has been copied, leaves it now.
    if (m_holdsSlots && inbound.lane.kind == LaneKind::Message &&
        (!inbound.isPassedOn || inbound.taken != inbound.told))
    {
        FreeSlots(inbound);
    }
    Expect(inbound);
    const uint64_t message = inbound.received - 1;
    for (const uint32_t target : m_execution.graph->GetTargets(m_rank, inbound.index, message))
    {
        Advance(m_outbound[target]);
    }
    CheckDone();
}

void
FlowExecutor::CheckDone()
{
    if (m_left == 0)
    {
        const auto done = std::move(m_done);
        done(); // may delete this
    }
}

std::string
FlowExecutor::DescribeWait() const
{
    if (m_steps)
    {
        return DescribeSteps();
    }
    const auto describe = [this](const char* verb, const Lane& lane, uint64_t done) {
        const char* in = lane.kind == LaneKind::Message ? ""
                         : lane.kind == LaneKind::Copy  ? "copies within "
                                                        : "a switch's operation of root ";
        return std::string(verb) + " " + in + "rank " +
               std::to_string(m_execution.group->ranks[lane.peer]) + " (channel " +
               std::to_string(lane.channel) + ", " + std::to_string(done) + " of " +
               std::to_string(lane.messages) + " messages done)";
    };
    for (const auto& inbound : m_inbound)
    {
        if (inbound.received < inbound.lane.messages)
        {
            return describe("waits for data from", inbound.lane, inbound.received);
        }
    }
    for (const auto& outbound : m_outbound)
    {
        if (outbound.completed < outbound.lane.messages)
        {
            return describe("waits for the acknowledgement of", outbound.lane, outbound.completed);
        }
    }
    return "is done";
}

// --- Steps of a rank that has its messages in an order of its own.

void
FlowExecutor::BeginSteps(uint32_t sequence, bool areFirst)
{
    while (RankStep* step = m_steps->Begin(sequence))
    {
        const FlowGraph& graph = *m_execution.graph;
        step->owner = this;
        if (step->inbound != Lane::NONE)
        {
            step->messageIn = m_inbound[step->inbound].received++;
            step->bytesIn = graph.GetInboundBytes(m_rank, step->inbound, step->messageIn);
        }
        if (step->outbound != Lane::NONE)
        {
            step->messageOut = m_outbound[step->outbound].sent++;
            step->bytesOut = graph.GetBytes(m_rank, step->outbound, step->messageOut);
        }
        if (!areFirst || step->outbound == Lane::NONE)
        {
            CarryOut(*step);
            continue;
        }
        TakeBus(*step, true, [](void* arg) {
            RankStep& atPort = *static_cast<RankStep*>(arg);
            const uint32_t its = atPort.sequence;
            atPort.owner->CarryOut(atPort);
            atPort.owner->GoOnAfter(its);
        });
    }
}

void
FlowExecutor::CarryOut(RankStep& step)
{
    if (step.outbound != Lane::NONE)
    {
        Post(m_outbound[step.outbound], step.messageOut, step.bytesOut, 0);
    }
    if (step.inbound == Lane::NONE)
    {
        m_steps->End(step);
        return;
    }
    const MessageHandler received = [](void* arg) {
        RankStep& here = *static_cast<RankStep*>(arg);
        here.owner->TakeBus(here, false, [](void* passed) {
            RankStep& stored = *static_cast<RankStep*>(passed);
            stored.owner->Store(stored);
        });
    };
    Receive(m_inbound[step.inbound], step.messageIn, step.bytesIn, received, &step);
}

void
FlowExecutor::Store(RankStep& step)
{
    if (m_data)
    {
        m_data->Arrived(step.inbound, step.messageIn);
    }
    m_steps->End(step);
    GoOnAfter(step.sequence);
}

void
FlowExecutor::GoOnAfter(uint32_t sequence)
{
    BeginSteps(sequence, false);
    if (m_steps->HaveEnded())
    {
        const auto done = std::move(m_done);
        done(); // may delete this
    }
}

void
FlowExecutor::TakeBus(RankStep& step, bool outbound, MessageHandler handler)
{
    const uint64_t bytes = outbound ? step.bytesOut : step.bytesIn;
    const bool reduces = !outbound && step.reduces;
    const TimePs now = m_network.Now();
    const TimePs delay =
        m_isPhysical ? 0 : m_execution.gpu->OccupyBus(m_rank, outbound, bytes, reduces, now);
    m_network.Schedule(delay, handler, &step);
}

std::string
FlowExecutor::DescribeSteps() const
{
    std::string text;
    for (const RankStep& step : m_steps->GetAll())
    {
        if (step.isUnderWay && step.inbound != Lane::NONE)
        {
            const uint32_t peer = m_inbound[step.inbound].lane.peer;
            text += (text.empty() ? "waits for " : ", ") + std::to_string(step.bytesIn) +
                    " bytes from rank " + std::to_string(m_execution.group->ranks[peer]);
        }
    }
    return text.empty() ? "waits for its memory bus" : text;
}

// --- Buffer slots of connections: the receiver frees them, and tells the sender directly, or in a
//     message if it is far.

void
FlowExecutor::LearnSlots()
{
    if (!m_holdsSlots)
    {
        return;
    }
    std::vector<uint32_t> asked;
    for (const Outbound& outbound : m_outbound)
    {
        const Lane& lane = outbound.lane;
        if (lane.messages == 0 || lane.kind != LaneKind::Message || outbound.isFar ||
            std::ranges::find(asked, lane.peer) != asked.end())
        {
            continue;
        }
        asked.push_back(lane.peer);
        const FlowExecutor* receiver = (*m_ranks)[lane.peer];
        if (!receiver)
        {
            continue;
        }
        for (const Inbound& inbound : receiver->m_inbound)
        {
            if (inbound.lane.messages > 0 && inbound.lane.kind == LaneKind::Message &&
                inbound.lane.peer == m_rank)
            {
                m_outbound[inbound.peerLane].taken = inbound.taken;
            }
        }
    }
}

uint32_t
FlowExecutor::PassedOn(const Outbound& outbound, uint32_t inbound) const
{
    if (CopiedOut(outbound) == 0)
    {
        return 0;
    }
    if (outbound.sources.size() == 1 && outbound.sources.front() == inbound)
    {
        return outbound.passed;
    }
    return NeededByLast(outbound, inbound);
}

void
FlowExecutor::LeaveSlots(Outbound& outbound)
{
    outbound.passed = outbound.sentNeeds;
    for (const uint32_t source : outbound.sources)
    {
        // Data from another network link stays until it has been sent on: its sender would advance
        // here, and so on, from rank to rank around a ring.
        if (m_inbound[source].times->slots == 1)
        {
            FreeSlots(m_inbound[source]);
        }
    }
}

void
FlowExecutor::FreeSlots(Inbound& inbound)
{
    // Data that has been passed on to everyone, or is passed on to no one, has left its slot.
    uint32_t taken = inbound.received;
    for (const uint32_t target : inbound.passedBy)
    {
        const Outbound& outbound = m_outbound[target];
        if (outbound.isUsed)
        {
            taken = std::min(taken, PassedOn(outbound, inbound.index));
        }
    }
    inbound.taken = std::max(inbound.taken, taken);
    if (inbound.taken == inbound.told)
    {
        return;
    }
    const uint32_t before = inbound.told;
    inbound.told = inbound.taken; // a sender that has not begun asks when it does
    if (inbound.isFar)
    {
        SendCredits(inbound, before);
        return;
    }
    FlowExecutor* sender = (*m_ranks)[inbound.lane.peer];
    if (!sender)
    {
        return;
    }
    if (!inbound.sender)
    {
        inbound.sender = &sender->m_outbound[inbound.peerLane];
    }
    Outbound& outbound = *inbound.sender;
    if (outbound.taken < inbound.taken)
    {
        outbound.taken = inbound.taken;
        sender->Advance(outbound);
    }
}

uint32_t
FlowExecutor::SlotsOf(const LaneTimes& times) const
{
    // The buffer has all its slots, also for a lane that uses fewer at once.
    return std::max(times.slots, m_execution.graph->GetSlots());
}

uint32_t
FlowExecutor::CreditsOf(const Lane& lane, const LaneTimes& times) const
{
    // The last messages have slots as soon as those before them are through; no message waits for
    // the slots that they leave.
    const uint64_t slots = SlotsOf(times);
    return lane.messages > slots ? static_cast<uint32_t>(lane.messages - slots) : 0;
}

void
FlowExecutor::SendCredits(const Inbound& inbound, uint32_t before)
{
    MessageInfo info = m_info;
    info.isCredit = true;
    const uint32_t last = std::min(inbound.told, CreditsOf(inbound.lane, *inbound.times));
    for (uint32_t credit = before; credit < last; ++credit)
    {
        m_network.Send({.dst = m_execution.group->ranks[inbound.lane.peer],
                        .tag = m_tagBase + inbound.lane.tag,
                        .bytes = 0,
                        .info = &info});
    }
}

void
FlowExecutor::ExpectCredit(Outbound& outbound)
{
    if (outbound.creditsToCome == 0)
    {
        return;
    }
    --outbound.creditsToCome;
    MessageInfo info = m_info;
    info.isCredit = true;
    const auto received = [](void* arg) {
        auto* lane = static_cast<Outbound*>(arg);
        ++lane->taken;
        lane->owner->ExpectCredit(*lane);
        lane->owner->Advance(*lane);
    };
    m_network.Receive({.src = m_execution.group->ranks[outbound.lane.peer],
                       .tag = m_tagBase + outbound.lane.tag,
                       .bytes = 0,
                       .info = &info,
                       .handler = received,
                       .arg = &outbound});
}

// --- FlowExecutor: how long blocks of a GPU and its CPU are at work for a message.

TimePs
FlowExecutor::OccupyCpu(TimePs busy)
{
    const TimePs now = m_network.Now();
    const TimePs wait = std::max<TimePs>(0, m_cpuFree - now);
    m_cpuFree = ns3::AddPs(now, ns3::AddPs(wait, busy));
    return wait;
}

TimePs
FlowExecutor::OccupyBlock(Outbound& outbound, uint64_t bytes, uint32_t accesses)
{
    const TimePs now = m_network.Now();
    const uint64_t hidden = std::min<uint64_t>(bytes, outbound.times->hiddenBytes);
    const TimePs work = ns3::TruncateToPs(outbound.times->psPerAccess *
                                          static_cast<double>(bytes - hidden) * accesses);
    outbound.blockFree = ns3::AddPs(std::max(now, outbound.blockFree), work);
    return outbound.blockFree - now;
}

CopyTime
FlowExecutor::StartOf(const LaneTimes& times, uint64_t bytes, uint64_t message) const
{
    CopyTime copy = CopyTimeOf(times, bytes, m_execution.wireInflation, message);
    if (times.passBytes == 0)
    {
        return copy;
    }
    // A network that paces packets lets the first one go at once, so all are early by as long as it
    // takes to write the last.
    const auto wireBytes =
        static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * m_execution.wireInflation));
    const uint64_t packets =
        m_execution.packetBytes ? (wireBytes - 1) / m_execution.packetBytes : 0;
    const uint64_t last =
        m_execution.packetBytes ? wireBytes - packets * m_execution.packetBytes : 0;
    copy.latency += static_cast<TimePs>(static_cast<double>(copy.duration) *
                                        static_cast<double>(last) / static_cast<double>(wireBytes));
    return copy;
}

void
FlowExecutor::Copy(Outbound& outbound, uint64_t bytes, MessageHandler handler)
{
    const CopyTime copy = m_isPhysical ? CopyTime{} : CopyTimeOf(*outbound.times, bytes, 1);
    const double speed = outbound.times->SpeedOf(outbound.sent - 1, outbound.lane.messages);
    const TimePs duration =
        speed == 1 ? copy.duration : ns3::TruncateToPs(static_cast<double>(copy.duration) / speed);
    m_network.Schedule(ns3::AddPs(copy.latency, duration), handler, &outbound);
}

void
FlowExecutor::CopyArrived(Inbound& inbound)
{
    Outbound& own = m_outbound[inbound.index];
    // A block that serves the network goes on when it has written a slot; others wait until the
    // message has arrived.
    own.delaysCopy =
        (own.times->psPerAccess > 0 ? own.sent : own.completed) < inbound.nextOwnCopy.value_or(0);
    if (own.delaysCopy)
    {
        return;
    }
    const uint64_t bytes = inbound.nextBytes;
    TimePs duration = 0;
    if (bytes && !m_isPhysical && inbound.times->psPerAccess > 0)
    {
        duration = OccupyBlock(own, bytes, inbound.times->takeAccesses);
    }
    else if (bytes && !m_isPhysical)
    {
        const CopyTime copy =
            CopyTimeOf(*inbound.times, bytes, m_execution.wireInflation, inbound.received);
        const TimePs wait = std::max<TimePs>(0, own.blockFree - m_network.Now());
        duration = wait + copy.latency + copy.duration / inbound.times->takeSpeed;
    }
    m_network.Schedule(
        duration,
        [](void* arg) {
            auto* lane = static_cast<Inbound*>(arg);
            lane->taken = lane->received + 1;
            lane->owner->OnReceived(*lane);
        },
        &inbound);
}

} // namespace AstraSim
