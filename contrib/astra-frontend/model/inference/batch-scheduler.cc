/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "batch-scheduler.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

BatchScheduler::BatchScheduler(const InstancePool& pool, TimePs swapTime)
    : m_pool(pool),
      m_swapTime(swapTime),
      m_blocks(pool.blocks)
{
}

void
BatchScheduler::Enqueue(Sequence& sequence)
{
    m_waiting.push_back(&sequence);
}

uint64_t
BatchScheduler::NeededBlocks(const Sequence& sequence, uint64_t tokens) const
{
    const uint64_t all = m_pool.BlocksOf(tokens);
    return all > sequence.blocks ? all - sequence.blocks : 0;
}

bool
BatchScheduler::Reserve(Sequence& sequence, uint64_t tokens, TimePs now)
{
    const uint64_t blocks = m_pool.BlocksOf(tokens);
    // Those that were preempted here come first.
    if (blocks > m_blocks.GetFree() || !m_waiting.empty() || !m_swapped.empty())
    {
        return false;
    }
    m_blocks.Take(blocks, now);
    sequence.reservedBlocks = blocks;
    return true;
}

void
BatchScheduler::Admit(Sequence& sequence)
{
    sequence.blocks = sequence.reservedBlocks;
    m_arrived.push_back(&sequence);
}

std::vector<BatchItem>
BatchScheduler::Form(TimePs now)
{
    std::vector<BatchItem> batch;
    m_budget = m_pool.maxBatchTokens;
    m_hasPreempted = false;
    AdmitArrived();
    AdmitSwapped(now);
    if (!m_pool.chunkedPrefill)
    {
        AddPrompts(batch, now);
        if (batch.empty())
        {
            AddRunning(batch, now);
        }
        return batch;
    }
    AddRunning(batch, now);
    if (!m_hasPreempted)
    {
        AddPrompts(batch, now);
    }
    return batch;
}

void
BatchScheduler::AdmitArrived()
{
    while (!m_arrived.empty() && m_running.size() < m_pool.maxSequences)
    {
        m_running.push_back(m_arrived.front());
        m_arrived.pop_front();
    }
}

void
BatchScheduler::AdmitSwapped(TimePs now)
{
    while (!m_swapped.empty() && m_running.size() < m_pool.maxSequences)
    {
        Sequence& sequence = *m_swapped.front();
        const uint64_t blocks = m_pool.BlocksOf(sequence.Tokens());
        if (sequence.readyAt > now || blocks > m_blocks.GetFree())
        {
            return;
        }
        m_blocks.Take(blocks, now);
        sequence.blocks = blocks;
        sequence.readyAt = ns3::AddPs(now, ns3::TimesPs(m_swapTime, sequence.computed));
        m_swapped.pop_front();
        m_running.push_back(&sequence);
    }
}

void
BatchScheduler::AddPrompts(std::vector<BatchItem>& batch, TimePs now)
{
    while (!m_waiting.empty() && m_swapped.empty() && m_budget > 0 &&
           m_running.size() < m_pool.maxSequences)
    {
        Sequence& sequence = *m_waiting.front();
        const uint64_t blocks = m_pool.BlocksOf(sequence.Tokens());
        uint32_t count = std::min(sequence.Missing(), m_budget);
        if (!m_pool.chunkedPrefill && count < sequence.Missing())
        {
            if (!batch.empty())
            {
                return;
            }
            count = sequence.Missing(); // a prompt above the limit is a step of its own
        }
        if (blocks > m_blocks.GetFree())
        {
            return;
        }
        m_blocks.Take(blocks, now);
        sequence.blocks = blocks;
        m_waiting.pop_front();
        m_running.push_back(&sequence);
        Add(batch, sequence, count);
    }
}

void
BatchScheduler::AddRunning(std::vector<BatchItem>& batch, TimePs now)
{
    const std::size_t share = (m_running.size() + m_pool.pp - 1) / m_pool.pp;
    for (std::size_t place = 0; place < m_running.size() && m_budget > 0 && batch.size() < share;)
    {
        Sequence& sequence = *m_running[place];
        if (sequence.inFlight || sequence.readyAt > now)
        {
            ++place;
            continue;
        }
        const uint32_t count = std::min(sequence.Missing(), m_budget);
        if (MakeRoom(place, count, now))
        {
            Add(batch, sequence, count);
            ++place;
        }
        else if (place < m_running.size() && m_running[place] == &sequence)
        {
            ++place; // it waits for blocks that others hold
        }
    }
}

