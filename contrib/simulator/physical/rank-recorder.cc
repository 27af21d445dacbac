/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-recorder.h"

#include <algorithm>
#include <cstring>

namespace AstraSim
{

namespace
{

using Json = nlohmann::json;

Json
Write(const WorkloadPosition& position)
{
    return {position.layer, position.pass, static_cast<uint8_t>(position.phase)};
}

} // namespace

void
RankRecorder::CollectiveStarted(const CollectiveRecord& record)
{
    m_numberOf[record.id] = m_begun[record.group->id]++;
    m_groups.try_emplace(record.group->id, *record.group);
}

void
RankRecorder::CollectiveEnded(const CollectiveRecord& record)
{
    const auto number = m_numberOf.find(record.id);
    m_collectives.push_back({record.group->id,
                             number->second,
                             record.position,
                             record.op,
                             record.bytes,
                             *record.choice,
                             record.start,
                             record.end});
    m_numberOf.erase(number);
}

void
RankRecorder::ComputeEnded(const ComputeRecord& record)
{
    m_compute.push_back({record.position, {}, {}, record.start, record.end});
}

void
RankRecorder::WaitEnded(const WaitRecord& record)
{
    m_waits.push_back({record.position, record.group, record.reason, record.start, record.end});
}

void
RankRecorder::LayerFinished(int, const WorkloadPosition& position, TimePs now)
{
    m_layers.push_back({position, now});
}

void
RankRecorder::RankFinished(int, TimePs now)
{
    m_finished = std::max<TimePs>(now, 1);
}

void
RankRecorder::MessageLeft(const MessageEndRecord& record)
{
    m_left.push_back(record);
}

void
RankRecorder::MessageCame(const MessageEndRecord& record)
{
    m_came.push_back(record);
}

std::string
RankRecorder::Serialize(int rank, const std::vector<PhyFlow>& flows, const Alignment& align) const
{
    Json json;
    json["rank"] = rank;
    json["finished"] = m_finished ? align(m_finished) : 0;
    for (const auto& [id, group] : m_groups)
    {
        json["groups"].push_back({id, static_cast<uint8_t>(group.kind), group.name, group.ranks});
    }
    for (const Collective& collective : m_collectives)
    {
        const CollectiveChoice& choice = collective.choice;
        json["collectives"].push_back({collective.group,
                                       collective.number,
                                       Write(collective.position),
                                       static_cast<uint8_t>(collective.op),
                                       collective.bytes,
                                       choice.algorithm,
                                       choice.protocol,
                                       choice.channels,
                                       choice.flows,
                                       align(collective.start),
                                       align(collective.end)});
    }
    for (const Span& span : m_compute)
    {
        json["compute"].push_back({Write(span.position), align(span.start), align(span.end)});
    }
    for (const Span& span : m_waits)
    {
        json["waits"].push_back({Write(span.position),
                                 static_cast<uint8_t>(span.group),
                                 static_cast<uint8_t>(span.reason),
                                 align(span.start),
                                 align(span.end)});
    }
    for (const Moment& moment : m_layers)
    {
        json["layers"].push_back({Write(moment.position), align(moment.time)});
    }
    const std::pair<const char*, const std::vector<MessageEndRecord>&> ends[] = {{"left", m_left},
                                                                                 {"came", m_came}};
    for (const auto& [name, messages] : ends)
    {
        for (const MessageEndRecord& message : messages)
        {
            json[name].push_back({message.src,
                                  message.dst,
                                  message.tag,
                                  message.bytes,
                                  Write(message.position),
                                  align(message.time),
                                  message.purpose});
        }
    }
    std::vector<uint8_t> bytes(flows.size() * sizeof(PhyFlow));
    for (std::size_t i = 0; i < flows.size(); ++i)
    {
        PhyFlow flow = flows[i];
        flow.start = align(flow.start);
        flow.end = align(flow.end);
        std::memcpy(bytes.data() + i * sizeof flow, &flow, sizeof flow);
    }
    json["flows"] = Json::binary(std::move(bytes));
    const auto cbor = Json::to_cbor(json);
    return {cbor.begin(), cbor.end()};
}

} // namespace AstraSim
