/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-recorder.h"

#include "ns3/qbb-timeline.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// @return a record of a span with its times aligned
template <typename Record>
Record
Aligned(Record record, const RankRecorder::Alignment& align)
{
    record.start = align(record.start);
    record.end = align(record.end);
    return record;
}

/// @return the record without the name of its layer, which may be gone when the observer gets the
/// record
template <typename Record>
Record
WithoutLayer(Record record)
{
    record.layer = {};
    return record;
}

} // namespace

void
RankRecorder::CollectiveStarted(const CollectiveRecord& record)
{
    CollectiveRecord kept = WithoutLayer(record);
    kept.group = &m_groups.try_emplace(record.group->id, *record.group).first->second;
    kept.choice = nullptr;
    Keep(record.start, [kept](RunObserver& observer, const Alignment& align) {
        CollectiveRecord told = kept;
        told.start = align(kept.start);
        observer.CollectiveStarted(told);
    });
}

void
RankRecorder::CollectiveEnded(const CollectiveRecord& record)
{
    CollectiveRecord kept = WithoutLayer(record);
    kept.group = &m_groups.at(record.group->id);
    Keep(record.end,
         [kept, choice = *record.choice](RunObserver& observer, const Alignment& align) {
             CollectiveRecord told = Aligned(kept, align);
             told.lastStart = align(kept.lastStart);
             told.lastJoin = align(kept.lastJoin);
             told.rootJoin = kept.rootJoin > 0 ? align(kept.rootJoin) : 0;
             told.choice = &choice;
             observer.CollectiveEnded(told);
         });
}

void
RankRecorder::ComputeEnded(const ComputeRecord& record)
{
    Keep(record.end, [kept = WithoutLayer(record)](RunObserver& observer, const Alignment& align) {
        observer.ComputeEnded(Aligned(kept, align));
    });
}

void
RankRecorder::AwaitEnded(const AwaitRecord& record)
{
    Keep(record.end,
         [kept = WithoutLayer(record),
          collectives = std::vector(record.collectives.begin(), record.collectives.end())](
             RunObserver& observer,
             const Alignment& align) {
             AwaitRecord told = Aligned(kept, align);
             told.sent = align(kept.sent);
             std::vector<AwaitedCollective> aligned = collectives;
             for (AwaitedCollective& each : aligned)
             {
                 each.end = align(each.end);
             }
             told.collectives = aligned;
             observer.AwaitEnded(told);
         });
}

void
RankRecorder::LayerFinished(int rank, const WorkloadPosition& position, TimePs now)
{
    Keep(now, [rank, position, now](RunObserver& observer, const Alignment& align) {
        observer.LayerFinished(rank, position, align(now));
    });
}

void
RankRecorder::RankFinished(int rank, TimePs now)
{
    m_finished = std::max<TimePs>(now, 1);
    Keep(m_finished, [rank, end = m_finished](RunObserver& observer, const Alignment& align) {
        observer.RankFinished(rank, align(end));
    });
}

void
RankRecorder::MessageLeft(const MessageEndRecord& record)
{
    Keep(record.time, [record](RunObserver& observer, const Alignment& align) {
        MessageEndRecord told = record;
        told.time = align(record.time);
        observer.MessageLeft(told);
    });
}

void
RankRecorder::MessageCame(const MessageEndRecord& record)
{
    Keep(record.time, [record](RunObserver& observer, const Alignment& align) {
        MessageEndRecord told = record;
        told.time = align(record.time);
        observer.MessageCame(told);
    });
}

ns3::QbbBytes
RankRecorder::Write(int rank,
                    RunObserver& part,
                    const std::vector<FlowRecord>& flows,
                    const Alignment& align) const
{
    ns3::QbbTimeline timeline(1, ns3::QbbTimeline::SCHEDULED);
    timeline.context = static_cast<uint32_t>(rank);
    ns3::QbbTimeline::SetCurrent(&timeline);
    const auto setTime = [&timeline, &align](TimePs time) {
        timeline.nowTs = static_cast<uint64_t>(std::max<TimePs>(align(time), 0));
    };
    for (const Record& record : m_records)
    {
        setTime(record.time);
        record.tell(part, align);
    }
    for (const FlowRecord& flow : flows)
    {
        setTime(flow.end);
        part.FlowEnded(Aligned(flow, align));
    }
    ns3::QbbTimeline::SetCurrent(nullptr);
    ns3::QbbBytes bytes;
    timeline.notes.Put(bytes);
    return bytes;
}

} // namespace AstraSim
