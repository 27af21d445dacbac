/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "merged-records.h"

#include "astra-frontend/model/system/collective-ledger.h"
#include "collectives/model/collective/rank-sample.h"

#include "ns3/input-error.h"
#include "ns3/qbb-mail.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace AstraSim
{

using ns3::QbbMail;

// Part observes one part of the job and turns each event into a note (QbbMail::Note()): a struct
// without addresses, as notes may come from other processes. Notes arrive in order of time, and a
// note's operator() calls MergedRecords, which fills in the layer's name and the group (Complete)
// and calls the run's observer. All parts give a collective the same key. Begin() reports the first
// begin of a key; End() merges times and reports the end when all ranks of the group have ended.
// GroupMet describes a group before the part's first collective of it. A message that arrives
// before its departure is reported waits in m_early.

struct MergedRecords::GroupMet
{
    uint32_t id;
    GroupKind kind;
    uint32_t ranks;

    /// @return the text that goes with it: the ranks, then the name
    static std::string TextOf(const CommGroup& group)
    {
        return std::string(reinterpret_cast<const char*>(group.ranks.data()),
                           group.ranks.size() * sizeof(int))
            .append(group.name);
    }

    void operator()(MergedRecords& all, std::string_view text) const
    {
        CommGroup& group = all.m_groups[id];
        group.id = id;
        group.kind = kind;
        group.ranks.resize(ranks);
        std::memcpy(group.ranks.data(), text.data(), ranks * sizeof(int));
        group.name = text.substr(ranks * sizeof(int));
    }
};

struct MergedRecords::Begun
{
    CollectiveRecord record;
    uint32_t group;

    void operator()(MergedRecords& all) const
    {
        all.Begin(all.Complete(record, group));
    }
};

struct MergedRecords::Ended
{
    CollectiveRecord record;
    uint32_t group;
    uint32_t ranks; ///< of the part
    uint32_t algorithmBytes;
    uint32_t channels;
    uint64_t flows;
    TimePs predicted;
    TimePs hidden;

    /// @param text the algorithm, then the protocol
    void operator()(MergedRecords& all, std::string_view text) const
    {
        const CollectiveChoice choice{std::string(text.substr(0, algorithmBytes)),
                                      std::string(text.substr(algorithmBytes)),
                                      channels,
                                      flows,
                                      predicted,
                                      hidden};
        all.End(all.Complete(record, group), choice, ranks);
    }
};

struct MergedRecords::PhaseEnded
{
    StreamPhaseRecord record;
    uint64_t key;

    void operator()(MergedRecords& all, std::string_view layer) const
    {
        StreamPhaseRecord told = record;
        told.layer = layer;
        told.collective = all.IdOf(key);
        all.m_observer.StreamPhaseEnded(told);
    }
};

struct MergedRecords::FlowDone
{
    FlowRecord record;
    uint64_t key;

    void operator()(MergedRecords& all) const
    {
        FlowRecord told = record;
        told.collective = told.collective ? all.IdOf(key) : 0;
        all.m_observer.FlowEnded(told);
    }
};

struct MergedRecords::Left
{
    MessageEndRecord record;

    void operator()(MergedRecords& all) const
    {
        all.Send(record);
    }
};

struct MergedRecords::Came
{
    MessageEndRecord record;

    void operator()(MergedRecords& all) const
    {
        all.Receive(record);
    }
};

struct MergedRecords::Computed
{
    ComputeRecord record;

    void operator()(MergedRecords& all) const
    {
        ComputeRecord told = record;
        told.layer = all.m_workload->GetLayerName(record.position.layer);
        all.m_observer.ComputeEnded(told);
    }
};

struct MergedRecords::Awaited
{
    AwaitRecord record;
    uint32_t count;

    /// @param text the collectives
    void operator()(MergedRecords& all, std::string_view text) const
    {
        std::vector<AwaitedCollective> collectives(count);
        // Not memcpy(), which takes no null pointer: a rank that awaits only messages has no
        // collectives to copy.
        std::ranges::copy(text, reinterpret_cast<char*>(collectives.data()));
        AwaitRecord told = record;
        told.layer = all.m_workload->GetLayerName(record.position.layer);
        told.collectives = collectives;
        all.m_observer.AwaitEnded(told);
    }
};

/// Something that has a rank, a value and a time.
template <auto Tell, typename Value>
struct MergedRecords::RankNote
{
    int rank;
    Value value;
    TimePs now;

    void operator()(MergedRecords& all) const
    {
        (all.m_observer.*Tell)(rank, value, now);
    }
};

struct MergedRecords::RankDone
{
    int rank;
    TimePs now;

    void operator()(MergedRecords& all) const
    {
        all.m_observer.RankFinished(rank, now);
    }
};

struct MergedRecords::Result
{
    uint32_t tableBytes;

    /// @param text the table's name, then the line
    void operator()(MergedRecords& all, std::string_view text) const
    {
        all.m_observer.WorkloadResult(text.substr(0, tableBytes), text.substr(tableBytes));
    }
};

/// One part of the job; it runs in its partition, and its records reach the observer later.
class MergedRecords::Part : public RunObserver
{
  public:
    Part(MergedRecords& all, const std::vector<int>& ranks)
        : m_all(all),
          m_ranks(ranks)
    {
    }

    void CollectiveStarted(const CollectiveRecord& record) override
    {
        m_keyOf[record.id] = record.key;
        const CommGroup& group = *record.group;
        // Notes of one time are sorted by node, so this one may come before the part's first one of
        // the group: it describes the group, too.
        if (m_groupsMet.try_emplace(group.id, record.start).first->second == record.start)
        {
            const GroupMet met{group.id, group.kind, static_cast<uint32_t>(group.ranks.size())};
            QbbMail::Note(m_all, met, GroupMet::TextOf(group));
        }
        QbbMail::Note(m_all, Begun{WithoutAddresses(record), group.id});
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        m_keyOf.erase(record.id);
        const CollectiveChoice& choice = *record.choice;
        QbbMail::Note(m_all,
                      Ended{WithoutAddresses(record),
                            record.group->id,
                            static_cast<uint32_t>(m_ranks.CountIn(*record.group)),
                            static_cast<uint32_t>(choice.algorithm.size()),
                            choice.channels,
                            choice.flows,
                            choice.predicted,
                            choice.hidden},
                      choice.algorithm + choice.protocol);
    }

    void StreamPhaseEnded(const StreamPhaseRecord& record) override
    {
        PhaseEnded ended{record, KeyOf(record.collective)};
        ended.record.layer = {};
        QbbMail::Note(m_all, ended, record.layer);
    }

    void FlowEnded(const FlowRecord& record) override
    {
        QbbMail::Note(m_all, FlowDone{record, KeyOf(record.collective)});
    }

    void MessageLeft(const MessageEndRecord& record) override
    {
        QbbMail::Note(m_all, Left{record});
    }

    void MessageCame(const MessageEndRecord& record) override
    {
        QbbMail::Note(m_all, Came{record});
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        Computed computed{record};
        computed.record.layer = {};
        QbbMail::Note(m_all, computed);
    }

    void AwaitEnded(const AwaitRecord& record) override
    {
        const auto& collectives = record.collectives;
        Awaited awaited{record, static_cast<uint32_t>(collectives.size())};
        awaited.record.layer = {};
        awaited.record.collectives = {};
        QbbMail::Note(
            m_all,
            awaited,
            {reinterpret_cast<const char*>(collectives.data()), collectives.size_bytes()});
    }

    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override
    {
        QbbMail::Note(m_all,
                      RankNote<&RunObserver::LayerFinished, WorkloadPosition>{rank, position, now});
    }

    void PassFinished(int rank, uint32_t pass, TimePs now) override
    {
        QbbMail::Note(m_all, RankNote<&RunObserver::PassFinished, uint32_t>{rank, pass, now});
    }

    void RankFinished(int rank, TimePs now) override
    {
        QbbMail::Note(m_all, RankDone{rank, now});
    }

    void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override
    {
        QbbMail::Note(m_all,
                      RankNote<&RunObserver::LocalMemoryChanged, uint64_t>{rank, bytes, now});
    }

    void WorkloadResult(std::string_view table, std::string_view line) override
    {
        QbbMail::Note(m_all,
                      Result{static_cast<uint32_t>(table.size())},
                      std::string(table).append(line));
    }

  private:
    static CollectiveRecord WithoutAddresses(const CollectiveRecord& record)
    {
        CollectiveRecord told = record;
        told.layer = {};
        told.group = nullptr;
        told.choice = nullptr;
        return told;
    }

    uint64_t KeyOf(uint64_t id) const
    {
        const auto found = m_keyOf.find(id);
        return found == m_keyOf.end() ? 0 : found->second;
    }

    MergedRecords& m_all;
    RankSample m_ranks;
    std::unordered_map<uint64_t, uint64_t> m_keyOf;   ///< keys of running collectives, by part id
    std::unordered_map<uint32_t, TimePs> m_groupsMet; ///< when all were told of a group, by id
};

MergedRecords::MergedRecords(RunObserver& observer)
    : m_observer(observer)
{
}

MergedRecords::~MergedRecords() = default;

RunObserver&
MergedRecords::AddPart(const std::vector<int>& ranks)
{
    return *m_parts.emplace_back(std::make_unique<Part>(*this, ranks));
}

CollectiveRecord
MergedRecords::Complete(CollectiveRecord record, uint32_t group) const
{
    record.layer = m_workload->GetLayerName(record.position.layer);
    record.group = &m_groups.at(group);
    return record;
}

void
MergedRecords::Begin(const CollectiveRecord& record)
{
    const auto [it, isNew] = m_running.try_emplace(record.key);
    CollectiveRecord& first = it->second.record;
    if (isNew)
    {
        first = record;
        first.id = m_nextId++;
        first.choice = &it->second.choice;
        m_observer.CollectiveStarted(first);
        return;
    }
    first.start = std::min(first.start, record.start);
    if (first.op != record.op || first.bytes != record.bytes)
    {
        throw ns3::InputError(
            m_workload->GetFileName(),
            0,
            fmt::format("ranks of group {} take part in its collective {} with {} ({})",
                        record.group->name,
                        (record.key & UINT32_MAX) + 1,
                        DescribeCollective(record.op, record.bytes),
                        record.layer),
            fmt::format("{}, as the ranks before them ({})",
                        DescribeCollective(first.op, first.bytes),
                        first.layer));
    }
}

void
MergedRecords::End(const CollectiveRecord& record,
                   const CollectiveChoice& choice,
                   std::size_t ranks)
{
    const auto found = m_running.find(record.key);
    Collective& collective = found->second;
    CollectiveRecord& whole = collective.record;
    const bool isFirst = collective.ranksEnded == 0;
    whole.start = isFirst ? record.start : std::min(whole.start, record.start);
    whole.lastStart = std::max(whole.lastStart, record.lastStart);
    whole.lastJoin = std::max(whole.lastJoin, record.lastJoin);
    whole.rootJoin = std::max(whole.rootJoin, record.rootJoin);
    whole.members = static_cast<uint32_t>(whole.group->ranks.size());
    whole.end = std::max(whole.end, record.end);
    if (isFirst)
    {
        collective.choice = choice;
    }
    collective.ranksEnded += ranks;
    if (collective.ranksEnded < whole.group->ranks.size())
    {
        return;
    }
    ++m_ended;
    const auto ended = m_running.extract(found);
    ended.mapped().record.choice = &ended.mapped().choice;
    m_observer.CollectiveEnded(ended.mapped().record);
}

uint64_t
MergedRecords::IdOf(uint64_t key) const
{
    const auto found = m_running.find(key);
    return found == m_running.end() ? 0 : found->second.record.id;
}

void
MergedRecords::Send(const MessageEndRecord& record)
{
    m_messages.Send(m_nextId++, record);
    if (m_early.empty())
    {
        return;
    }
    const auto early = m_early.find({record.src, record.dst, record.tag});
    if (early != m_early.end())
    {
        Receive(early->second.front());
        early->second.pop_front();
        if (early->second.empty())
        {
            m_early.erase(early);
        }
    }
}

void
MergedRecords::Receive(const MessageEndRecord& record)
{
    if (m_messages.Receive(record, *m_workload, m_observer))
    {
        ++m_ended;
    }
    else
    {
        m_early[{record.src, record.dst, record.tag}].push_back(record);
    }
}

std::vector<uint64_t>
MergedRecords::GetRunning() const
{
    std::vector<uint64_t> keys;
    for (const auto& [key, collective] : m_running)
    {
        keys.push_back(key);
    }
    return keys;
}

std::vector<std::string>
MergedRecords::DescribeMissingRanks(
    const std::function<std::size_t(uint64_t key)>& countJoined) const
{
    std::map<uint64_t, std::string> lines; // by id
    for (const auto& [key, collective] : m_running)
    {
        const CollectiveRecord& record = collective.record;
        const std::size_t ranks = record.group->ranks.size();
        const std::size_t joined = collective.ranksEnded + countJoined(key);
        if (joined < ranks)
        {
            lines[record.id] = AstraSim::DescribeMissingRanks(record, joined, ranks);
        }
    }
    std::vector<std::string> sorted;
    for (auto& [id, line] : lines)
    {
        sorted.push_back(std::move(line));
    }
    return sorted;
}

} // namespace AstraSim
