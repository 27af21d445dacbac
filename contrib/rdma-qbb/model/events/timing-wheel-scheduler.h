/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TIMING_WHEEL_SCHEDULER_H
#define TIMING_WHEEL_SCHEDULER_H

#include "fetch-lines.h"

#include "ns3/scheduler.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Set of the slots in use, with a fast search for the next one.
 *
 * Two levels of 64-bit words: a bit per slot, and above it a bit per word that is not zero. A
 * search reads at most two words plus one for each 4096 slots it passes over.
 */
class OccupancyBitmap
{
  public:
    static constexpr std::size_t NONE = SIZE_MAX; ///< result of FindNext() if it finds nothing

    /// Make @p slots slots, all free.
    explicit OccupancyBitmap(std::size_t slots = 0)
        : m_words((slots + 63) / 64),
          m_summary((m_words.size() + 63) / 64)
    {
    }

    /// Mark a slot as used.
    void Set(std::size_t slot)
    {
        const std::size_t word = slot / 64;
        m_words[word] |= Bit(slot);
        m_summary[word / 64] |= Bit(word);
    }

    /// Mark a slot as free.
    void Clear(std::size_t slot)
    {
        const std::size_t word = slot / 64;
        m_words[word] &= ~Bit(slot);
        if (!m_words[word])
        {
            m_summary[word / 64] &= ~Bit(word);
        }
    }

    /// @return the used slots among the 64 of the word that @p slot is in: a bit each
    [[nodiscard]] uint64_t WordOf(std::size_t slot) const
    {
        return m_words[slot / 64];
    }

    /// @return the first used slot that is @p from or above it, or NONE
    [[nodiscard]] std::size_t FindNext(std::size_t from) const
    {
        std::size_t word = from / 64;
        if (word >= m_words.size())
        {
            return NONE;
        }
        if (const uint64_t rest = m_words[word] & From(from))
        {
            return word * 64 + std::countr_zero(rest);
        }
        if (++word == m_words.size())
        {
            return NONE;
        }
        uint64_t rest = m_summary[word / 64] & From(word);
        for (std::size_t group = word / 64;; rest = m_summary[group])
        {
            if (rest)
            {
                word = group * 64 + std::countr_zero(rest);
                return word * 64 + std::countr_zero(m_words[word]);
            }
            if (++group == m_summary.size())
            {
                return NONE;
            }
        }
    }

  private:
    static uint64_t Bit(std::size_t index)
    {
        return uint64_t{1} << (index % 64);
    }

    /// @return the bits of a word at @p index and above it
    static uint64_t From(std::size_t index)
    {
        return ~uint64_t{0} << (index % 64);
    }

    std::vector<uint64_t> m_words;
    std::vector<uint64_t> m_summary;
};

// Hot path: Insert and RemoveNext run once per simulator event.

/**
 * @ingroup rdma-qbb
 * @brief An event scheduler for simulations with many events a short time ahead.
 *
 * Two wheels (Varghese and Lauck, SOSP 1987): a near one of narrow buckets, and a far one with
 * buckets each as wide as the whole near wheel; events beyond both are kept in a binary heap.
 * A bucket is an unsorted list of pooled nodes; it is sorted when time reaches it. Insertion and
 * removal take constant time as long as a bucket of the near wheel holds a few events, and nothing
 * is allocated once the pool has grown to the largest number of pending events.
 *
 * Events come out in exactly the order of every ns-3 scheduler: by time, then by uid. Select it
 * with the global value `SchedulerType` or with Simulator::SetScheduler().
 *
 * Limitation: Remove() searches linearly in the bucket of the event, or in the heap for an event
 * beyond both wheels. Simulator::Cancel() does not use it.
 */
class TimingWheelScheduler final : public Scheduler
{
  public:
    static TypeId GetTypeId();

    TimingWheelScheduler();
    ~TimingWheelScheduler() override;

    void Insert(const Event& ev) override
    {
        Insert(ev.impl, ev.key.m_ts, ev.key.m_uid, ev.key.m_context);
    }

