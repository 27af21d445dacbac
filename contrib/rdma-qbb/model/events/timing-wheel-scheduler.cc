/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "timing-wheel-scheduler.h"

#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <boost/sort/pdqsort/pdqsort.hpp>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TimingWheelScheduler");

// Events are in one of four places by their time: the current bucket (m_current, a sorted list),
// the near wheel, the far wheel (each bucket spans one turn of the near wheel), and a heap for
// all beyond. Insertion into a wheel pushes onto the bucket's list, unsorted. RemoveNext() takes
// the head of the current list; when the list is empty, FillCurrent() takes the next used bucket
// of the near wheel, found by a bitmap, and sorts it. Buckets mostly hold a few events in order
// or in reverse, which Sort() handles in one pass; longer disorder goes to SortLong(). At the
// end of a turn AdvanceNearWheel() spreads the next far bucket over the near wheel. Events
// inserted into the current bucket late are put in place if that is near its front, else into a
// small heap (m_late).

NS_OBJECT_ENSURE_REGISTERED(TimingWheelScheduler);

namespace
{

/// Nodes that an insertion into a sorted list passes at most; then it takes a heap, or a sort.
constexpr uint32_t SHORT_WALK = 16;

bool
Earlier(const Scheduler::Event& a, const Scheduler::Event& b)
{
    return a.key < b.key;
}

} // namespace

TypeId
TimingWheelScheduler::GetTypeId()
{
    // Widths are plain integers since a Time attribute's default below the resolution that is in
    // force when TypeIds register (nanoseconds) would become zero.
    static TypeId tid =
        TypeId("ns3::TimingWheelScheduler")
            .SetParent<Scheduler>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<TimingWheelScheduler>()
            .AddAttribute("BucketWidth",
                          "Width of a near bucket in units of the time resolution (picoseconds in "
                          "our programs), rounded up to a power of two",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(256),
                          MakeUintegerAccessor(&TimingWheelScheduler::m_bucketWidth),
                          MakeUintegerChecker<uint64_t>(1, uint64_t{1} << 30))
            .AddAttribute("Buckets",
                          "Number of near buckets, rounded up to a power of two",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(32768),
                          MakeUintegerAccessor(&TimingWheelScheduler::m_buckets),
                          MakeUintegerChecker<uint32_t>(1, 1U << 24))
            .AddAttribute("FarBuckets",
                          "Number of far buckets, each as wide as all near buckets together, "
                          "rounded up to a power of two",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(4096),
                          MakeUintegerAccessor(&TimingWheelScheduler::m_farBuckets),
                          MakeUintegerChecker<uint32_t>(2, 1U << 24));
    return tid;
}

TimingWheelScheduler::TimingWheelScheduler()
{
    NS_LOG_FUNCTION(this);
}

TimingWheelScheduler::~TimingWheelScheduler()
{
    NS_LOG_FUNCTION(this);
}

void
TimingWheelScheduler::NotifyConstructionCompleted()
{
    Scheduler::NotifyConstructionCompleted();
    m_near.Resize(std::bit_ceil(m_buckets));
    m_far.Resize(std::bit_ceil(m_farBuckets));
    m_nearShift = std::countr_zero(std::bit_ceil(m_bucketWidth));
    m_farShift = m_nearShift + std::countr_zero(m_near.mask + 1);
    UpdateNearEnd();
}

TimingWheelScheduler::NodePool::NodePool()
    : m_nodes(1)
{
    // FetchAhead() fetches this object at the end of a list, and so needs no check for that.
    m_nodes[NIL].event.impl = reinterpret_cast<EventImpl*>(this);
}

void
TimingWheelScheduler::NodePool::Grow()
{
    const std::size_t size = m_nodes.size();
    m_nodes.resize(std::max<std::size_t>(64, 2 * size));
    for (std::size_t node = m_nodes.size(); node-- > size;)
    {
        Free(static_cast<uint32_t>(node));
    }
}

void
TimingWheelScheduler::Wheel::Resize(std::size_t buckets)
{
    heads.assign(std::max<std::size_t>(buckets, 64), NIL); // GuessNext() looks at whole words
    occupied = OccupancyBitmap(buckets);
    mask = buckets - 1;
}

inline uint32_t
TimingWheelScheduler::Wheel::Take(uint64_t slot)
{
    occupied.Clear(slot);
    return std::exchange(heads[slot], NIL);
}

uint64_t
TimingWheelScheduler::Wheel::FindAfter(uint64_t tick) const
{
    const uint64_t slot = tick & mask;
    std::size_t found = occupied.FindNext(slot + 1);
    if (found != OccupancyBitmap::NONE)
    {
        return tick + (found - slot);
    }
    found = occupied.FindNext(0);
    return found < slot ? tick + (found + mask + 1 - slot) : UINT64_MAX;
}

void
TimingWheelScheduler::UpdateNearEnd()
{
    m_nearEnd = (m_farTick + 1) << m_farShift;
    m_nearSpan = m_nearEnd - m_currentEnd;
}

