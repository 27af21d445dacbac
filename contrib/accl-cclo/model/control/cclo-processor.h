/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_PROCESSOR_H
#define CCLO_PROCESSOR_H

#include "cclo-task.h"

#include "ns3/cclo-data-plane.h"
#include "ns3/cclo-exchange-memory.h"
#include "ns3/cclo-header.h"
#include "ns3/event-id.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief The control plane's processor: takes calls, tries again those that have to wait for peers,
 * and carries out moves of the data plane and rendezvous notifications for their routines.
 *
 * New calls and calls to be tried again alternate; a call that finds no address or completion of
 * its peer goes to the retry queue and is resumable. Time passes per call, per try, per move
 * issued, and per notification looked at. The routines are CcloFirmware's.
 */
class CcloProcessor : public Object, public CcloDataPlane::Listener
{
  public:
    CcloProcessor();
    ~CcloProcessor() override;

    /// Gets a call's return value when the call ends.
    using Completion = std::function<void(uint32_t)>;

    /// Connect to the other parts of the engine, which outlive this object's use.
    void Install(CcloExchangeMemory& exchange,
                 CcloMemory& memory,
                 CcloRxBuffers& rxBuffers,
                 CcloDataPlane& dataPlane,
                 CcloProtocolEngine& network);

    /// Set the callback for possibly released rx buffers.
    void SetReleaseHandler(std::function<void()> handler)
    {
        m_released = std::move(handler);
    }

    /// Queue a call. @param done told its return value; may be empty
    void Call(const CcloCall& call, Completion done);

    /// @return whether there is room for a peer's notification; if so, it is reserved for
    /// OnNotification()
    bool ReserveNotification();

    /// A peer says where to write, or that it has written.
    void OnNotification(const CcloHeader& header);

    /// @return notifications that no call has used
    uint32_t GetNotifications() const
    {
        return static_cast<uint32_t>(m_notifications.size());
    }

    /// @return calls that have not ended
    uint32_t GetPendingCalls() const;

    /// @return the wait of each pending call, in words
    std::vector<std::string> DescribeWaits() const;

    // --- CcloDataPlane::Listener
    void OnRetired(uint32_t error) override;
    void OnDecoded() override;

    /// Signature of "CallStart".
    typedef void (*CallStartCallback)(const CcloCall& call);
    /// Signature of "CallDone".
    typedef void (*CallDoneCallback)(const CcloCall& call, uint32_t returnValue);
    /// Signature of "Retry".
    typedef void (*RetryCallback)(const CcloCall& call);

  protected:
    void DoDispose() override;

    static constexpr uint32_t ANY_RANK = UINT32_MAX;

    /// A peer's address, or its word that it has written there.
    struct Notification
    {
        CcloMessageType type;
        uint64_t communicator; ///< its identity
        uint32_t rank;
        uint32_t tag;
        uint64_t address;
        uint8_t host;
        uint32_t count;
    };

    // --- the call at hand
    /// Carry out the routine of a call's operation.
    virtual CcloTask Dispatch(CcloCall call) = 0;
    CcloTask Configure(CcloCall call);

    /// @return whether calls wait to be tried again
    bool HasRetries() const
    {
        return !m_retries.empty();
    }

    // --- moves and notifications
    CcloTask StartMove(CcloMove move);
    CcloTask EndMove();
    CcloTask EndMoves(uint32_t count);
    /// End the oldest if more than @p limit are under way.
    CcloTask BoundMoves(uint32_t& pending, uint32_t limit);
    CcloTask DoMove(CcloMove move);
    CcloTask SendAddress(uint32_t rank, uint64_t address, uint32_t count, uint32_t tag);
    /// Take the address that a rank has sent for this tag.
    CcloTask TryAddress(uint32_t rank, uint32_t tag);
    /// Take the address of any rank that has not been served in this call.
    CcloTask TryAnyAddress();
    /// Take a rank's word that it has written to an address from @p begin to before @p end.
    CcloTask TryCompletion(uint32_t rank, uint32_t tag, uint64_t begin, uint64_t end);
    CcloTask AwaitAddress(uint32_t rank, uint32_t tag);
    CcloTask AwaitAnyAddress();
    CcloTask AwaitCompletion(uint32_t rank, uint64_t begin, uint64_t end);
    /// Tell a peer where to write, once, and look whether it has.
    CcloTask TakeWrite(CcloCall call, uint64_t address, uint32_t tag);
    /// Attempt again until it is ready, in place.
    CcloTask Insist(std::function<CcloTask()> attempt);

