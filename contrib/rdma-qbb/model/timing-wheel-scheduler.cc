/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "timing-wheel-scheduler.h"

#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TimingWheelScheduler");

NS_OBJECT_ENSURE_REGISTERED(TimingWheelScheduler);

namespace
{

/// Up to this length an insertion moves elements of the sorted bucket; above it takes the heap.
constexpr std::size_t SHORT_BUCKET = 16;

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
                          UintegerValue(128),
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
    m_farShift = m_nearShift + std::countr_zero(m_near.heads.size());
}

void
TimingWheelScheduler::NodePool::Push(uint32_t& head, const Event& ev)
{
    uint32_t node = m_free;
    if (node == NIL)
    {
        node = static_cast<uint32_t>(m_nodes.size());
        m_nodes.push_back(Node{ev, head});
    }
    else
    {
        m_free = m_nodes[node].next;
        m_nodes[node] = Node{ev, head};
    }
    head = node;
}

inline void
TimingWheelScheduler::NodePool::Free(uint32_t node)
{
    m_nodes[node].next = m_free;
    m_free = node;
}

void
TimingWheelScheduler::Wheel::Resize(std::size_t buckets)
{
    heads.assign(buckets, NIL);
    occupied = OccupancyBitmap(buckets);
    mask = buckets - 1;
}

inline void
TimingWheelScheduler::Wheel::Push(NodePool& pool, uint64_t tick, const Event& ev)
{
    uint32_t& head = heads[tick & mask];
    if (head == NIL)
    {
        occupied.Set(tick & mask);
    }
    pool.Push(head, ev);
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
TimingWheelScheduler::Insert(const Event& ev)
{
    NS_LOG_FUNCTION(this << ev.impl << ev.key.m_ts << ev.key.m_uid);
    ++m_size;
    const uint64_t ts = ev.key.m_ts;
    const uint64_t farTick = ts >> m_farShift;
    if (ts < m_currentEnd)
    {
        InsertCurrent(ev);
    }
    else if (farTick == m_farTick)
    {
        m_near.Push(m_pool, ts >> m_nearShift, ev);
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
    if (m_current.size() > SHORT_BUCKET)
    {
        m_late.push_back(ev);
        std::push_heap(m_late.begin(), m_late.end(), Later());
        return;
    }
    InsertSorted(ev);
}

inline void
TimingWheelScheduler::InsertSorted(const Event& ev)
{
    m_current.push_back(ev);
    std::size_t i = m_current.size() - 1;
    for (; i > 0 && Earlier(m_current[i - 1], ev); --i)
    {
        m_current[i] = m_current[i - 1];
    }
    m_current[i] = ev;
}

bool
TimingWheelScheduler::IsEmpty() const
{
    return m_size == 0;
}

Scheduler::Event
TimingWheelScheduler::PeekNext() const
{
    NS_ASSERT(m_size > 0);
    if (m_current.empty() && m_late.empty())
    {
        // Moving to the next bucket changes how the events are kept, not which there are.
        auto self = const_cast<TimingWheelScheduler*>(this);
        self->SortIntoCurrent(self->AdvanceBucket());
    }
    if (m_late.empty() || (!m_current.empty() && Earlier(m_current.back(), m_late.front())))
    {
        return m_current.back();
    }
    return m_late.front();
}

Scheduler::Event
TimingWheelScheduler::RemoveNext()
{
    NS_LOG_FUNCTION(this);
    NS_ASSERT(m_size > 0);
    --m_size;
    if (m_current.empty() && m_late.empty())
    {
        const uint32_t list = AdvanceBucket();
        if (m_pool[list].next == NIL)
        {
            m_pool.Free(list);
            return m_pool[list].event;
        }
        SortIntoCurrent(list);
    }
    if (m_late.empty() || (!m_current.empty() && Earlier(m_current.back(), m_late.front())))
    {
        const Event next = m_current.back();
        m_current.pop_back();
        return next;
    }
    std::pop_heap(m_late.begin(), m_late.end(), Later());
    const Event next = m_late.back();
    m_late.pop_back();
    return next;
}

uint32_t
TimingWheelScheduler::AdvanceBucket()
{
    // Slots of the near wheel at or below the current one are empty: whatever is inserted there
    // goes to m_current. So a search need not wrap around.
    std::size_t slot = m_near.occupied.FindNext(m_nearTick & m_near.mask);
    if (slot == OccupancyBitmap::NONE)
    {
        AdvanceNearWheel();
        slot = m_near.occupied.FindNext(0);
    }
    m_nearTick = (m_nearTick & ~m_near.mask) + slot;
    m_currentEnd = (m_nearTick + 1) << m_nearShift;
    return m_near.Take(slot);
}

void
TimingWheelScheduler::AdvanceNearWheel()
{
    uint64_t farTick = m_far.FindAfter(m_farTick);
    if (farTick == UINT64_MAX)
    {
        farTick = m_heap.front().key.m_ts >> m_farShift;
    }
    m_farTick = farTick;
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
TimingWheelScheduler::SortIntoCurrent(uint32_t list)
{
    while (list != NIL)
    {
        const Node& node = m_pool[list];
        const uint32_t next = node.next;
        if (m_current.size() < SHORT_BUCKET)
        {
            InsertSorted(node.event);
        }
        else
        {
            m_current.push_back(node.event);
        }
        m_pool.Free(list);
        list = next;
    }
    if (m_current.size() > SHORT_BUCKET)
    {
        std::sort(m_current.begin(), m_current.end(), Later());
    }
}

void
TimingWheelScheduler::Remove(const Event& ev)
{
    NS_LOG_FUNCTION(this << ev.impl << ev.key.m_ts << ev.key.m_uid);
    NS_ASSERT(m_size > 0);
    const auto same = [&ev](const Event& other) { return other.key == ev.key; };
    const auto eraseFromHeap = [&same](std::vector<Event>& heap) {
        const auto found = std::find_if(heap.begin(), heap.end(), same);
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
        const auto found = std::find_if(m_current.begin(), m_current.end(), same);
        if (found != m_current.end())
        {
            m_current.erase(found);
            removed = true;
        }
        else
        {
            removed = eraseFromHeap(m_late);
        }
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
    m_size -= removed;
}

bool
TimingWheelScheduler::RemoveFromWheel(Wheel& wheel, uint64_t tick, const Event& ev)
{
    uint32_t& head = wheel.heads[tick & wheel.mask];
    for (uint32_t* link = &head; *link != NIL; link = &m_pool[*link].next)
    {
        const uint32_t node = *link;
        if (m_pool[node].event.key == ev.key)
        {
            *link = m_pool[node].next;
            m_pool.Free(node);
            if (head == NIL)
            {
                wheel.occupied.Clear(tick & wheel.mask);
            }
            return true;
        }
    }
    return false;
}

} // namespace ns3
