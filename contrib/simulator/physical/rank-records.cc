/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-records.h"

#include "astra-frontend/model/collective/traffic-purpose.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <tuple>

namespace AstraSim
{

namespace
{

using Json = nlohmann::json;

WorkloadPosition
ReadPosition(const Json& json)
{
    return {json[0], json[1], static_cast<TrainingPhase>(json[2].get<uint8_t>())};
}

/// @return the entries of a list; none if nothing was noted
const Json&
List(const Json& json, const char* name)
{
    static const Json EMPTY = Json::array();
    const auto found = json.find(name);
    return found == json.end() || !found->is_array() ? EMPTY : *found;
}

using CollectiveKey = std::pair<uint32_t, uint32_t>; ///< group, number in it

/// Puts the ranks' parts of collectives together.
void
ReadCollectives(const Json& json, std::map<CollectiveKey, RankRecords::Collective>& collectives)
{
    std::map<uint32_t, CommGroup> groups;
    for (const Json& group : List(json, "groups"))
    {
        groups[group[0]] = {group[0],
                            static_cast<GroupKind>(group[1].get<uint8_t>()),
                            group[2],
                            group[3].get<std::vector<int>>()};
    }
    for (const Json& entry : List(json, "collectives"))
    {
        auto& collective = collectives[{entry[0], entry[1]}];
        if (collective.ranks++ == 0)
        {
            collective.group = groups[entry[0]];
            collective.position = ReadPosition(entry[2]);
            collective.op = static_cast<CollectiveOp>(entry[3].get<uint8_t>());
            collective.bytes = entry[4];
            collective.choice.algorithm = entry[5];
            collective.choice.protocol = entry[6];
            collective.choice.channels = entry[7];
            collective.choice.flows = entry[8];
        }
        const TimePs start = entry[9];
        collective.start = std::min(collective.start, start);
        collective.lastStart = std::max(collective.lastStart, start);
        collective.end = std::max<TimePs>(collective.end, entry[10]);
    }
}

using MessageKey = std::tuple<int, int, int>; ///< source, destination, tag

struct MessageEnd
{
    uint64_t bytes;
    WorkloadPosition position;
    TimePs time;
    uint16_t purpose;
};

void
ReadMessages(const Json& list, std::map<MessageKey, std::vector<MessageEnd>>& messages)
{
    for (const Json& entry : list)
    {
        messages[{entry[0], entry[1], entry[2]}].push_back(
            {entry[3], ReadPosition(entry[4]), entry[5], entry[6]});
    }
}

/// @return a message between two ranks as a collective's record has it
RankRecords::Collective
MessageRecordOf(const MessageKey& key, const MessageEnd& left, TimePs end)
{
    RankRecords::Collective message;
    message.group = PairOfMessage(std::get<0>(key), std::get<1>(key), left.purpose);
    message.position = left.position;
    message.op = CollectiveOp::SendRecv;
    message.bytes = left.bytes;
    message.choice = CollectiveChoice{"P2P", "-", 1, 1, 0};
    message.start = left.time;
    message.lastStart = left.time;
    message.end = std::max(end, left.time);
    message.ranks = 2;
    return message;
}

} // namespace

struct RankRecords::Parts
{
    std::map<CollectiveKey, Collective> collectives;
    std::map<MessageKey, std::vector<MessageEnd>> left;
    std::map<MessageKey, std::vector<MessageEnd>> came;
};

RankRecords::RankRecords(const Workload& workload,
                         const std::vector<std::string>& notes,
                         bool isPartial)
    : m_workload(workload)
{
    Parts parts;
    for (const std::string& note : notes)
    {
        const Json json = Json::from_cbor(note);
        ReadRank(json);
        ReadCollectives(json, parts.collectives);
        ReadMessages(List(json, "left"), parts.left);
        ReadMessages(List(json, "came"), parts.came);
    }
    PutTogether(parts, isPartial);
    uint64_t id = 0;
    for (Collective& collective : m_collectives)
    {
        collective.id = ++id;
    }
    std::stable_sort(m_flows.begin(), m_flows.end(), [](const auto& a, const auto& b) {
        return a.end < b.end;
    });
}

void
RankRecords::ReadRank(const Json& json)
{
    const int rank = json["rank"];
    const TimePs finished = json["finished"];
    m_finished = std::max(m_finished, finished);
    if (finished > 0)
    {
        m_rankEnds.push_back({rank, {}, finished});
    }
    for (const Json& span : List(json, "compute"))
    {
        m_compute.push_back({rank, ReadPosition(span[0]), {}, {}, span[1], span[2]});
    }
    for (const Json& span : List(json, "waits"))
    {
        m_waits.push_back({rank,
                           ReadPosition(span[0]),
                           static_cast<GroupKind>(span[1].get<uint8_t>()),
                           static_cast<WaitReason>(span[2].get<uint8_t>()),
                           span[3],
                           span[4]});
    }
    for (const Json& moment : List(json, "layers"))
    {
        m_layers.push_back({rank, ReadPosition(moment[0]), moment[1]});
    }
    const auto& bytes = json["flows"].get_binary();
    const std::size_t before = m_flows.size();
    m_flows.resize(before + bytes.size() / sizeof(PhyFlow));
    if (!bytes.empty())
    {
        std::memcpy(&m_flows[before], bytes.data(), bytes.size());
    }
}

void
RankRecords::PutTogether(Parts& parts, bool isPartial)
{
    for (auto& [key, collective] : parts.collectives)
    {
        if (isPartial || collective.ranks == collective.group.ranks.size())
        {
            collective.key = {0, key.first, key.second, 0};
            m_collectives.push_back(std::move(collective));
        }
    }
    for (const auto& [key, ends] : parts.came)
    {
        const auto& starts = parts.left[key];
        for (std::size_t i = 0; i < std::min(ends.size(), starts.size()); ++i)
        {
            m_collectives.push_back(MessageRecordOf(key, starts[i], ends[i].time));
            m_collectives.back().key = {1 + static_cast<uint64_t>(std::get<2>(key)),
                                        static_cast<uint64_t>(std::get<0>(key)),
                                        static_cast<uint64_t>(std::get<1>(key)),
                                        i};
        }
    }
    std::stable_sort(m_collectives.begin(), m_collectives.end(), [](const auto& a, const auto& b) {
        return a.start < b.start;
    });
}

void
RankRecords::Replay(RunObserver& observer) const
{
    std::vector<std::pair<TimePs, std::function<void()>>> events;
    for (const Collective& collective : m_collectives)
    {
        events.emplace_back(collective.end, [this, &collective, &observer] {
            observer.CollectiveEnded({collective.id,
                                      m_workload.GetLayerName(collective.position.layer),
                                      collective.position,
                                      &collective.group,
                                      collective.op,
                                      collective.bytes,
                                      &collective.choice,
                                      collective.start,
                                      collective.end,
                                      collective.lastStart});
        });
    }
    for (const Span& span : m_compute)
    {
        events.emplace_back(span.end, [this, &span, &observer] {
            observer.ComputeEnded({span.rank,
                                   m_workload.GetLayerName(span.position.layer),
                                   span.position,
                                   span.start,
                                   span.end});
        });
    }
    for (const Span& span : m_waits)
    {
        events.emplace_back(span.end, [this, &span, &observer] {
            observer.WaitEnded({span.rank,
                                m_workload.GetLayerName(span.position.layer),
                                span.position,
                                span.group,
                                span.reason,
                                span.start,
                                span.end});
        });
    }
    for (const Moment& moment : m_layers)
    {
        events.emplace_back(moment.time, [&moment, &observer] {
            observer.LayerFinished(moment.rank, moment.position, moment.time);
        });
    }
    for (const Moment& moment : m_rankEnds)
    {
        events.emplace_back(moment.time, [&moment, &observer] {
            observer.RankFinished(moment.rank, moment.time);
        });
    }
    std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
        return a.first < b.first;
    });
    for (const auto& [time, tell] : events)
    {
        tell();
    }
}

} // namespace AstraSim