    // --- small facts about it
    CcloCommunicator World() const;
    uint32_t Size() const;
    uint32_t LocalRank() const;
    uint32_t Next() const;
    uint32_t Previous() const;
    uint64_t Bytes(const CcloCall& call) const;
    bool IsEager(const CcloCall& call) const;
    uint32_t ElementBytes(const CcloCall& call, uint32_t compressionFlag) const;
    uint32_t SegmentElements() const;
    CcloMove MakeMove(const CcloCall& call) const;
    CcloMove MakeWrite(const CcloCall& call, uint64_t from, uint32_t rank) const;
    /// @return a move of nothing, to which the caller gives the addresses that strides refer to
    CcloMove MakePointer(const CcloCall& call) const;
    /// @return a move from the call's first operand to its result, of memory or a stream each
    CcloMove MakeLocal(const CcloCall& call) const;
    /// @return a move in memory
    CcloMove MakeCopy(const CcloCall& call, uint64_t from, uint64_t to) const;
    /// @return an eager move to the next rank, its operand not yet given
    CcloMove MakeToNext(const CcloCall& call, uint32_t compression) const;
    static uint32_t OnWire(uint32_t compression, uint32_t keep);
    /// @return flags of a move that receives, for the wire's data and for the stored result
    static uint32_t OffWire(uint32_t compression);

    CcloExchangeMemory* m_exchange{nullptr};
    CcloProtocolEngine* m_network{nullptr};
    uint32_t m_currentCommunicator{0};
    uint64_t m_currentIdentity{0}; ///< of the communicator
    uint32_t m_step{0};
    bool m_flushRetries{false};
    Notification m_taken{};
    uint64_t m_maxRendezvousBytes{32768};

    // attributes and trace sources of CcloFirmware
    Time m_callLatency;
    Time m_retryLatency;
    Time m_moveLatency;
    Time m_statusLatency;
    Time m_notificationLatency;
    uint32_t m_retryDepth{4};
    uint32_t m_notificationDepth{512};
    TracedCallback<const CcloCall&> m_callStart;
    TracedCallback<const CcloCall&, uint32_t> m_callDone;
    TracedCallback<const CcloCall&> m_retry;

  private:
    /// Reason for which the processor waits; named, so that a message about a stall can name it.
    enum class Wait : uint8_t
    {
        Call,       ///< for a call, or for a reason to try one again
        Time,       ///< it works
        Move,       ///< for a move to end
        Fifo,       ///< for room in front of the data plane
        Address,    ///< for a peer's address
        Completion, ///< for a peer's write
        RetryFifo,  ///< for room in the retry queue, which only it empties
        Progress    ///< for any progress, to try a call again that waits in place
    };

    /// A call with its state between tries.
    struct Pending
    {
        CcloCall call;
        Completion done;
        uint32_t step{0};
        Time started;
        uint64_t progressSeen{0};
        std::vector<bool> served; ///< by rank: its address has been used
    };

    /// Suspends the processor; somebody resumes it.
    struct Suspension
    {
        CcloProcessor& processor;

        bool await_ready() const noexcept
        {
            return false;
        }

        void await_suspend(std::coroutine_handle<> suspended) noexcept
        {
            processor.m_suspended = suspended;
        }

        void await_resume() const noexcept
        {
        }
    };

    // --- the processor
    CcloTask Run();
    Suspension Spend(Time time);
    Suspension WaitFor(Wait what, uint32_t rank = ANY_RANK);
    void Wake();
    void Resume();
    std::optional<Pending> TakeCall();
    void FinishCall(Pending& pending, uint32_t value);
    void DropRetries();

    // --- tries of the call at hand
    /// Take the first notification of the call's communicator that fits.
    template <typename Fits>
    CcloTask TryNotification(Fits fits);
    /// Attempt again, in place, until it is ready. @param what,rank waited for, in words for people
    template <typename Try>
    CcloTask Await(Wait what, uint32_t rank, Try attempt);

    CcloMemory* m_memory{nullptr};
    CcloRxBuffers* m_rxBuffers{nullptr};
    CcloDataPlane* m_dataPlane{nullptr};

    CcloTask m_processor;
    std::coroutine_handle<> m_suspended;
    EventId m_event;
    Wait m_wait{Wait::Call};
    uint32_t m_waitRank{ANY_RANK};

    std::deque<Pending> m_calls;
    std::deque<Pending> m_retries;
    std::optional<CcloCall> m_current;
    std::vector<bool> m_served;
    bool m_tookNewCall{false};
    uint64_t m_progress{0}; ///< grows when a call may get on

    std::deque<uint32_t> m_statuses; ///< of moves that have ended
    uint32_t m_outstanding{0};       ///< moves issued whose status is unread
    std::vector<Notification> m_notifications;
    uint32_t m_reserved{0}; ///< room of notifications on their way

    uint64_t m_maxEagerBytes{32768};
    uint32_t m_eagerBufferBytes{0};
    uint32_t m_timeout{0};

    std::function<void()> m_released;
};

} // namespace ns3

#endif /* CCLO_PROCESSOR_H */
