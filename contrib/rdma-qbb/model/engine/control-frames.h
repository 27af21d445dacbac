/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONTROL_FRAMES_H
#define CONTROL_FRAMES_H

#include "ns3/qbb-frame.h"

#include <cstdint>

namespace ns3
{

class QbbFramePool;

/**
 * @ingroup rdma-qbb
 * @brief Frames that a port sends ahead of all its queues, whatever is paused: PFC frames and
 * ordered sets, newest first, and behind them frames that the link sends again.
 */
class ControlFrames
{
  public:
    /// @return whether a frame waits
    explicit operator bool() const
    {
        return m_first;
    }

    /// @return the next frame, which is the caller's from now on; one waits
    QbbFrame* Take();
    /// Queue a PFC frame; one of the same priority that still waits takes the later quanta.
    void QueuePfc(QbbFramePool& pool, uint8_t priority, uint16_t quanta);
    /// Queue a message for the far end; one of the same use that still waits takes the newer value.
    void QueueOrderedSet(QbbFramePool& pool,
                         LinkControlType type,
                         uint8_t priority,
                         uint64_t value);
    /// Queue a frame behind the others.
    void QueueReplay(QbbFrame* frame);
    /// Free the frame of QueueReplay() if it still waits.
    void RemoveReplay(QbbFramePool& pool);
    /// Free all frames.
    void Clear(QbbFramePool& pool);

  private:
    /// @return the frame of this use that waits, or a new one ahead of the others
    QbbFrame& Find(QbbFramePool& pool, QbbFrameKind kind, uint8_t priority, LinkControlType use);

    QbbFrame* m_first{nullptr};
};

} // namespace ns3

#endif /* CONTROL_FRAMES_H */