bool
TimingWheelScheduler::IsEmpty() const
{
    return m_current == NIL && m_late.empty() && m_near.IsEmpty() && m_far.IsEmpty() &&
           m_heap.empty();
}

void
TimingWheelScheduler::InsertElsewhere(EventImpl* impl, uint64_t ts, uint32_t uid, uint32_t context)
{
    const Event ev{impl, {ts, uid, context}};
    const uint64_t farTick = ev.key.m_ts >> m_farShift;
    if (ev.key.m_ts < m_currentEnd)
    {
        InsertCurrent(ev);
    }
    else if (farTick - m_farTick <= m_far.mask)
    {
        m_far.Push(m_pool, farTick, ev);
    }
    else
    {
        m_heap.push_back(ev);
        std::push_heap(m_heap.begin(), m_heap.end(), Later());
    }
}

void
TimingWheelScheduler::InsertCurrent(const Event& ev)
{
    uint32_t before = NIL;
    uint32_t after = m_current;
    for (uint32_t steps = 0; after != NIL && Earlier(m_pool[after].event, ev); ++steps)
    {
        if (steps == SHORT_WALK)
        {
            m_late.push_back(ev);
            std::push_heap(m_late.begin(), m_late.end(), Later());
            return;
        }
        before = after;
        after = m_pool[after].next;
    }
    // may move the nodes
    m_pool.Push(after, ev.impl, ev.key.m_ts, ev.key.m_uid, ev.key.m_context);
    (before == NIL ? m_current : m_pool[before].next) = after;
}

Scheduler::Event
TimingWheelScheduler::PeekNext() const
{
    NS_ASSERT(!IsEmpty());
    if (m_current == NIL && m_late.empty())
    {
        // Moving to the next bucket changes how the events are kept, not which there are.
        const_cast<TimingWheelScheduler*>(this)->FillCurrent();
    }
    const auto self = const_cast<TimingWheelScheduler*>(this);
    if (m_late.empty() ||
        (m_current != NIL && Earlier(self->m_pool[m_current].event, m_late.front())))
    {
        return self->m_pool[m_current].event;
    }
    return m_late.front();
}

Scheduler::Event
TimingWheelScheduler::RemoveNext()
{
    Event next;
    const bool taken = TakeNext(next);
    NS_ASSERT(taken);
    return next;
}

Scheduler::Event
TimingWheelScheduler::TakeWithLate()
{
    if (m_current != NIL && Earlier(m_pool[m_current].event, m_late.front()))
    {
        return TakeCurrent();
    }
    std::pop_heap(m_late.begin(), m_late.end(), Later());
    const Event next = m_late.back();
    m_late.pop_back();
    return next;
}

bool
TimingWheelScheduler::FillCurrent()
{
    const uint32_t list = AdvanceBucket();
    m_current = m_pool[list].next == NIL ? list : Sort(list);
    return m_current != NIL;
}

uint32_t
TimingWheelScheduler::Sort(uint32_t list)
{
    // Events inserted in order come in the opposite order, since a bucket is a stack, or, from the
    // far wheel, in order again: the place is nearly always at one end, sometimes at the other.
    uint32_t sorted = list;
    uint32_t last = list;
    uint32_t steps = 0;
    for (uint32_t node = std::exchange(m_pool[list].next, NIL); node != NIL;)
    {
        const uint32_t next = m_pool[node].next;
        const Event& ev = m_pool[node].event;
        if (Earlier(ev, m_pool[sorted].event)) [[likely]]
        {
            m_pool[node].next = std::exchange(sorted, node);
            node = next;
            continue;
        }
        uint32_t* place = &m_pool[sorted].next;
        if (Earlier(m_pool[last].event, ev))
        {
            place = &m_pool[last].next;
            last = node;
        }
        while (*place != NIL && Earlier(m_pool[*place].event, ev))
        {
            place = &m_pool[*place].next;
            if (++steps > 4 * SHORT_WALK)
            {
                // The rest may hang anywhere: the whole bucket is sorted.
                m_pool[last].next = node;
                return SortLong(sorted);
            }
        }
        m_pool[node].next = *place;
        *place = node;
        node = next;
    }
    return sorted;
}

uint32_t
TimingWheelScheduler::SortLong(uint32_t list)
{
    // All are of one near bucket: a word has the time in it and the uid.
    const uint64_t inBucket = (uint64_t{1} << m_nearShift) - 1;
    m_sorting.clear();
    for (uint32_t node = list; node != NIL; node = m_pool[node].next)
    {
        const EventKey& key = m_pool[node].event.key;
        m_sorting.push_back({(key.m_ts & inBucket) << 32 | key.m_uid, node});
    }
    // In a run with partitions, many events of one time come in any order: no branches on that.
    boost::sort::pdqsort_branchless(
        m_sorting.begin(),
        m_sorting.end(),
        [](const SortedNode& a, const SortedNode& b) { return a.key < b.key; });
    uint32_t first = NIL;
    for (auto node = m_sorting.rbegin(); node != m_sorting.rend(); ++node)
    {
        m_pool[node->node].next = std::exchange(first, node->node);
    }
    return first;
}

