/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BATCH_SCHEDULER_H
#define BATCH_SCHEDULER_H

#include "astra-frontend/model/inference/cache/kv-block-pool.h"
#include "astra-frontend/model/inference/cache/tiered-cache.h"
#include "astra-frontend/model/inference/input/serving-config.h"

#include "ns3/capacity-policy.h"
#include "ns3/preemption.h"
#include "ns3/queue-order.h"
#include "ns3/sequence.h"
#include "ns3/serving-replica.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/// A step's work for one sequence.
struct BatchItem
{
    Sequence* sequence;
    uint32_t before; ///< tokens in its cache
    uint32_t count;  ///< tokens that are computed
    bool isDecoding;
    uint32_t sampled;                  ///< tokens of the output that the step makes
    uint32_t drafts;                   ///< of those computed, tokens that a draft has proposed
    std::shared_ptr<CacheLoad> load{}; ///< blocks that come while the step computes, or null
};

/**
 * @ingroup astra-frontend
 * @brief Continuous batching on one replica, as vLLM does it.
 *
 * With chunked prefill a step adds a token to every running sequence, oldest first, and fills the
 * rest of max_num_batched_tokens with parts of prompts (Sarathi-Serve, arXiv 2403.02310). Without
 * it, a step computes whole prompts if any can begin, and only else decodes (Orca's order, vLLM's
 * before chunks). QueueOrder chooses the sequence that begins next, and CapacityPolicy the blocks
 * that it begins with. If a running sequence needs a block and none is free, sequences whose cache
 * has arrived and that do not run yet give up their blocks first; then Preemption chooses one.
 *
 * A prompt skips the blocks at its beginning that are in the cache already. A full block can be
 * shared once the step that computes it has ended.
 *
 * With speculative decoding, a step verifies a draft's tokens for each decoding sequence. Its cache
 * and its output grow by the accepted ones: k steps add k times the expected number, rounded down.
 * A sequence waits if the step has no room for all of its draft.
 *
 * With a pipeline, steps overlap, and each takes its share of the sequences.
 */
class BatchScheduler : public ServingReplica
{
  public:
    /**
     * @param pool borrowed
     * @param tokenBytes of one token's keys and values, on a rank
     */
    BatchScheduler(const InstancePool& pool, double tokenBytes);

    /// Keep blocks outside the GPUs, too.
    /// @param wake is called when the last message of a cache has come that a sequence waits for
    void UseTiers(const ServingConfig& config,
                  std::vector<CacheRank> ranks,
                  RemoteCache* remote,
                  std::function<TimePs()> now,
                  std::function<void()> wake);

    /// @return the blocks outside the GPUs, or null
    const TieredCache* GetTiers() const
    {
        return m_tiers.get();
    }

    /// @p sequence waits for its prompt to be computed.
    void Enqueue(Sequence& sequence);

    /// Take blocks for a cache of @p tokens from another instance. @return whether enough are free
    bool Reserve(Sequence& sequence, uint64_t tokens, TimePs now);

    /// The cache of @p sequence is here, in the blocks that were reserved.
    void Admit(Sequence& sequence, TimePs now);

    /// @return the items of the next step; empty if there is nothing to do now
    std::vector<BatchItem> Form(TimePs now);

    /// The step of @p item has ended: its tokens are in the cache, and a sampled one is made.
    void Complete(const BatchItem& item, TimePs now);

    /// Stop running @p sequence, which keeps its blocks until Release().
    void Hold(Sequence& sequence);

    /// Give back the blocks of a held sequence.
    void Release(Sequence& sequence, TimePs now);

    /// @p sequence has ended.
    void Remove(Sequence& sequence, TimePs now);

    /// Give up @p sequence, whose first step has not begun.
    void Withdraw(Sequence& sequence, TimePs now);

    /// The replica has failed. @return its sequences, which have no cache any more; those of steps
    /// under way first, then as they would have begun
    std::vector<Sequence*> Fail(TimePs now);

    /// The blocks on its GPUs that no sequence uses are lost.
    void ForgetCache()
    {
        m_blocks.ForgetIdle();
    }

    /// @return when the next sequence has moved to or from the host; nothing if none moves
    std::optional<TimePs> GetNextWake(TimePs now) const;

    uint64_t GetLoad() const override;
    int64_t GetFreeBlocks() const override;
    uint64_t CountCached(const Sequence& sequence) const override;

    uint64_t CountMissing(const Sequence& sequence) const override
    {
        return m_pool.BlocksOf(sequence.Tokens()) - CountCached(sequence);
    }

    const std::vector<Sequence*>& GetRunning() const
    {
        return m_running;
    }

    const KvBlockPool& GetBlocks() const
    {
        return m_blocks;
    }

    uint64_t GetPreemptions() const
    {
        return m_preemptions;
    }

    std::size_t CountRunning() const override
    {
        return m_running.size();
    }

    std::size_t CountWaiting() const override
    {
        return m_waiting.size() + m_swapped.size() + m_arrived.size();
    }

  private:
    void AdmitArrived();
    void AdmitSwapped(TimePs now);
    void AddPrompts(std::vector<BatchItem>& batch, TimePs now);
    void AddRunning(std::vector<BatchItem>& batch, TimePs now);
    bool MakeRoom(std::size_t place, uint32_t count, TimePs now);
    Sequence* ChooseVictim(std::size_t place, TimePs now) const;
    void Preempt(Sequence& sequence, TimePs now);
    void Evict(Sequence& sequence, TimePs now);
    void Add(std::vector<BatchItem>& batch,
             Sequence& sequence,
             uint32_t count,
             uint32_t drafts = 0);
    uint64_t BlocksToBegin(const Sequence& sequence) const;
    uint64_t NeededBlocks(const Sequence& sequence, uint64_t tokens) const;
    bool TakeWithCached(const Sequence& sequence, uint64_t blocks, uint64_t cached, TimePs now);
    uint64_t CountInTiers(const Sequence& sequence, uint64_t cached, TimePs now) const;
    void AwaitLoad(Sequence& sequence, const std::shared_ptr<CacheLoad>& load);
    void NameFilled(Sequence& sequence, TimePs now);
    void GiveBack(Sequence& sequence, TimePs now);

    const InstancePool& m_pool;
    double m_tokenBytes;
    std::unique_ptr<QueueOrder> m_order;
    std::unique_ptr<CapacityPolicy> m_capacity;
    std::unique_ptr<Preemption> m_preemption;
    KvBlockPool m_blocks;
    std::unique_ptr<TieredCache> m_tiers; ///< null: the GPUs alone keep blocks
    std::function<TimePs()> m_now;
    std::function<void()> m_wake;
    std::vector<Sequence*> m_running; ///< oldest first
    std::deque<Sequence*> m_waiting;  ///< to be computed, and without blocks
    std::deque<Sequence*> m_swapped;
    std::deque<Sequence*> m_arrived; ///< with caches from other instances
    uint32_t m_budget{0};            ///< tokens that the step may still add
    bool m_hasPreempted{false};      ///< while the step is formed
    uint64_t m_preemptions{0};
};

} // namespace AstraSim

#endif /* BATCH_SCHEDULER_H */
