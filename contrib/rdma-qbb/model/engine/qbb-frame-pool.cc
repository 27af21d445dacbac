/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-frame-pool.h"

#include "ns3/assert.h"
#include "ns3/packet.h"

#include <iterator>

namespace ns3
{

QbbFramePool::~QbbFramePool() = default;

void
QbbFramePool::GrowFrames()
{
    auto slab = std::make_unique<Slab<QbbFrame>>();
    for (QbbFrame& frame : slab->items)
    {
        frame.next = m_freeFrames;
        m_freeFrames = &frame;
    }
    m_frameSlabs.push_back(std::move(slab));
}

QbbTelemetry*
QbbFramePool::AllocateTelemetry()
{
    if (!m_freeTelemetry)
    {
        auto slab = std::make_unique<Slab<QbbTelemetry>>();
        for (QbbTelemetry& telemetry : slab->items)
        {
            telemetry.next = m_freeTelemetry;
            m_freeTelemetry = &telemetry;
        }
        m_telemetrySlabs.push_back(std::move(slab));
    }
    QbbTelemetry* telemetry = m_freeTelemetry;
    m_freeTelemetry = telemetry->next;
    telemetry->next = nullptr;
    telemetry->sentPs = QbbTelemetry::NEVER;
    telemetry->receivedPs = 0;
    telemetry->acknowledgedPs = 0;
    telemetry->namedMtus = 0;
    telemetry->hopCount = 0;
    telemetry->switchCount = 0;
    telemetry->pintPower = 0;
    telemetry->wantsHops = false;
    telemetry->routingField = 0;
    telemetry->transportField = 0;
    telemetry->answerField = 0;
    return telemetry;
}

void
QbbFramePool::AddHopBehind(QbbTelemetry& telemetry, const QbbIntHop& hop)
{
    QbbTelemetry* part = &telemetry;
    uint32_t index = telemetry.hopCount++;
    for (; index >= QbbTelemetry::PART_HOPS; index -= QbbTelemetry::PART_HOPS)
    {
        if (!part->next)
        {
            part->next = AllocateTelemetry();
        }
        part = part->next;
    }
    part->hops[index] = hop;
}

QbbTelemetry*
QbbFramePool::CopyTelemetry(const QbbTelemetry& telemetry)
{
    QbbTelemetry* first = nullptr;
    QbbTelemetry** end = &first;
    for (const QbbTelemetry* part = &telemetry; part; part = part->next)
    {
        *end = AllocateTelemetry();
        **end = *part;
        end = &(*end)->next;
    }
    *end = nullptr;
    return first;
}

void
QbbFramePool::FreeCargo(QbbFrame* frame)
{
    if (frame->kind == QbbFrameKind::Other)
    {
        static_cast<Packet*>(frame->packet)->Unref();
        frame->packet = nullptr;
        return;
    }
    QbbTelemetry* last = frame->telemetry;
    while (last->next)
        [[unlikely]]
        {
            last = last->next;
        }
    last->next = m_freeTelemetry;
    m_freeTelemetry = frame->telemetry;
    frame->telemetry = nullptr;
}

QbbFrame*
QbbFramePool::Take(QbbFrame* frame, QbbFramePool& from)
{
    QbbFrame* mine = Allocate();
    *mine = *frame;
    if (frame->kind == QbbFrameKind::Other)
    {
        frame->packet = nullptr; // the copy owns the reference now
    }
    else if (frame->telemetry)
    {
        mine->telemetry = CopyTelemetry(*frame->telemetry);
    }
    from.Free(frame);
    return mine;
}

Ptr<QbbFramePool>
QbbFramePool::Resolve()
{
    Ptr<QbbFramePool> pool(this);
    while (pool->m_mergedInto)
    {
        pool = pool->m_mergedInto;
    }
    return pool;
}

Ptr<QbbFramePool>
QbbFramePool::Merge(Ptr<QbbFramePool> a, Ptr<QbbFramePool> b)
{
    a = a->Resolve();
    b = b->Resolve();
    if (a == b)
    {
        return a;
    }
    // The smaller joins the larger, so that no chain is longer than the logarithm of the ports.
    if (a->m_members < b->m_members)
    {
        std::swap(a, b);
    }
    a->m_members += b->m_members;
    while (b->m_freeFrames)
    {
        QbbFrame* frame = b->m_freeFrames;
        b->m_freeFrames = frame->next;
        frame->next = a->m_freeFrames;
        a->m_freeFrames = frame;
    }
    while (b->m_freeTelemetry)
    {
        QbbTelemetry* telemetry = b->m_freeTelemetry;
        b->m_freeTelemetry = telemetry->next;
        telemetry->next = a->m_freeTelemetry;
        a->m_freeTelemetry = telemetry;
    }
    std::move(b->m_frameSlabs.begin(), b->m_frameSlabs.end(), std::back_inserter(a->m_frameSlabs));
    std::move(b->m_telemetrySlabs.begin(),
              b->m_telemetrySlabs.end(),
              std::back_inserter(a->m_telemetrySlabs));
    b->m_frameSlabs.clear();
    b->m_telemetrySlabs.clear();
    a->m_engine = a->m_engine ? a->m_engine : b->m_engine;
    a->m_inUse += b->m_inUse;
    b->m_inUse = 0;
    b->m_mergedInto = a;
    return a;
}

} // namespace ns3