inline uint32_t
TimingWheelScheduler::AdvanceBucket()
{
    // Slots of the near wheel at or below the current one are empty: events inserted there
    // go to m_current. So a search need not wrap around.
    std::size_t slot = m_nearTick & m_near.mask;
    uint64_t used = m_near.occupied.WordOf(slot);
    if (used) [[likely]]
    {
        slot = (slot & ~std::size_t{63}) + std::countr_zero(used);
    }
    else
    {
        slot = FindFarther(slot);
        if (slot == OccupancyBitmap::NONE)
        {
            return NIL;
        }
        used = m_near.occupied.WordOf(slot);
    }
    m_nearTick = (m_nearTick & ~m_near.mask) + slot;
    m_currentEnd = (m_nearTick + 1) << m_nearShift;
    m_nearSpan = m_nearEnd - m_currentEnd;
    GuessNext(slot & ~std::size_t{63}, used & (used - 1));
    return m_near.Take(slot);
}

inline void
TimingWheelScheduler::GuessNext(std::size_t word, uint64_t used)
{
    // A search beyond the word costs more than the guess is worth, and so does a check for further
    // buckets in it: the last one, which may be empty, stands for none.
    constexpr uint64_t LAST = uint64_t{1} << 63;
    m_nextList = m_near.heads[word + std::countr_zero(used | LAST)];
    m_fetched = m_nextList;
    used &= used - 1;
    m_pool.FetchAhead(m_near.heads[word + std::countr_zero(used | LAST)]);
}

std::size_t
TimingWheelScheduler::FindFarther(std::size_t slot)
{
    slot = m_near.occupied.FindNext(slot);
    if (slot == OccupancyBitmap::NONE && AdvanceNearWheel())
    {
        slot = m_near.occupied.FindNext(0);
    }
    return slot;
}

bool
TimingWheelScheduler::AdvanceNearWheel()
{
    uint64_t farTick = m_far.FindAfter(m_farTick);
    if (farTick == UINT64_MAX)
    {
        if (m_heap.empty())
        {
            return false;
        }
        farTick = m_heap.front().key.m_ts >> m_farShift;
    }
    m_farTick = farTick;
    UpdateNearEnd();
    m_nearTick = farTick << (m_farShift - m_nearShift);
    PullFromHeap();
    for (uint32_t node = m_far.Take(farTick & m_far.mask); node != NIL;)
    {
        const Event ev = m_pool[node].event;
        const uint32_t next = m_pool[node].next;
        m_pool.Free(node);
        m_near.Push(m_pool, ev.key.m_ts >> m_nearShift, ev);
        node = next;
    }
    return true;
}

void
TimingWheelScheduler::PullFromHeap()
{
    while (!m_heap.empty() && (m_heap.front().key.m_ts >> m_farShift) - m_farTick <= m_far.mask)
    {
        std::pop_heap(m_heap.begin(), m_heap.end(), Later());
        m_far.Push(m_pool, m_heap.back().key.m_ts >> m_farShift, m_heap.back());
        m_heap.pop_back();
    }
}

void
TimingWheelScheduler::Remove(const Event& ev)
{
    NS_LOG_FUNCTION(this << ev.impl << ev.key.m_ts << ev.key.m_uid);
    const auto same = [&ev](const Event& other) { return other.key == ev.key; };
    const auto eraseFromHeap = [&same](std::vector<Event>& heap) {
        const auto found = std::ranges::find_if(heap, same);
        if (found == heap.end())
        {
            return false;
        }
        *found = heap.back();
        heap.pop_back();
        std::make_heap(heap.begin(), heap.end(), Later());
        return true;
    };

    bool removed = false;
    const uint64_t farTick = ev.key.m_ts >> m_farShift;
    if (ev.key.m_ts < m_currentEnd)
    {
        removed = RemoveFromList(m_current, ev) || eraseFromHeap(m_late);
    }
    else if (farTick == m_farTick)
    {
        removed = RemoveFromWheel(m_near, ev.key.m_ts >> m_nearShift, ev);
    }
    else if (farTick - m_farTick <= m_far.mask)
    {
        removed = RemoveFromWheel(m_far, farTick, ev);
    }
    else
    {
        removed = eraseFromHeap(m_heap);
    }
    NS_ASSERT_MSG(removed, "an event was to be removed that is not scheduled");
}

bool
TimingWheelScheduler::RemoveFromWheel(Wheel& wheel, uint64_t tick, const Event& ev)
{
    uint32_t& head = wheel.heads[tick & wheel.mask];
    const bool removed = RemoveFromList(head, ev);
    if (removed && head == NIL)
    {
        wheel.occupied.Clear(tick & wheel.mask);
    }
    return removed;
}

bool
TimingWheelScheduler::RemoveFromList(uint32_t& head, const Event& ev)
{
    for (uint32_t* link = &head; *link != NIL; link = &m_pool[*link].next)
    {
        const uint32_t node = *link;
        if (m_pool[node].event.key == ev.key)
        {
            *link = m_pool[node].next;
            m_pool.Free(node);
            return true;
        }
    }
    return false;
}

} // namespace ns3
