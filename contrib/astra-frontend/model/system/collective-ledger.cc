/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-ledger.h"

#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

std::string
Describe(const CollectiveRequest& request)
{
    return std::string(ToString(request.op)) + " of " + std::to_string(request.bytes) + " bytes";
}

} // namespace

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
        slot->group = &group;
        slot->members = m_sample.CountIn(group);
        slot->request = request;
        slot->position = position;
        slot->schedule = m_planner.Plan(group, request);
        slot->start = now;
        slot->key = key;
        m_observer.CollectiveStarted(RecordOf(*slot));
    }
    const auto& first = slot->request;
    if (first.op != request.op || first.bytes != request.bytes || first.root != request.root)
    {
        throw ns3::InputError(m_workload.GetFileName(),
                              0,
                              "rank " + std::to_string(rank) + " (" +
                                  std::string(m_workload.GetLayerName(position.layer)) +
                                  ") takes part in collective " + std::to_string(sequence + 1) +
                                  " of group " + group.name + " with " + Describe(request),
                              Describe(first) + ", as the ranks before it (" +
                                  std::string(m_workload.GetLayerName(slot->position.layer)) + ")");
    }
    ++slot->joined;
    return *slot;
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
CollectiveLedger::MessageSent(int src, int dst, int tag, const MessageRecord& message)
{
    if (m_reportsMessages || !m_sample.Has(dst))
    {
        m_observer.MessageLeft({src, dst, tag, message.bytes, message.position, message.start});
        return; // it arrives where this ledger does not see it
    }
    m_messages.emplace(MessageKey{src, dst, tag}, message)->second.id = m_nextId++;
}

TimePs
CollectiveLedger::MessageArrived(int src,
                                 int dst,
                                 int tag,
                                 uint64_t bytes,
                                 TimePs sentAt,
                                 TimePs now)
{
    const auto [begin, end] = m_messages.equal_range({src, dst, tag});
    if (begin == end)
    {
        m_observer.MessageCame({src, dst, tag, bytes, {}, now});
        return sentAt;
    }
    const auto oldest = std::min_element(begin, end, [](const auto& a, const auto& b) {
        return a.second.id < b.second.id;
    });
    const MessageRecord message = oldest->second;
    if (message.bytes != bytes)
    {
        throw ns3::InputError(m_workload.GetFileName(),
                              0,
                              "rank " + std::to_string(dst) + " receives " + std::to_string(bytes) +
                                  " bytes from rank " + std::to_string(src) + ", which sent " +
                                  std::to_string(message.bytes),
                              "the same size on both sides");
    }
    m_messages.erase(oldest);
    ++m_ended;
    const CommGroup pair{0, GroupKind::Pp, "PP", {src, dst}};
    const CollectiveChoice choice{"P2P", "-", 1, 1, 0};
    const CollectiveRecord record{message.id,
                                  m_workload.GetLayerName(message.position.layer),
                                  message.position,
                                  &pair,
                                  CollectiveOp::SendRecv,
                                  message.bytes,
                                  &choice,
                                  message.start,
                                  now,
                                  message.start,
                                  0,
                                  true};
    m_observer.CollectiveEnded(record);
    return message.start;
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
    std::sort(missing.begin(), missing.end(), [](auto* a, auto* b) { return a->id < b->id; });
    std::vector<std::string> lines;
    for (const auto* instance : missing)
    {
        lines.push_back(
            "collective " + std::to_string(instance->id) + " (" + Describe(instance->request) +
            ", layer " + std::string(m_workload.GetLayerName(instance->position.layer)) +
            ", group " + instance->group->name + "): " + std::to_string(instance->joined) + " of " +
            std::to_string(instance->members) + " ranks have begun it");
    }
    return lines;
}

std::vector<std::string>
CollectiveLedger::DescribeMessages() const
{
    std::vector<std::pair<uint64_t, std::string>> messages;
    for (const auto& [key, message] : m_messages)
    {
        messages.emplace_back(message.id,
                              "a message of " + std::to_string(message.bytes) +
                                  " bytes from rank " + std::to_string(key.src) + " to rank " +
                                  std::to_string(key.dst) + " has been sent and not received");
    }
    std::sort(messages.begin(), messages.end());
    std::vector<std::string> lines;
    for (auto& [id, line] : messages)
    {
        lines.push_back(std::move(line));
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
            instance.key};
}

} // namespace AstraSim
