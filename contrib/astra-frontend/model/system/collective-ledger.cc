/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-ledger.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <fmt/format.h>

namespace AstraSim
{

std::string
DescribeCollective(CollectiveOp op, uint64_t bytes)
{
    return fmt::format("{} of {} bytes", ToString(op), bytes);
}

std::string
DescribeMissingRanks(const CollectiveRecord& collective, std::size_t joined, std::size_t ranks)
{
    return fmt::format("collective {} ({}, layer {}, group {}): {} of {} ranks have begun it",
                       collective.id,
                       DescribeCollective(collective.op, collective.bytes),
                       collective.layer,
                       collective.group->name,
                       joined,
                       ranks);
}

CollectiveLedger::CollectiveLedger(CollectivePlanner& planner,
                                   const LogicalTopology& topology,
                                   const Workload& workload,
                                   RunObserver& observer)
    : m_planner(planner),
      m_topology(topology),
      m_workload(workload),
      m_observer(observer)
{
}

CollectiveInstance&
CollectiveLedger::Join(const CommGroup& group,
                       uint32_t sequence,
                       const CollectiveRequest& request,
                       const WorkloadPosition& position,
                       int rank,
                       TimePs now)
{
    const uint64_t key = (uint64_t{group.id} << 32) | sequence;
    auto& slot = m_running[key];
    if (!slot)
    {
        slot = std::make_unique<CollectiveInstance>();
        slot->id = m_nextId++;
        slot->number = m_reportsMessages ? uint64_t{sequence} + 1 : slot->id;
        slot->group = &group;
        slot->members = m_sample.CountIn(group);
        slot->request = request;
        slot->position = position;
        slot->schedule = m_planner.Plan(group, request);
        slot->start = now;
        slot->key = key;
        slot->joinedAt = now;
        slot->firstRank = rank;
        m_observer.CollectiveStarted(RecordOf(*slot));
    }
    else if (m_reportsMessages && now == slot->joinedAt && rank < slot->firstRank)
    {
        // Of ranks that join at once, the lowest is told as the first, so that the division of a
        // job into parts does not matter.
        slot->firstRank = rank;
        m_observer.CollectiveStarted(RecordOf(*slot));
    }
    const auto& first = slot->request;
    if (first.op != request.op || first.bytes != request.bytes || first.root != request.root)
    {
        throw ns3::InputError(
            m_workload.GetFileName(),
            0,
            "rank " + std::to_string(rank) + " (" +
                std::string(m_workload.GetLayerName(position.layer)) +
                ") takes part in collective " + std::to_string(sequence + 1) + " of group " +
                group.name + " with " + DescribeCollective(request.op, request.bytes),
            DescribeCollective(first.op, first.bytes) + ", as the ranks before it (" +
                std::string(m_workload.GetLayerName(slot->position.layer)) + ")");
    }
    ++slot->joined;
    slot->lastJoin = now;
    if (group.ranks[static_cast<std::size_t>(request.root)] == rank)
    {
        slot->rootJoin = now;
    }
    return *slot;
}

std::shared_ptr<const CollectivePlan>
CollectiveLedger::FindPlan(const CommGroup& group, const CollectiveRequest& request)
{
    const CollectiveSchedule schedule = m_planner.Plan(group, request);
    const auto& phases = schedule.lastPhases;
    if (schedule.chunks > 1 || phases.size() != 1 || phases.front().dimension >= 0)
    {
        return nullptr;
    }
    return phases.front().implementation->Plan(group, phases.front().request);
}

void
CollectiveLedger::WorkedInStep(const InStepRecord& record)
{
    m_nextId += record.collectives;
    m_ended += record.collectives;
    m_observer.WorkedInStep(record);
}

const CollectiveInstance::Part&
CollectiveLedger::GetPart(CollectiveInstance& instance,
                          uint32_t chunk,
                          uint32_t phase,
                          uint32_t jobRank,
                          TimePs now)
{
    if (instance.parts.empty())
    {
        instance.start = now; // it waited for its turn until now
    }
    const auto& description = instance.schedule.PhasesOf(chunk)[phase];
    const bool isWhole = description.dimension < 0;
    const auto dimension = static_cast<uint32_t>(description.dimension);
    const uint64_t index = isWhole ? 0 : m_topology.GetGroupIndex(dimension, jobRank);
    const uint64_t key = (index << 32) | (uint64_t{chunk} << 4) | phase;
    const auto found = instance.parts.find(key);
    if (found != instance.parts.end())
    {
        return found->second;
    }
    const CommGroup& group = isWhole ? *instance.group : m_topology.GetGroup(dimension, jobRank);
    auto plan = description.implementation->Plan(group, description.request);
    const auto& choice = plan->GetChoice();
    auto& all = instance.choice;
    if (all.algorithm.empty())
    {
        all.algorithm = choice.algorithm;
        all.protocol = choice.protocol;
        all.channels = choice.channels;
        all.predicted = choice.predicted;
        all.hidden = choice.hidden;
    }
    else if (all.algorithm.find(choice.algorithm) == std::string::npos)
    {
        all.algorithm += "+" + choice.algorithm;
    }
    all.flows += choice.flows;
    const int tagBase = static_cast<int>(m_nextTag);
    m_nextTag = (m_nextTag + 256) % FIRST_MESSAGE_TAG;
    return instance.parts.emplace(key, CollectiveInstance::Part{&group, std::move(plan), tagBase})
        .first->second;
}

void
CollectiveLedger::Leave(CollectiveInstance& instance, TimePs now)
{
    if (++instance.finished < instance.members)
    {
        return;
    }
    ++m_ended;
    CollectiveRecord record = RecordOf(instance);
    record.end = now + instance.choice.hidden;
    record.lastStart = std::max(record.start, record.lastStart); // nothing begins in a group of one
    const auto found = m_running.find(instance.key);
    m_retired = std::move(found->second);
    m_running.erase(found);
    m_observer.CollectiveEnded(record);
}

void
CollectiveLedger::MessageSent(const MessageEndRecord& message)
{
    if (m_reportsMessages || !m_sample.Has(message.dst))
    {
        m_observer.MessageLeft(message);
        return; // it arrives where this ledger does not see it
    }
    m_messages.Send(m_nextId++, message);
}

TimePs
CollectiveLedger::MessageArrived(const MessageEndRecord& message, TimePs sentAt)
{
    const auto sent = m_messages.Receive(message, m_workload, m_observer);
    if (!sent)
    {
        m_observer.MessageCame(message);
        return sentAt;
    }
    ++m_ended;
    return *sent;
}

uint32_t
CollectiveLedger::CountJoined(uint64_t key) const
{
    const auto found = m_running.find(key);
    return found == m_running.end() ? 0 : found->second->joined;
}

std::vector<std::string>
CollectiveLedger::DescribeMissingRanks() const
{
    std::vector<const CollectiveInstance*> missing;
    for (const auto& [key, instance] : m_running)
    {
        if (instance->joined < instance->members)
        {
            missing.push_back(instance.get());
        }
    }
    std::ranges::sort(missing, [](auto* a, auto* b) { return a->id < b->id; });
    std::vector<std::string> lines;
    for (const auto* instance : missing)
    {
        lines.push_back(AstraSim::DescribeMissingRanks(RecordOf(*instance),
                                                       instance->joined,
                                                       instance->members));
    }
    return lines;
}

CollectiveRecord
CollectiveLedger::RecordOf(const CollectiveInstance& instance) const
{
    return {instance.id,
            m_workload.GetLayerName(instance.position.layer),
            instance.position,
            instance.group,
            instance.request.op,
            instance.request.bytes,
            &instance.choice,
            instance.start,
            0,
            instance.lastStart,
            instance.key,
            false,
            instance.lastJoin,
            instance.rootJoin,
            instance.members};
}

} // namespace AstraSim
