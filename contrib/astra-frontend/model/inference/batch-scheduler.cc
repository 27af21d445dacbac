/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "batch-scheduler.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <iterator>

namespace AstraSim
{

// A sequence moves between queues: m_waiting (no blocks), m_running (blocks, in order of age),
// m_swapped (blocks on the host), m_arrived (its cache came from a prefill instance). Form()
// builds a step under a budget of tokens: first running sequences (AddRunning), then parts of
// new prompts (AddPrompts). Without chunked prefill prompts are whole, and come first where batches
// are not mixed. A running sequence that needs a block and finds none evicts sequences (MakeRoom),
// first those of m_arrived, then younger ones. They lose their blocks and wait to be computed again
// or swapped in. With prefix caching, full blocks are named by content (NameFilled), and a new
// prompt shares the named blocks at its beginning (CountCached, TakeWithCached) and computes the
// rest.

namespace
{

/// @return blocks of a sequence that it need not compute if they are in a cache: a token is left
uint64_t
BlocksThatHelp(const Sequence& sequence, const InstancePool& pool)
{
    return (sequence.Tokens() - 1) / pool.blockTokens;
}

} // namespace

BatchScheduler::BatchScheduler(const InstancePool& pool, double tokenBytes)
    : m_pool(pool),
      m_tokenBytes(tokenBytes),
      m_order(PolicyKind<QueueOrder>::Create(pool.order)),
      m_capacity(PolicyKind<CapacityPolicy>::Create(pool.capacity)),
      m_preemption(PolicyKind<Preemption>::Create(pool.preemption)),
      m_blocks(pool.blocks)
{
}

void
BatchScheduler::UseTiers(const ServingConfig& config,
                         std::vector<CacheRank> ranks,
                         RemoteCache* remote,
                         std::function<TimePs()> now,
                         std::function<void()> wake)
{
    m_tiers = std::make_unique<TieredCache>(config, std::move(ranks), remote);
    m_now = std::move(now);
    m_wake = std::move(wake);
}

void
BatchScheduler::Enqueue(Sequence& sequence)
{
    m_waiting.push_back(&sequence);
}

uint64_t
BatchScheduler::BlocksToBegin(const Sequence& sequence) const
{
    return m_pool.BlocksOf(m_pool.role == InstanceRole::Prefill
                               ? sequence.Tokens()
                               : m_capacity->TokensToBegin(sequence));
}

uint64_t
BatchScheduler::NeededBlocks(const Sequence& sequence, uint64_t tokens) const
{
    const uint64_t all = m_pool.BlocksOf(tokens);
    return all > sequence.blocks ? all - sequence.blocks : 0;
}

uint64_t
BatchScheduler::CountCached(const Sequence& sequence) const
{
    if (!m_pool.prefixCaching || !sequence.request)
    {
        return 0;
    }
    const uint64_t most = BlocksThatHelp(sequence, m_pool);
    uint64_t count = 0;
    while (count < most)
    {
        const auto content = sequence.request->ContentOf(count, m_pool.blockTokens);
        if (!content || !m_blocks.Has(*content))
        {
            break;
        }
        ++count;
    }
    return count;
}

uint64_t
BatchScheduler::CountInTiers(const Sequence& sequence, uint64_t cached, TimePs now) const
{
    return m_tiers && sequence.request
               ? m_tiers->Count(sequence, cached, BlocksThatHelp(sequence, m_pool), now)
               : 0;
}

bool
BatchScheduler::TakeWithCached(const Sequence& sequence,
                               uint64_t blocks,
                               uint64_t cached,
                               TimePs now)
{
    const auto contentOf = [&](uint64_t block) {
        return *sequence.request->ContentOf(block, m_pool.blockTokens);
    };
    uint64_t taken = blocks - cached;
    for (uint64_t block = 0; block < cached; ++block)
    {
        taken += m_blocks.IsIdle(contentOf(block));
    }
    if (taken > m_blocks.GetFree())
    {
        return false;
    }
    for (uint64_t block = 0; block < cached; ++block)
    {
        m_blocks.Share(contentOf(block), now);
    }
    m_blocks.Take(blocks - cached, now);
    return true;
}

void
BatchScheduler::NameFilled(Sequence& sequence, TimePs now)
{
    if (!m_pool.prefixCaching || !sequence.request)
    {
        return;
    }
    std::vector<uint64_t> filled;
    while (sequence.named < sequence.computed / m_pool.blockTokens)
    {
        const auto content = sequence.request->ContentOf(sequence.named, m_pool.blockTokens);
        if (!content)
        {
            break;
        }
        m_blocks.Name(*content, now);
        ++sequence.named;
        filled.push_back(*content);
    }
    if (m_tiers && !filled.empty())
    {
        m_tiers->Write(filled, now);
    }
}

void
BatchScheduler::GiveBack(Sequence& sequence, TimePs now)
{
    m_blocks.GiveBack(sequence.blocks - sequence.named, now);
    // The end of a prefix is given up before its beginning.
    while (sequence.named > 0)
    {
        --sequence.named;
        m_blocks.Leave(*sequence.request->ContentOf(sequence.named, m_pool.blockTokens), now);
    }
    sequence.blocks = 0;
}

bool
BatchScheduler::Reserve(Sequence& sequence, uint64_t tokens, TimePs now)
{
    const uint64_t blocks = std::max(m_pool.BlocksOf(tokens), BlocksToBegin(sequence));
    const uint64_t cached = CountCached(sequence);
    // Those that were preempted here come first.
    if (!m_waiting.empty() || !m_swapped.empty() || !TakeWithCached(sequence, blocks, cached, now))
    {
        return false;
    }
    sequence.reservedBlocks = blocks;
    sequence.reservedNamed = cached;
    sequence.cachedThere = static_cast<uint32_t>(cached * m_pool.blockTokens);
    return true;
}

void
BatchScheduler::Admit(Sequence& sequence, TimePs now)
{
    sequence.blocks = sequence.reservedBlocks;
    sequence.named = sequence.reservedNamed;
    NameFilled(sequence, now);
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
    if (!m_pool.chunkedPrefill && !m_pool.mixedBatches)
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
        sequence.readyAt = ns3::AddPs(now, sequence.swapTime);
        m_swapped.pop_front();
        m_running.push_back(&sequence);
    }
}

