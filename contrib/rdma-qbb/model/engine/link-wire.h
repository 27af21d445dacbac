/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_WIRE_H
#define LINK_WIRE_H

#include "ns3/qbb-frame.h"
#include "ns3/qbb-simulator-impl.h"

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ns3
{

class LinkAgenda;
class LinkGuard;
class LinkNode;
class LinkPort;
class QbbFramePool;

// Hot path: Put and Fire run once per packet and hop and touch no device.

/**
 * @ingroup rdma-qbb
 * @brief One direction of a link: the frames that a port has sent and the far end lacks.
 *
 * Frames arrive in the order in which they were sent, so only the first one is scheduled, and the
 * wire itself is that event.
 */
class alignas(64) LinkWire final : public QbbTimedEvent
{
  public:
    /// @param sender the port that frames come from
    explicit LinkWire(LinkPort* sender);
    ~LinkWire() override;

    /**
     * Say where frames go.
     * @param receiver the port at the far end, which is at a node
     * @param lossy whether frames may be lost
     * @param elsewhere whether the far end is in another partition: frames are then the far end's
     * once they are on the wire, every arrival is an event, and neither end touches the other
     * @param inWindows whether partitions are run in windows
     */
    void Connect(LinkPort* receiver, bool lossy, bool elsewhere, bool inWindows);

    /// Set the random draw that says whether a frame is lost.
    void SetLoss(std::function<bool()> loses)
    {
        m_loses = std::move(loses);
    }

    /// The sender's end has a guard, and so has the far end.
    void SetGuard(LinkGuard* guard);

    /// @return whether the far end is in another partition
    bool LeadsElsewhere() const
    {
        return m_elsewhere;
    }

    /// Frames that have gone elsewhere in a window are on the wire now, at the far end.
    void TakeOver(uint32_t parity) override;

    void PutOutgoing(uint32_t parity, QbbBytes& bytes) override;
    void TakeOutgoing(uint32_t parity, QbbByteReader& reader) override;

    /// The sender ends: frames that are under way are freed, scheduled events do nothing.
    void Detach();

    /**
     * Send a frame.
     * @param arrivalPs when the far end has all of it; frames do not overtake each other
     */
    void Put(QbbFrame* frame, int64_t arrivalPs)
    {
        frame->timePs = arrivalPs;
        frame->next = nullptr;
        if (m_rare && PutRarely(frame))
        {
            return;
        }
        *m_end = frame;
        m_end = &frame->next;
        if (m_armedPs == NEVER)
        {
            ArmFirst(arrivalPs);
        }
    }

    /**
     * See to the arrival of the frame sent last.
     * @return whether the sender's work until then is carried out in time
     */
    bool AwaitsLast() const
    {
        return m_elsewhere ? m_inWindows : m_head != nullptr;
    }

    /// Lose all frames that have not arrived.
    void Cut();

    /// @return frames handed over, PFC not included
    uint64_t GetArrivedCount() const
    {
        return m_arrived;
    }

    /// Fire the receiver's trace sources from now on, each at its time.
    void SetReceiverWatched();

    /**
     * Set the agenda whose work is carried out before each arrival.
     * @param agenda the sender's; null: none
     * @param isItsOwn whether the agenda is the sending port's alone, which then calls
     * SetSendersWorkDue()
     */
    void SetSendersAgenda(LinkAgenda* agenda, bool isItsOwn);

    /**
     * Say when the sending port's own work is due. An arrival reads this copy, as the sender itself
     * is seldom in the cache.
     * @param timePs INT64_MAX for never
     */
    void SetSendersWorkDue(int64_t timePs)
    {
        m_ownWorkPs = timePs;
    }

    /// Set the source that the sending port asks for frames: fetched ahead when its work is due.
    /// @param source null for none
    void SetSendersSource(const void* source)
    {
        m_sendersSource = source;
    }

    void Fire(int64_t nowPs) override;

    /**
     * Have the sender's work carried out, and the frame handed over that arrives then.
     * @param context the sender's node id
     * @param timePs not after the arrival of the first frame that the work sends; none is under way
     */
    void WakeAt(uint32_t context, int64_t timePs)
    {
        if (timePs < m_wakePs)
        {
            m_wakePs = timePs;
            ScheduleAt(context, timePs);
        }
    }

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    QbbFrame* Pop()
    {
        QbbFrame* frame = m_head;
        m_head = frame->next;
        m_end = m_head ? m_end : &m_head;
        return frame;
    }

    void Arm(int64_t timePs)
    {
        m_armedPs = timePs;
        ScheduleAt(m_context, timePs);
    }

    /// @return whether the sending port's own work is due later. Work that is due now and comes
    /// last schedules its successor when it is done.
    bool HasOwnWorkAfter(int64_t nowPs) const
    {
        return m_ownWorkPs > nowPs && m_ownWorkPs != NEVER;
    }

    /// Schedule the first frame. @return false if there is none
    bool ArmNext()
    {
        if (m_head)
        {
            Arm(m_head->timePs);
        }
        return m_head;
    }

    // Not inlined, so that Put() without them needs no room on the stack.
    /// Arm() of a frame that has been put on an idle wire.
    void ArmFirst(int64_t timePs);
    /// Draw whether a frame is lost, and send it to the other partition if the wire leads there.
    /// @return whether it is on its way
    bool PutRarely(QbbFrame* frame);
    /// Send a frame to the other partition.
    void PutElsewhere(QbbFrame* frame);

    void HandOver(QbbFrame* frame);
    /// Handle losses and watchers at an arrival. @return the frame; null if it is gone
    QbbFrame* HandleSpecial(QbbFrame* frame);
    /// Show a frame that arrives to the receiver's guard. @return as HandleSpecial()
    QbbFrame* HandleGuarded(QbbFrame* frame);
    /// @return whether the sender has a copy of @p frame
    bool HasCopy(const QbbFrame& frame) const;
    /// Put a frame that comes from elsewhere on the wire. @param sent the frame as it was sent
    void Accept(const QbbFrame& sent, const QbbTelemetry* telemetry);
    /// @return the pool of the frames on the wire
    QbbFramePool& PoolOnWire() const;
    /// The sender loses a frame that was on the wire.
    void LoseAtSender(QbbFrame* frame);
    /// The sender loses the frames that have been lost on their way elsewhere up to now.
    void OnLost(int64_t nowPs);

    // first cache line, with the base's
    QbbFrame* m_head{nullptr};
    QbbFrame** m_end{&m_head}; ///< where the next frame is linked: no look whether it is the first
    int64_t m_armedPs{NEVER};  ///< arrival that is scheduled
    LinkNode* m_node{nullptr}; ///< the receiver's
    uint32_t m_context{0};     ///< its id
    uint16_t m_port{0};        ///< the receiver's index there
    bool m_special{false};     ///< whether frames may be lost or have an observer
    bool m_elsewhere : 1 {false}; ///< the far end is in another partition
    bool m_inWindows : 1 {false}; ///< and the sender's work is carried out by the end of a window
    bool m_rare : 1 {false};      ///< frames may be lost or go elsewhere

    // second
    uint64_t m_arrived{0};
    /// LinkNode::ArrivalCall of m_node.
    void (*m_arrivalCall)(LinkNode& node, uint16_t port, QbbFrame* frame, int64_t nowPs){nullptr};
    const int64_t* m_sendersWorkPs{&m_ownWorkPs}; ///< when m_sendersAgenda has something to do
    int64_t m_ownWorkPs{NEVER};
    LinkAgenda* m_sendersAgenda{nullptr};
    int64_t m_wakePs{NEVER}; ///< WakeAt() that is scheduled
    LinkPort* m_sender;
    const void* m_sendersSource{nullptr};

    // seldom
    LinkPort* m_receiver{nullptr};
    bool m_lossy{false};
    bool m_receiverWatched{false};
    LinkGuard* m_guard{nullptr}; ///< the sender's
    std::function<bool()> m_loses;
    using LossEvent = QbbPortEvent<LinkWire, &LinkWire::OnLost>;
    Ptr<LossEvent> m_lossEvent;   ///< of the sender's node; null unless frames go elsewhere
    uint32_t m_sendersContext{0}; ///< id of the sender's node

    /// Frames that have gone elsewhere in a window, as they were sent.
    struct Outgoing
    {
        std::vector<QbbFrame> frames;
        std::vector<QbbTelemetry> telemetry; ///< of frames that have it; next: a part follows
    };

    std::array<Outgoing, 2> m_outgoing; ///< by parity of the window
    /// Sent elsewhere, to be lost: they stay with the sender until they would have arrived.
    QbbFrame* m_lost{nullptr};
    QbbFrame** m_lostEnd{&m_lost};
};

} // namespace ns3

#endif /* LINK_WIRE_H */
