/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_PORT_H
#define LINK_PORT_H

#include "control-frames.h"
#include "link-agenda.h"
#include "link-node.h"
#include "link-wire.h"
#include "qbb-frame-pool.h"

#include "ns3/ptr.h"
#include "ns3/qbb-frame.h"
#include "ns3/qbb-port-counters.h"
#include "ns3/serialization-delay.h"

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace ns3
{

class Node;

// Hot path: Enqueue, SendNow and Transmit run once per packet and hop.

/**
 * @ingroup rdma-qbb
 * @brief Gives a host's port the data frames that wait in no queue: its queue pairs.
 *
 * The source tells the port which priorities have a frame ready (LinkPort::SetSourceReady), and
 * when it wants to be called (LinkPort::SetTimer).
 */
class alignas(64) LinkSource
{
  public:
    virtual ~LinkSource() = default;

    /**
     * @param priority one that the source said is ready
     * @param nowPs current time
     * @return the next frame of that priority, never null
     */
    virtual QbbFrame* PullFrame(uint8_t priority, int64_t nowPs) = 0;

    /// The time of SetTimer() has come.
    virtual void OnTimer(int64_t nowPs) = 0;

    /// @return a lower bound in bytes of the frames that the source sends from the time of its
    /// timer on, if nothing happens before; 0 if unknown
    virtual uint32_t GetLeastBytes() const = 0;
};

/**
 * @ingroup rdma-qbb
 * @brief One end's part in whatever the two ends of a link do for frames beside carrying them, as
 * port and wire see it; LinkProtection is one. Most links have none.
 */
class LinkGuard
{
  public:
    virtual ~LinkGuard() = default;

    /// A frame enters the wire. @param frame with its time of arrival
    virtual void OnSent(QbbFrame& frame) = 0;

    /// A frame arrives, or would if it were not lost. @return whether it goes on to the node
    virtual bool OnArrival(const QbbFrame& frame, int64_t nowPs) = 0;

    /// @return whether this end has a copy of a frame that it sent, for the case that it is lost
    virtual bool HasCopy(const QbbFrame& frame) const = 0;

    /// The port has another rate.
    virtual void FitToRate() = 0;

    /// The link goes down: frames on the wire are lost, and both halves of this direction begin
    /// anew.
    /// @param peer the far end's
    virtual void Restart(LinkGuard& peer) = 0;
};

/// Reasons to hold priorities back.
enum class LinkHold : uint8_t
{
    Pause,   ///< the far end has paused them
    Retry,   ///< the replay buffer is full
    Credits, ///< the far end may have no room
};

/**
 * @ingroup rdma-qbb
 * @brief One end of a link: the frames that wait, those under way, and when the port is free.
 *
 * Sends a frame when the port is free and one may go: PFC frames first, then one that the derived
 * class chooses among the priorities with a frame and without a pause. Each has its time, and
 * others see the port as it is at the present moment (LinkAgenda).
 */
class LinkPort
{
  public:
    static constexpr uint8_t PRIORITIES = 8;

    LinkPort(const LinkPort&) = delete;
    LinkPort& operator=(const LinkPort&) = delete;

    /// Say where frames come from that wait in no queue (hosts only).
    void SetSource(LinkSource* source)
    {
        m_hot.source = source;
        m_hot.wire->SetSendersSource(source);
    }

    /// Put @p frame, which the port now owns, into the queue of its priority.
    void Enqueue(QbbFrame* frame, int64_t nowPs);

    /// @return whether a frame of any priority would leave at once, and the queues have no observer
    bool CanSendNow(int64_t nowPs) const
    {
        __builtin_prefetch(&m_hot.wire); // needed next; fetch it ahead
        return nowPs >= m_hot.busyUntilPs && m_hot.linkUp && !m_hot.control &&
               !(m_hot.queuedMask | m_hot.sourceReady | m_hot.pausedMask |
                 static_cast<uint8_t>(m_hot.watched));
    }

    /**
     * Send @p frame, which the port now owns, past the queues: as Enqueue() does after
     * CanSendNow(), but that the node is not told of the departure.
     */
    void SendNow(QbbFrame* frame, int64_t nowPs);

    /// The source's ready priorities have changed. Sends if the port is idle.
    void SetSourceReady(uint8_t mask, int64_t nowPs)
    {
        m_hot.sourceReady = mask;
        if (mask)
        {
            TransmitWhenFree(nowPs);
        }
    }

    /// The source's ready priorities have changed while the port pulls a frame from it.
    void SetSourceReadyMask(uint8_t mask)
    {
        m_hot.sourceReady = mask;
    }

    /// Call the source at @p timePs, not before now; INT64_MAX: never. Replaces the time set
    /// before. The source calls this again whenever its GetLeastBytes() changes.
    void SetTimer(int64_t timePs, int64_t nowPs)
    {
        LinkAgenda& agenda = *m_hot.agenda;
        agenda.SetTimer(timePs);
        if (!m_hot.transmitting && !agenda.IsSettling())
        {
            AwaitWork(nowPs);
        }
    }

    /// @return bytes in the queue of @p priority
    uint64_t GetQueueBytes(uint8_t priority) const
    {
        CatchUp();
        return m_queues[priority].bytes;
    }

    /// @return bytes in all queues
    uint64_t GetQueueBytes() const;

    /// Run f(frame) for each frame in the queue of @p priority, oldest first.
    template <typename Function>
    void ForEachQueued(uint8_t priority, Function f) const
    {
        CatchUp();
        for (const QbbFrame* frame = m_queues[priority].head; frame; frame = frame->next)
        {
            f(*frame);
        }
    }

    /// Drop all frames in the queue of @p priority.
    void FlushQueue(uint8_t priority, int64_t nowPs);

    /// @return line rate in bit/s
    uint64_t GetRateBps() const
    {
        return m_rateBps;
    }

    /// @return time that @p bytes occupy the wire, in picoseconds, rounded up
    int64_t GetTxTimePs(uint32_t bytes) const
    {
        return m_hot.serialization(bytes);
    }

    /// @return propagation delay to the far end, in picoseconds
    int64_t GetDelayPs() const
    {
        return m_hot.delayPs;
    }

    /// @return bytes on the wire sent so far
    uint64_t GetTxBytes() const
    {
        CatchUp();
        return m_hot.txBytes;
    }

    /// @return when the frame being sent ends, or a time in the past
    int64_t GetBusyUntilPs() const
    {
        CatchUp();
        return m_hot.busyUntilPs;
    }

    /// @return bit p set: priority p is paused by the far end
    uint8_t GetPausedMask() const
    {
        return HeldFor(LinkHold::Pause);
    }

    /// @return bit p set: priority p may not be sent, whatever holds it
    uint8_t GetHeldMask() const
    {
        return m_hot.pausedMask;
    }

    /// @return whether the port has been initialised and its link is up
    bool CanBeUsed() const
    {
        return m_hot.linkUp;
    }

    /// @return id of this port's node
    uint32_t GetNodeId() const
    {
        return m_hot.nodeId;
    }

    /// @return index of this port at its node
    uint16_t GetPort() const
    {
        return m_hot.port;
    }

    /// @return the node behind the port; null if there is none yet
    LinkNode* GetLinkNode() const
    {
        return m_hot.node;
    }

    /// @return the pool frames come from
    QbbFramePool& GetPool() const
    {
        return *m_hot.pool;
    }

    /// @return whether the frames of this port have an observer
    bool IsWatched() const
    {
        return m_hot.watched;
    }

    /// Bring into the cache the lines that sending touches.
    void FetchAhead() const
    {
        FetchLines<2>(&m_hot);
    }

    /// Bring the lines that FetchAhead() leads to into the cache: the next frame, and the wire.
    void FetchNext() const
    {
        // Without any frame, fetch the first queue: no branch.
        constexpr uint32_t NONE = 1U << PRIORITIES;
        const auto priority = std::countr_zero(m_hot.queuedMask | NONE) % PRIORITIES;
        __builtin_prefetch(m_hot.wire);
        __builtin_prefetch(m_queues[priority].head);
    }

    /// Become the next port of a node. @return its index there
    uint16_t JoinNode(LinkNode& node, const Node& ns3Node);

    // --- for LinkAgenda and LinkWire
    /// The frame being sent ends, and another one waits.
    void OnTransmissionEnd(int64_t timePs);

    /// The source's time has come.
    void OnTimer(int64_t timePs)
    {
        m_hot.source->OnTimer(timePs);
    }

    /// @return whether each thing that this port does is an event
    bool IsExact() const
    {
        return m_hot.watched || m_hot.agenda->IsExact();
    }

    /// See to it that the source's work, if it has some, is carried out in time; it waits for no
    /// end of a transmission.
    void AwaitWork(int64_t nowPs);
    /// @return when a frame that begins at @p startPs is at the far end
    /// @throw InputError if the clock does not reach that time
    int64_t ArrivalPs(int64_t startPs, int64_t txTimePs) const;
    /// Count and free a frame that the wire has lost.
    void Lose(QbbFrame* frame);

    /// @return this end's guard; null for most links
    LinkGuard* GetGuard() const
    {
        return m_guard.get();
    }

    // --- for the guard
    /// @return the frames that go ahead of the queues
    ControlFrames& GetControls()
    {
        return m_hot.control;
    }

    /// Hold these priorities back for a reason, and no others for it.
    void Hold(LinkHold reason, uint8_t mask);
    /// Send what has been queued or is no longer held.
    void SendControl(int64_t nowPs);

    // --- of derived classes, for LinkWire
    virtual void ReceivePfc(const QbbFrame& frame, int64_t nowPs) = 0;
    /// Somebody looks at frames, and this one has been received.
    virtual void TraceRx(const QbbFrame& frame) = 0;

  protected:
    /// Frames of one priority, first in first out.
    struct Queue
    {
        QbbFrame* head{nullptr};
        QbbFrame* tail{nullptr};
        uint64_t bytes{0};
    };

    LinkPort();
    ~LinkPort();

    // --- choices and questions of derived classes
    /// @return the priority in @p eligible, two or more, to send next
    virtual uint8_t ChoosePriority(uint8_t eligible) = 0;
    /// A frame of so many bytes has been chosen among several priorities.
    virtual void OnChosen(uint8_t priority, uint32_t bytes) = 0;
    /// Fire the trace source of frames that reach a queue; called only if frames have an observer.
    virtual void TraceEnqueue(const QbbFrame& frame) = 0;
    virtual void TraceTx(const QbbFrame& frame) = 0;
    /// A frame is lost here.
    virtual void TraceLost(const QbbFrame& frame) = 0;

    // --- acts of derived classes
    /// The link begins to exist. @param lossy whether it may lose frames
    void Start(uint64_t rateBps, int64_t delayPs, bool isUp, bool lossy);

    /// Set the random draw that says whether the wire loses a frame: it belongs to the wire.
    void SetLoss(std::function<bool()> loses)
    {
        m_wireRef->SetLoss(std::move(loses));
    }

    /// Guard the frames of this link; after Start(), at both ends.
    void SetGuard(std::unique_ptr<LinkGuard> guard);

    /// The port ends.
    void Stop();
    /// Join the port at the far end.
    void Join(LinkPort& peer);
    /// Somebody looks at frames from now on.
    void Watch();
    /// Send and receive nothing any more, and lose all frames under way or waiting; or work again.
    void SetLinkUp(bool up, int64_t nowPs);
    /// Send at another rate from the next frame on.
    void SetRate(uint64_t rateBps);
    /// Frames that leave this node may change the next frame of this port at once, and
    /// therefore leave at exactly their times; or no longer.
    void NeedDeparturesInTime(bool need);
    /// Change which priorities may not be sent.
    void SetPausedMask(uint8_t mask, int64_t nowPs);

    /// Send now if the port is idle, else when the frame being sent ends.
    void TransmitWhenFree(int64_t nowPs)
    {
        if (nowPs >= m_hot.busyUntilPs)
        {
            Transmit(nowPs);
        }
        else
        {
            ArmTransmit(nowPs);
        }
    }

    /// @return counters of the port so far, but for the time it has been paused
    QbbPortCounters CountAll() const;

    /// @return @p state, which departures from this node change, as it is at the present moment
    template <typename T>
    T& Present(T& state) const
    {
        CatchUp();
        return state;
    }

    /// Members that each frame touches: two cache lines.
    struct alignas(64) Hot
    {
        ControlFrames control;
        int64_t busyUntilPs{0};
        int64_t delayPs{0};
        SerializationDelay serialization;
        bool watched{false};    ///< whether a trace source of frames has a sink
        uint8_t queuedMask{0};  ///< bit p: queue p holds frames
        uint8_t sourceReady{0}; ///< bit p: the source has a frame of priority p
        uint8_t pausedMask{0};  ///< bit p: held back for one of the reasons
        bool transmitArmed{false};
        bool transmitting{false};
        bool linkUp{false};
        bool departuresInTime{false};
        uint16_t port{0};
        bool lastIsEvent{false}; ///< the last sent frame's arrival is an event, in this partition
        uint32_t nodeId{0};
        LinkNode* node{nullptr};
        LinkWire* wire{nullptr};
        LinkSource* source{nullptr};
        LinkAgenda* agenda{nullptr};
        QbbFramePool* pool{nullptr};
        int64_t busyPs{0}; ///< this and the next two as in QbbPortCounters
        uint64_t txFrames{0};
        uint64_t txBytes{0};
    };

    static_assert(sizeof(Hot) == 128);

    Hot m_hot;
    QbbPortCounters m_counters; ///< those that are not in Hot
    std::array<Queue, PRIORITIES> m_queues;

  private:
    friend class LinkAgenda;

    void CatchUp() const
    {
        if (m_hot.node)
        {
            m_hot.node->CatchUp();
        }
    }

    /// Send the next frame, if there is one that may go. The port is idle.
    void Transmit(int64_t nowPs);
    /// @return the frame to send next, taken out of its queue or the source; null if none may go
    QbbFrame* TakeNext(int64_t nowPs);
    /// @return the first frame of m_hot.control, counted
    QbbFrame* TakeControl();

    uint8_t HeldFor(LinkHold reason) const
    {
        return m_held[static_cast<std::size_t>(reason)];
    }

    /// Use one pool with @p other, another port of the same node or the far end.
    void SharePool(LinkPort& other);
    QbbFrame* Dequeue(uint8_t priority);
    void PutOnWire(QbbFrame* frame, int64_t nowPs);
    /// Wake up when the frame being sent ends, if another one waits.
    void ArmTransmit(int64_t nowPs);
    /// @return whether the far end is at a node of another partition
    bool LeadsElsewhere() const;
    /// Tell the wire where it leads.
    void ConnectWire();
    void FlushQueues(int64_t nowPs);
    /// Free a frame that is lost here. @param count of m_counters
    void Discard(QbbFrame* frame, uint64_t& count);

    uint16_t m_place{0}; ///< in the agenda
    bool m_started{false};
    bool m_lossy{false};
    std::array<uint8_t, 3> m_held{}; ///< by LinkHold
    uint64_t m_rateBps{0};
    uint32_t m_partition{0};
    LinkPort* m_peer{nullptr}; ///< for setting up only
    Ptr<QbbFramePool> m_poolRef;
    Ptr<LinkWire> m_wireRef;
    Ptr<LinkWire> m_incoming; ///< the wire from the far end
    std::unique_ptr<LinkGuard> m_guard;
};

} // namespace ns3

#endif /* LINK_PORT_H */