bool
BatchScheduler::MakeRoom(std::size_t place, uint32_t count, TimePs now)
{
    Sequence& sequence = *m_running[place];
    const uint64_t needed = NeededBlocks(sequence, uint64_t{sequence.computed} + count);
    while (needed > m_blocks.GetFree())
    {
        if (!m_arrived.empty())
        {
            Sequence& waits = *m_arrived.back();
            m_arrived.pop_back();
            Evict(waits, now);
            continue;
        }
        std::size_t victim = m_running.size();
        while (--victim > place &&
               (m_running[victim]->inFlight || m_running[victim]->readyAt > now))
        {
        }
        if (victim > place)
        {
            Preempt(victim, now);
            continue;
        }
        if (place > 0)
        {
            Preempt(place, now);
        }
        return false;
    }
    if (needed > 0)
    {
        m_blocks.Take(needed, now);
        sequence.blocks += needed;
    }
    return true;
}

void
BatchScheduler::Preempt(std::size_t place, TimePs now)
{
    Sequence& sequence = *m_running[place];
    m_running.erase(m_running.begin() + static_cast<std::ptrdiff_t>(place));
    Evict(sequence, now);
}

void
BatchScheduler::Evict(Sequence& sequence, TimePs now)
{
    m_blocks.GiveBack(sequence.blocks, now);
    sequence.blocks = 0;
    ++sequence.preemptions;
    ++m_preemptions;
    m_hasPreempted = true;
    if (m_pool.preemption == PreemptionMode::Swap)
    {
        sequence.readyAt = ns3::AddPs(now, ns3::TimesPs(m_swapTime, sequence.computed));
        m_swapped.push_front(&sequence);
        return;
    }
    sequence.computed = 0;
    m_waiting.push_front(&sequence);
}

void
BatchScheduler::Add(std::vector<BatchItem>& batch, Sequence& sequence, uint32_t count)
{
    const bool isSampled = count == sequence.Missing();
    const bool isDecoding = sequence.generated > 0 && isSampled && count == 1;
    batch.push_back({&sequence, sequence.computed, count, isDecoding, isSampled});
    sequence.inFlight = true;
    m_budget -= std::min(count, m_budget);
}

void
BatchScheduler::Complete(const BatchItem& item)
{
    Sequence& sequence = *item.sequence;
    sequence.inFlight = false;
    sequence.computed += item.count;
    sequence.generated += item.isSampled;
}

void
BatchScheduler::Hold(Sequence& sequence)
{
    m_running.erase(std::find(m_running.begin(), m_running.end(), &sequence));
}

void
BatchScheduler::Release(Sequence& sequence, TimePs now)
{
    m_blocks.GiveBack(sequence.blocks, now);
    sequence.blocks = 0;
}

void
BatchScheduler::Remove(Sequence& sequence, TimePs now)
{
    Hold(sequence);
    Release(sequence, now);
}

std::optional<TimePs>
BatchScheduler::GetNextWake(TimePs now) const
{
    std::optional<TimePs> wake;
    const auto consider = [&](const Sequence& sequence) {
        if (sequence.readyAt > now)
        {
            wake = std::min(wake.value_or(sequence.readyAt), sequence.readyAt);
        }
    };
    for (const Sequence* sequence : m_running)
    {
        consider(*sequence);
    }
    if (!m_swapped.empty())
    {
        consider(*m_swapped.front());
    }
    return wake;
}

uint64_t
BatchScheduler::GetLoad() const
{
    uint64_t load = 0;
    for (const Sequence* sequence : m_running)
    {
        load += sequence->Missing();
    }
    for (const auto* queue : {&m_waiting, &m_swapped, &m_arrived})
    {
        for (const Sequence* sequence : *queue)
        {
            load += sequence->Missing();
        }
    }
    return load;
}

int64_t
BatchScheduler::GetFreeBlocks() const
{
    auto free = static_cast<int64_t>(m_blocks.GetFree());
    for (const auto* queue : {&m_waiting, &m_swapped})
    {
        for (const Sequence* sequence : *queue)
        {
            free -= static_cast<int64_t>(m_pool.BlocksOf(sequence->Tokens()));
        }
    }
    return free;
}

} // namespace AstraSim
