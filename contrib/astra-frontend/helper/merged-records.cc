/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "merged-records.h"

#include "ns3/collective-ledger.h"
#include "ns3/input-error.h"
#include "ns3/qbb-partitions.h"
#include "ns3/rank-sample.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace AstraSim
{

using ns3::QbbPartitions;

/// What one part of the job tells; it runs in its partition, and what it tells is told later.
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
        QbbPartitions::Tell([this, record] { m_all.Begin(record); });
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        m_keyOf.erase(record.id);
        const std::size_t ranks = m_ranks.CountIn(*record.group);
        QbbPartitions::Tell(
            [this, record, choice = *record.choice, ranks] { m_all.End(record, choice, ranks); });
    }

    void StreamPhaseEnded(const StreamPhaseRecord& record) override
    {
        QbbPartitions::Tell([this, told = record, key = KeyOf(record.collective)]() mutable {
            told.collective = m_all.IdOf(key);
            m_all.m_observer.StreamPhaseEnded(told);
        });
    }

    void FlowEnded(const FlowRecord& record) override
    {
        QbbPartitions::Tell([this, told = record, key = KeyOf(record.collective)]() mutable {
            told.collective = told.collective ? m_all.IdOf(key) : 0;
            m_all.m_observer.FlowEnded(told);
        });
    }

    void MessageLeft(const MessageEndRecord& record) override
    {
        QbbPartitions::Tell([this, record] { m_all.m_messages.Send(m_all.m_nextId++, record); });
    }

    void MessageCame(const MessageEndRecord& record) override
    {
        QbbPartitions::Tell([this, record] { m_all.Receive(record); });
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        QbbPartitions::Tell([this, record] { m_all.m_observer.ComputeEnded(record); });
    }

    void WaitEnded(const WaitRecord& record) override
    {
        QbbPartitions::Tell([this, record] { m_all.m_observer.WaitEnded(record); });
    }

    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override
    {
        QbbPartitions::Tell(
            [this, rank, position, now] { m_all.m_observer.LayerFinished(rank, position, now); });
    }

    void PassFinished(int rank, uint32_t pass, TimePs now) override
    {
        QbbPartitions::Tell(
            [this, rank, pass, now] { m_all.m_observer.PassFinished(rank, pass, now); });
    }

    void RankFinished(int rank, TimePs now) override
    {
        QbbPartitions::Tell([this, rank, now] { m_all.m_observer.RankFinished(rank, now); });
    }

    void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override
    {
        QbbPartitions::Tell(
            [this, rank, bytes, now] { m_all.m_observer.LocalMemoryChanged(rank, bytes, now); });
    }

    void WorkloadResult(std::string_view table, std::string_view line) override
    {
        QbbPartitions::Tell([this, table = std::string(table), line = std::string(line)] {
            m_all.m_observer.WorkloadResult(table, line);
        });
    }

  private:
    uint64_t KeyOf(uint64_t id) const
    {
        const auto found = m_keyOf.find(id);
        return found == m_keyOf.end() ? 0 : found->second;
    }

    MergedRecords& m_all;
    RankSample m_ranks;
    std::unordered_map<uint64_t, uint64_t> m_keyOf; ///< of running collectives, by the part's id
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
MergedRecords::Receive(const MessageEndRecord& record)
{
    m_messages.Receive(record, *m_workload, m_observer);
    ++m_ended;
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