void
BatchScheduler::AddPrompts(std::vector<BatchItem>& batch, TimePs now)
{
    const std::size_t decoding = batch.size();
    while (!m_waiting.empty() && m_swapped.empty() && m_budget > 0 &&
           m_running.size() < m_pool.maxSequences)
    {
        const auto next =
            m_waiting.begin() + static_cast<std::ptrdiff_t>(m_order->Choose(m_waiting, *this));
        Sequence& sequence = **next;
        const uint64_t blocks = BlocksToBegin(sequence);
        const uint64_t cached = CountCached(sequence);
        const uint64_t inTiers = CountInTiers(sequence, cached, now);
        const auto computed = static_cast<uint32_t>((cached + inTiers) * m_pool.blockTokens);
        const uint32_t missing = sequence.Tokens() - computed;
        uint32_t count = std::min(missing, m_budget);
        if (!m_pool.chunkedPrefill && count < missing)
        {
            if (batch.size() > decoding)
            {
                return;
            }
            count = missing; // a prompt above the limit is the only one of its step
        }
        if (!TakeWithCached(sequence, blocks, cached, now))
        {
            return;
        }
        sequence.blocks = blocks;
        sequence.named = cached;
        sequence.computed = computed;
        sequence.cached = sequence.scheduled < 0 ? computed : sequence.cached;
        m_waiting.erase(next);
        m_running.push_back(&sequence);
        std::shared_ptr<CacheLoad> load;
        if (m_tiers)
        {
            load = m_tiers->Load(sequence, cached, inTiers, BlocksThatHelp(sequence, m_pool), now);
        }
        if (load && !m_pool.loadsByLayer)
        {
            AwaitLoad(sequence, load);
            continue;
        }
        Add(batch, sequence, count);
        batch.back().load = std::move(load);
    }
}

