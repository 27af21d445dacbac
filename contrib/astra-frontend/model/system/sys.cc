/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sys.h"

#include "collectives/model/collective/traffic-purpose.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <random>
#include <utility>

namespace AstraSim
{

// A rank's part of a collective is a DataSet with one stream for each chunk. generate_collective()
// joins the instance that all ranks of the group share in the ledger, and puts the streams in the
// queue of their first phase by priority (proceed_to_next_vnet_baseline). SchedulerUnit has the
// queues, and starts streams when it is their turn. At the end of
// a phase, notify_phase_finished() moves the stream to the queue of the next phase in which this
// rank has work. EndStream() deletes a stream after its last phase; the last stream of the data set
// reports that the collective has ended. Messages between two ranks go to the network at once; a
// Message stands in m_messages until the network calls its handler.

namespace
{

/// @return the factor on compute times of rank @p rank's GPU, drawn with SystemConfig::gpuSpread
double
DrawSlowness(const SystemConfig& config, int rank)
{
    if (config.gpuSpread == 0)
    {
        return 1;
    }
    // Boost's distribution, unlike the standard library's, is the same with every compiler.
    std::seed_seq seeds{config.seed, static_cast<uint32_t>(rank)};
    std::mt19937_64 engine(seeds);
    return std::exp(boost::random::normal_distribution<>(0, config.gpuSpread)(engine));
}

} // namespace

Sys::Sys(const JobContext& context, uint32_t jobRank, RankNetwork& network)
    : m_context(context),
      m_network(network),
      m_jobRank(jobRank),
      m_slowness(DrawSlowness(*context.config, get_rank())),
      m_memoryBus(context.config->memoryBus),
      m_scheduler(network,
                  context.ledger->GetStreamOrder(),
                  context.planner->GetQueueThreshold(),
                  [this](StreamBaseline& stream) { StartPhase(stream); })
{
}

Sys::~Sys()
{
    // A run that was cut off leaves streams behind; a data set dies with the last of its streams.
    for (const auto& queue : get_active_Streams())
    {
        for (StreamBaseline* stream : queue.streams)
        {
            DataSet* dataset = &stream->dataset;
            delete stream;
            if (--dataset->streamsLeft == 0)
            {
                delete dataset;
            }
        }
    }
}

void
Sys::FinishPass(uint32_t pass, bool isLast)
{
    get_observer().PassFinished(get_rank(), pass, Now());
    if (isLast)
    {
        get_observer().RankFinished(get_rank(), Now());
        m_network.NotifyFinished();
    }
}

TimePs
Sys::GpuTime(TimePs duration) const
{
    // A double does not hold every picosecond of a long time.
    return m_slowness == 1 ? duration : ns3::RoundToPs(static_cast<double>(duration) * m_slowness);
}

void
Sys::CheckDelay(TimePs delay, std::string_view what) const
{
    // A margin below the clock's end: times pass the network's interface as doubles.
    constexpr TimePs ROUNDING = 1'000'000;
    if (delay >= ns3::CLOCK_END_PS - ROUNDING - Now())
    {
        ns3::RefuseBeyondClock(get_workload().GetFileName(),
                               "'" + std::string(what) + "' begins at " +
                                   std::to_string(Now() / 1000) + " ns on rank " +
                                   std::to_string(get_rank()) + ", takes " +
                                   std::to_string(delay / 1000) + " ns, and so ends");
    }
}

uint64_t
Sys::generate_collective(const CommGroup& group,
                         const CollectiveRequest& request,
                         const WorkloadPosition& position,
                         int explicitPriority,
                         CollectiveDone done)
{
    if (group.ranks.size() < 2)
    {
        Schedule(0, &Sys::EndAlone, new CollectiveDone(std::move(done)));
        return 0;
    }
    CollectiveRequest scaled = request;
    if (const double scale = get_config().commScale; scale != 1)
    {
        const double bytes = static_cast<double>(request.bytes) * scale;
        if (bytes >= 0x1p63)
        {
            throw ns3::InputError("command line",
                                  0,
                                  "--comm-scale " + std::to_string(scale) +
                                      " makes a collective of " + std::to_string(request.bytes) +
                                      " bytes too large",
                                  "collectives of less than 2^63 bytes");
        }
        scaled.bytes = static_cast<uint64_t>(std::llround(bytes));
    }
    const uint32_t sequence = MembershipIn(group).sequence++;
    auto& instance = get_ledger().Join(group, sequence, scaled, position, get_rank(), Now());
    const uint64_t id = instance.id;
    auto* dataset = new DataSet{&instance, instance.schedule.chunks, std::move(done)};
    const int64_t priority = get_priority(explicitPriority);
    for (uint32_t chunk = 0; chunk < instance.schedule.chunks; ++chunk)
    {
        ++m_streamCount;
        proceed_to_next_vnet_baseline(
            new StreamBaseline(get_topology(), m_jobRank, *dataset, chunk, priority));
    }
    return id;
}

bool
Sys::MayWorkInStep() const
{
    const SystemConfig& config = get_config();
    return m_context.isOnlyJob && config.gpuSpread == 0 && config.commScale == 1 &&
           !m_context.observer->NeedsEach();
}

int64_t
Sys::get_priority(int explicitPriority)
{
    switch (get_config().schedulingPolicy)
    {
    case SchedulingPolicy::Lifo:
        return m_priorityCounter++;
    case SchedulingPolicy::Fifo:
        return m_priorityCounter--;
    case SchedulingPolicy::Explicit:
        return explicitPriority;
    }
    return 0;
}

void
Sys::insert_stream(std::list<StreamBaseline*>& queue, StreamBaseline* stream)
{
    const auto before = std::ranges::find_if(queue, [stream](StreamBaseline* other) {
        return !other->initialized && other->priority < stream->priority;
    });
    queue.insert(before, stream);
}

void
Sys::proceed_to_next_vnet_baseline(StreamBaseline* stream)
{
    const int previousQueue = stream->current_queue_id;
    if (previousQueue >= 0)
    {
        m_scheduler.get_queue(previousQueue).streams.remove(stream);
    }
    while (stream->phases_to_go() > 0)
    {
        stream->enter_next_phase(Now());
        if (stream->is_enabled())
        {
            StreamQueue& queue = m_scheduler.get_queue(stream->current_queue_id);
            insert_stream(queue.streams, stream);
            queue.LaneOf(stream->get_lane());
            m_scheduler.notify_stream_added(stream->current_queue_id);
            if (previousQueue >= 0)
            {
                m_scheduler.notify_stream_removed(previousQueue);
            }
            return;
        }
    }
    if (previousQueue >= 0)
    {
        m_scheduler.notify_stream_removed(previousQueue);
    }
    EndStream(stream);
}

void
Sys::StartPhase(StreamBaseline& stream)
{
    stream.initialized = true;
    stream.phaseStart = Now();
    const int dimension = stream.my_current_phase().dimension;
    auto& instance = *stream.dataset.instance;
    if (!std::exchange(stream.dataset.begun, true))
    {
        CollectiveLedger::Begin(instance, stream.phaseStart);
    }
    const auto& part = get_ledger().GetPart(instance,
                                            stream.chunk,
                                            stream.steps_finished - 1,
                                            m_jobRank,
                                            stream.phaseStart);
    const uint32_t index =
        dimension < 0 ? get_index_in_group(*instance.group)
                      : get_topology().GetCoordinate(static_cast<uint32_t>(dimension), m_jobRank);
    MessageInfo info;
    info.collective = static_cast<uint32_t>(instance.id);
    info.collectiveKey = instance.key;
    info.purpose = TrafficPurpose(instance.request.op, instance.group->kind);
    stream.algorithm = part.plan->CreateRank(index, m_network, part.tagBase, info, [this, &stream] {
        notify_phase_finished(stream);
    });
    stream.algorithm->Start();
}

void
Sys::EndStream(StreamBaseline* stream)
{
    DataSet* dataset = &stream->dataset;
    delete stream;
    --m_streamCount;
    if (--dataset->streamsLeft == 0)
    {
        const std::unique_ptr<DataSet> ended(dataset);
        const uint64_t key = ended->instance->key;
        get_ledger().Leave(*ended->instance, Now());
        ended->done(key);
    }
}

void
Sys::EndAlone(void* done)
{
    const std::unique_ptr<CollectiveDone> function(static_cast<CollectiveDone*>(done));
    (*function)(std::nullopt);
}

void
Sys::notify_phase_finished(StreamBaseline& stream)
{
    const auto& instance = *stream.dataset.instance;
    const auto& phase = stream.my_current_phase();
    get_observer().StreamPhaseEnded({get_rank(),
                                     instance.id,
                                     get_workload().GetLayerName(instance.position.layer),
                                     phase.request.op,
                                     stream.chunk,
                                     stream.steps_finished - 1,
                                     stream.current_queue_id,
                                     phase.request.bytes,
                                     stream.phaseStart,
                                     Now()});
    get_ledger().Retire(std::move(stream.algorithm));
    proceed_to_next_vnet_baseline(&stream);
}

Sys::Membership&
Sys::MembershipIn(const CommGroup& group)
{
    for (auto& membership : m_memberships)
    {
        if (membership.group == group.id)
        {
            return membership;
        }
    }
    const auto place = std::ranges::find(group.ranks, get_rank());
    return m_memberships.emplace_back(
        Membership{group.id, static_cast<uint32_t>(place - group.ranks.begin()), 0});
}

uint32_t
Sys::get_index_in_group(const CommGroup& group)
{
    return MembershipIn(group).index;
}

void
Sys::SendMessage(int dst,
                 uint64_t bytes,
                 uint32_t tag,
                 const WorkloadPosition& position,
                 std::function<void()> done,
                 uint16_t purpose)
{
    const int networkTag = CollectiveLedger::MessageTag(tag);
    get_ledger().MessageSent({get_rank(), dst, networkTag, bytes, position, Now(), purpose});
    m_messages.push_front({this, dst, networkTag, bytes, false, std::move(done), {}, {}});
    Message& message = m_messages.front();
    message.self = m_messages.begin();
    MessageInfo info;
    info.purpose = purpose;
    info.channel = purpose;
    m_network.Send({.dst = dst,
                    .tag = networkTag,
                    .bytes = bytes,
                    .info = &info,
                    .handler = &Sys::MessageSent,
                    .arg = &message});
}

void
Sys::ReceiveMessage(int src, uint64_t bytes, uint32_t tag, std::function<void(TimePs)> done)
{
    const int networkTag = CollectiveLedger::MessageTag(tag);
    m_messages.push_front({this, src, networkTag, bytes, true, {}, std::move(done), {}});
    Message& message = m_messages.front();
    message.self = m_messages.begin();
    m_network.Receive({.src = src,
                       .tag = networkTag,
                       .bytes = bytes,
                       .handler = &Sys::MessageReceived,
                       .arg = &message});
}

void
Sys::MessageSent(void* argument)
{
    auto& message = *static_cast<Message*>(argument);
    const auto done = std::move(message.sent);
    message.sys->m_messages.erase(message.self);
    if (done)
    {
        done();
    }
}

void
Sys::MessageReceived(void* argument)
{
    auto& message = *static_cast<Message*>(argument);
    Sys& sys = *message.sys;
    const auto done = std::move(message.received);
    const TimePs sentTime = sys.m_network.GetSentTime();
    const TimePs sentAt = sys.get_ledger().MessageArrived(
        {message.peer, sys.get_rank(), message.tag, message.bytes, {}, sys.Now()},
        sentTime);
    sys.m_messages.erase(message.self);
    done(sentAt);
}

std::vector<std::string>
Sys::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (const auto& queue : get_active_Streams())
    {
        for (const StreamBaseline* stream : queue.streams)
        {
            lines.push_back(stream->describe_wait());
        }
    }
    for (const auto& message : m_messages)
    {
        lines.push_back((message.receives ? "receive of " : "send of ") +
                        std::to_string(message.bytes) + " bytes " +
                        (message.receives ? "from rank " : "to rank ") +
                        std::to_string(message.peer));
    }
    return lines;
}

} // namespace AstraSim
