/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "control-frames.h"

#include "qbb-frame-pool.h"

#include <utility>

namespace ns3
{

namespace
{

/// @return the use of an ordered set: a NACK is an acknowledgement, too
LinkControlType
UseOf(LinkControlType type)
{
    return type == LinkControlType::Nack ? LinkControlType::Ack : type;
}

} // namespace

QbbFrame*
ControlFrames::Take()
{
    return std::exchange(m_first, m_first->next);
}

QbbFrame&
ControlFrames::Find(QbbFramePool& pool, QbbFrameKind kind, uint8_t priority, LinkControlType use)
{
    for (QbbFrame* frame = m_first; frame; frame = frame->next)
    {
        if (frame->kind == kind && frame->priority == priority &&
            UseOf(static_cast<LinkControlType>(frame->controlType)) == use)
        {
            return *frame;
        }
    }
    QbbFrame* frame = pool.Allocate();
    frame->kind = kind;
    frame->priority = priority;
    frame->controlType = static_cast<uint16_t>(use);
    frame->next = std::exchange(m_first, frame);
    return *frame;
}

void
ControlFrames::QueuePfc(QbbFramePool& pool, uint8_t priority, uint16_t quanta)
{
    QbbFrame& frame = Find(pool, QbbFrameKind::Pfc, priority, {});
    frame.quanta = quanta;
    frame.wireBytes = QbbFrame::MIN_WIRE_BYTES;
}

void
ControlFrames::QueueOrderedSet(QbbFramePool& pool,
                               LinkControlType type,
                               uint8_t priority,
                               uint64_t value)
{
    QbbFrame& frame = Find(pool, QbbFrameKind::LinkControl, priority, UseOf(type));
    if (value > frame.value || type == LinkControlType::Nack)
    {
        frame.controlType = static_cast<uint16_t>(type);
    }
    frame.value = value;
    frame.wireBytes = QbbFrame::ORDERED_SET_BYTES;
}

void
ControlFrames::QueueReplay(QbbFrame* frame)
{
    QbbFrame** end = &m_first;
    while (*end)
    {
        end = &(*end)->next;
    }
    frame->next = nullptr;
    *end = frame;
}

void
ControlFrames::RemoveReplay(QbbFramePool& pool)
{
    for (QbbFrame** at = &m_first; *at; at = &(*at)->next)
    {
        if ((*at)->replayed)
        {
            QbbFrame* frame = *at;
            *at = frame->next;
            pool.Free(frame);
            return;
        }
    }
}

void
ControlFrames::Clear(QbbFramePool& pool)
{
    while (m_first)
    {
        pool.Free(Take());
    }
}

} // namespace ns3