void
BatchScheduler::AwaitLoad(Sequence& sequence, const std::shared_ptr<CacheLoad>& load)
{
    sequence.readyAt = load->ReadyAt().value_or(INT64_MAX);
    // The load keeps itself while its messages are under way.
    load->OnArrival([this, &sequence, load = std::weak_ptr(load)](uint32_t) {
        if (const auto ready = load.lock()->ReadyAt())
        {
            sequence.readyAt = std::max(*ready, m_now());
            m_wake();
        }
    });
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
        const bool speculates = sequence.generated > 0 && sequence.Missing() == 1;
        const uint32_t drafts = speculates ? m_pool.speculation.tokens : 0;
        if (drafts >= m_budget)
        {
            ++place;
            continue;
        }
        // Tokens of a draft beyond the output's end are not kept.
        const uint32_t kept =
            drafts > 0 ? std::min(1 + drafts, sequence.output - sequence.generated) : count;
        if (MakeRoom(place, kept, now))
        {
            Add(batch, sequence, count, drafts);
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
        if (Sequence* victim = ChooseVictim(place, now))
        {
            Preempt(*victim, now);
            continue;
        }
        if (place > 0)
        {
            Preempt(sequence, now);
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

Sequence*
BatchScheduler::ChooseVictim(std::size_t place, TimePs now) const
{
    std::vector<Sequence*> younger;
    std::copy_if(m_running.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                 m_running.end(),
                 std::back_inserter(younger),
                 [now](const Sequence* each) { return !each->inFlight && each->readyAt <= now; });
    return younger.empty() ? nullptr : younger[m_preemption->Choose(younger)];
}

void
BatchScheduler::Preempt(Sequence& sequence, TimePs now)
{
    Hold(sequence);
    Evict(sequence, now);
}

void
BatchScheduler::Evict(Sequence& sequence, TimePs now)
{
    GiveBack(sequence, now);
    ++sequence.preemptions;
    ++m_preemptions;
    m_hasPreempted = true;
    if (const auto perToken = m_preemption->GetSwapTime(sequence, m_tokenBytes))
    {
        sequence.swapTime = ns3::TimesPs(*perToken, sequence.computed);
        sequence.readyAt = ns3::AddPs(now, sequence.swapTime);
        m_swapped.push_front(&sequence);
        return;
    }
    sequence.computed = 0;
    m_waiting.push_front(&sequence);
}

void
BatchScheduler::Add(std::vector<BatchItem>& batch,
                    Sequence& sequence,
                    uint32_t count,
                    uint32_t drafts)
{
    const bool isSampled = count == sequence.Missing();
    // An instance that decodes has the prompt's keys and values before its first token of a
    // sequence.
    const bool isDecoding =
        (sequence.generated > 0 || m_pool.role == InstanceRole::Decode) && isSampled && count == 1;
    uint32_t sampled = isSampled;
    if (drafts > 0)
    {
        sampled = std::min(m_pool.speculation.TokensOf(sequence.verifications),
                           sequence.output - sequence.generated);
    }
    batch.push_back({&sequence, sequence.computed, count + drafts, isDecoding, sampled, drafts});
    sequence.inFlight = true;
    m_budget -= std::min(count + drafts, m_budget);
}

void
BatchScheduler::Complete(const BatchItem& item, TimePs now)
{
    Sequence& sequence = *item.sequence;
    sequence.inFlight = false;
    sequence.computed += item.drafts > 0 ? item.sampled : item.count;
    sequence.verifications += item.drafts > 0;
    NameFilled(sequence, now);
    sequence.generated += item.sampled;
}

void
BatchScheduler::Hold(Sequence& sequence)
{
    m_running.erase(std::ranges::find(m_running, &sequence));
}

void
BatchScheduler::Release(Sequence& sequence, TimePs now)
{
    GiveBack(sequence, now);
}

void
BatchScheduler::Remove(Sequence& sequence, TimePs now)
{
    Hold(sequence);
    Release(sequence, now);
}

void
BatchScheduler::Withdraw(Sequence& sequence, TimePs now)
{
    // One that waits for blocks from slower memories runs already.
    std::erase(m_waiting, &sequence);
    std::erase(m_running, &sequence);
    GiveBack(sequence, now);
}

std::vector<Sequence*>
BatchScheduler::Fail(TimePs now)
{
    std::vector<Sequence*> all;
    all.insert(all.end(), m_running.begin(), m_running.end());
    for (auto* queue : {&m_swapped, &m_arrived, &m_waiting})
    {
        all.insert(all.end(), queue->begin(), queue->end());
        queue->clear();
    }
    m_running.clear();
    for (Sequence* sequence : all)
    {
        GiveBack(*sequence, now);
        sequence->computed = 0;
        sequence->readyAt = 0;
        sequence->inFlight = false;
        ++sequence->restarts;
    }
    return all;
}

std::optional<TimePs>
BatchScheduler::GetNextWake(TimePs now) const
{
    std::optional<TimePs> wake;
    const auto consider = [&](const Sequence& sequence) {
        if (sequence.readyAt > now && sequence.readyAt < INT64_MAX)
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
