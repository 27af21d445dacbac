/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * QbbPartitions: the exchange of processes that share the partitions of a run, between two
 * windows. A process keeps timelines for the others' partitions too. No event of those is executed
 * here; the events that were sent from there are put in them, as if it had been.
 */
#include "qbb-partitions.h"

#include <algorithm>
#include <utility>

namespace ns3
{

bool
QbbPartitions::IsStopped() const
{
    return m_plan.processes ? m_isStopped : m_simulator.m_stop.load(std::memory_order_relaxed);
}

template <typename Function>
void
QbbPartitions::ForEachOf(uint32_t process, Function f) const
{
    const auto count = static_cast<uint32_t>(m_timelines.size());
    for (uint32_t partition = 0; partition < count; ++partition)
    {
        if (m_plan.processes->Of(partition, count) == process)
        {
            f(partition);
        }
    }
}

void
QbbPartitions::PutStatus(QbbBytes& bytes) const
{
    uint64_t earliest = QbbTimeline::NEVER;
    for (const uint32_t partition : m_here)
    {
        earliest = std::min(earliest, m_earliest[partition]);
    }
    PutValue(bytes, earliest);
    PutValue(bytes, m_isStopped);
    QbbFailure::Of(m_failure).Put(bytes);
}

void
QbbPartitions::TakeStatus(uint32_t process, QbbByteReader& reader)
{
    const auto earliest = reader.Get<uint64_t>();
    ForEachOf(process, [&](uint32_t partition) { m_earliest[partition] = earliest; });
    const bool isStopped = reader.Get<bool>();
    m_isStopped = m_isStopped || isStopped;
    const QbbFailure failure = QbbFailure::TakeFrom(reader);
    m_failure = m_failure ? m_failure : failure.ToException();
}

void
QbbPartitions::PutOutgoing(QbbBytes& bytes, QbbTimeline& sender, uint32_t partition)
{
    auto& wires = sender.outgoing[m_parity][partition];
    PutValue(bytes, uint64_t{wires.size()});
    for (QbbTimedEvent* wire : wires)
    {
        PutValue(bytes, wire->GetPlace());
        wire->PutOutgoing(m_parity, bytes);
    }
    wires.clear();
    auto& calls = sender.calls[m_parity][partition];
    PutValues(bytes, calls);
    calls.clear();
}

void
QbbPartitions::TakeOutgoing(QbbByteReader& reader, QbbTimeline& sender, uint32_t partition)
{
    auto& wires = sender.outgoing[m_parity][partition];
    for (auto left = reader.Get<uint64_t>(); left > 0; --left)
    {
        wires.push_back(m_simulator.m_wires.at(reader.Get<uint32_t>()));
        wires.back()->TakeOutgoing(m_parity, reader);
    }
    reader.GetValues(sender.calls[m_parity][partition]);
}

void
QbbPartitions::Exchange()
{
    const Clock::time_point begin = Clock::now();
    QbbProcesses& processes = *m_plan.processes;
    const uint32_t rank = processes.GetRank();
    m_isStopped = m_simulator.m_stop.load(std::memory_order_relaxed);
    QbbBytes told; // sent to all processes
    PutStatus(told);
    for (const uint32_t partition : m_here)
    {
        m_timelines[partition]->notes.Put(told);
    }
    m_toProcesses.resize(processes.GetCount());
    for (uint32_t process = 0; process < processes.GetCount(); ++process)
    {
        QbbBytes& bytes = m_toProcesses[process];
        bytes.clear();
        if (process == rank)
        {
            continue;
        }
        bytes = told;
        ForEachOf(process, [&](uint32_t partition) {
            for (const uint32_t sender : m_here)
            {
                PutOutgoing(bytes, *m_timelines[sender], partition);
            }
        });
    }
    processes.Exchange(m_toProcesses, m_fromProcesses);
    for (uint32_t process = 0; process < processes.GetCount(); ++process)
    {
        if (process == rank)
        {
            continue;
        }
        QbbByteReader reader(m_fromProcesses[process]);
        TakeStatus(process, reader);
        ForEachOf(process, [&](uint32_t sender) { m_timelines[sender]->notes.TakeFrom(reader); });
        for (const uint32_t partition : m_here)
        {
            ForEachOf(process, [&](uint32_t sender) {
                TakeOutgoing(reader, *m_timelines[sender], partition);
            });
        }
    }
    m_inExchange += Clock::now() - begin;
}

void
QbbPartitions::EndStep()
{
    if (m_plan.processes)
    {
        Exchange();
    }
    if (m_failure)
    {
        std::rethrow_exception(std::exchange(m_failure, nullptr));
    }
    TellNotes();
}

} // namespace ns3