    /// The same, with arguments that may be in registers.
    void Insert(EventImpl* impl, uint64_t ts, uint32_t uid, uint32_t context)
    {
        // One comparison for both ends of the near wheel: an earlier time wraps around.
        if (ts - m_currentEnd < m_nearSpan) [[likely]]
        {
            m_near.Push(m_pool, ts >> m_nearShift, impl, ts, uid, context);
            return;
        }
        InsertElsewhere(impl, ts, uid, context);
    }

    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event& ev) override;

    /// Take the next event out. @return false if there is none
    bool TakeNext(Event& next)
    {
        if (!m_late.empty()) [[unlikely]]
        {
            next = TakeWithLate(); // not by reference: so next may be in registers
            return true;
        }
        if (m_current == NIL && !FillCurrent())
        {
            return false;
        }
        next = TakeCurrent();
        return true;
    }

  protected:
    void NotifyConstructionCompleted() override;

  private:
    static constexpr uint32_t NIL = 0; ///< end of a list of nodes

    /// An event in a bucket: two in a cache line.
    struct alignas(32) Node
    {
        Event event;
        uint32_t next; ///< next node of the bucket or of the free list
    };

    /// A node of a bucket that is being sorted.
    struct SortedNode
    {
        uint64_t key;
        uint32_t node;
    };

    /// Nodes of all lists. Grows by doubling, never shrinks. NIL is a node, too, of no event.
    class NodePool
    {
      public:
        NodePool();

        /// Put an event in front of the list at @p head.
        void Push(uint32_t& head, EventImpl* impl, uint64_t ts, uint32_t uid, uint32_t context)
        {
            if (m_free == NIL) [[unlikely]]
            {
                Grow();
            }
            const uint32_t node = m_free;
            m_free = m_nodes[node].next;
            m_nodes[node] = Node{{impl, {ts, uid, context}}, head};
            head = node;
        }

        /// Put a node back that is in no list.
        void Free(uint32_t node)
        {
            m_nodes[node].next = m_free;
            m_free = node;
        }

        /// Bring a node into the cache.
        void FetchAhead(uint32_t node) const
        {
            __builtin_prefetch(&m_nodes[node]);
        }

        Node& operator[](uint32_t node)
        {
            return m_nodes[node];
        }

      private:
        void Grow();

        std::vector<Node> m_nodes;
        uint32_t m_free{NIL};
    };

    /// Buckets of equal width.
    struct Wheel
    {
        std::vector<uint32_t> heads; ///< a list per bucket
        OccupancyBitmap occupied;    ///< buckets with a list that is not empty
        uint64_t mask{0};            ///< number of buckets - 1

        void Resize(std::size_t buckets);

        void Push(NodePool& pool,
                  uint64_t tick,
                  EventImpl* impl,
                  uint64_t ts,
                  uint32_t uid,
                  uint32_t context)
        {
            const uint64_t slot = tick & mask;
            occupied.Set(slot); // without a check, which would cost more
            pool.Push(heads[slot], impl, ts, uid, context);
        }

        void Push(NodePool& pool, uint64_t tick, const Event& ev)
        {
            Push(pool, tick, ev.impl, ev.key.m_ts, ev.key.m_uid, ev.key.m_context);
        }

        bool IsEmpty() const
        {
            return occupied.FindNext(0) == OccupancyBitmap::NONE;
        }

        /// Empty a bucket. @return its list
        uint32_t Take(uint64_t slot);
        /// @return the first tick after @p tick, and less than one turn away, that holds events;
        /// UINT64_MAX if none does
        uint64_t FindAfter(uint64_t tick) const;
    };

    /// Orders by time and uid, latest first.
    struct Later
    {
        bool operator()(const Event& a, const Event& b) const
        {
            return b.key < a.key;
        }
    };

    /// Insert into the far wheel or the heap.
    void InsertElsewhere(EventImpl* impl, uint64_t ts, uint32_t uid, uint32_t context);
    /// Insert into the bucket being emptied, or before it.
    void InsertCurrent(const Event& ev);
    /// Fill m_current, which is empty, from the next bucket with events.
    /// @return false if there is none
    bool FillCurrent();
    /// Take the first of the list being emptied or of m_late.
    Event TakeWithLate();

    /// Take the first of the list being emptied.
    Event TakeCurrent()
    {
        const uint32_t node = m_current;
        const Event next = m_pool[node].event;
        m_current = m_pool[node].next;
        m_pool.Free(node);
        // Whether the bucket ends here is hard to predict: no branch.
        const uint32_t atEnd = -static_cast<uint32_t>(m_current == NIL);
        FetchLines<2>(m_pool[m_current | (m_nextList & atEnd)].event.impl);
        m_fetched = m_pool[m_fetched].next; // a list is followed one node after the other
        m_pool.FetchAhead(m_fetched);
        return next;
    }

    /// Move time to the next bucket that holds events. @return its list; NIL if there is none
    uint32_t AdvanceBucket();
    /// @return the next slot of the near wheel that holds events, after @p slot; NONE if none does
    std::size_t FindFarther(std::size_t slot);
    /// Guess the next event. @param used slots in use from @p word on, a bit each
    void GuessNext(std::size_t word, uint64_t used);
    /// Fill the near wheel with the next stretch of time that holds events. @return false if there
    /// is none
    bool AdvanceNearWheel();
    /// Move events from the heap to the far wheel that it reaches now.
    void PullFromHeap();
    /// @return a bucket's list in order
    uint32_t Sort(uint32_t list);
    /// The same for a long list.
    uint32_t SortLong(uint32_t list);
    void UpdateNearEnd();
    /// Take an event out of a bucket's list. @return false if it is not there
    bool RemoveFromWheel(Wheel& wheel, uint64_t tick, const Event& ev);
    bool RemoveFromList(uint32_t& head, const Event& ev);

    // The containers of events, in the order of their times.
    uint32_t m_nextList{NIL};  ///< the bucket after m_current's, when that was filled: a guess
    uint32_t m_fetched{NIL};   ///< node of that list fetched ahead last
    uint32_t m_current{NIL};   ///< list of events before m_currentEnd, earliest first
    uint64_t m_currentEnd{0};  ///< end of the bucket that m_current came from
    uint64_t m_nearSpan{0};    ///< from there to m_nearEnd
    std::vector<Event> m_late; ///< heap of events that belong far behind m_current's first
    Wheel m_near;              ///< events up to the end of far tick m_farTick
    Wheel m_far;               ///< events of the following turn of the far wheel
    std::vector<Event> m_heap; ///< later events

    NodePool m_pool;
    std::vector<SortedNode> m_sorting; ///< kept for its memory
    uint64_t m_nearEnd{0};             ///< end of the near wheel
    uint64_t m_nearTick{0};            ///< bucket of the near wheel that m_current came from
    uint64_t m_farTick{0};             ///< bucket of the far wheel that the near wheel holds
    uint32_t m_nearShift{0};           ///< log2 of a near bucket's width
    uint32_t m_farShift{0};            ///< log2 of a far bucket's width

    uint64_t m_bucketWidth{0};
    uint32_t m_buckets{0};
    uint32_t m_farBuckets{0};
};

} // namespace ns3

#endif /* TIMING_WHEEL_SCHEDULER_H */
