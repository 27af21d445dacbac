/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// The processor: calls and tries.
#include "cclo-firmware.h"

#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloFirmware");

NS_OBJECT_ENSURE_REGISTERED(CcloFirmware);

TypeId
CcloFirmware::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloFirmware")
            .SetParent<Object>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloFirmware>()
            .AddAttribute("CallLatency",
                          "To take a new call and find its communicator (an assumption: 100 cycles "
                          "for 15 words and the way to the routine)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloFirmware::m_callLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("RetryLatency",
                          "To take a call from the retry queue (an assumption: 100 cycles)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloFirmware::m_retryLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MoveLatency",
                          "To issue a move (an assumption: 120 cycles for up to 18 words)",
                          TimeValue(NanoSeconds(480)),
                          MakeTimeAccessor(&CcloFirmware::m_moveLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("StatusLatency",
                          "To read the status of a move (an assumption: 10 cycles)",
                          TimeValue(NanoSeconds(40)),
                          MakeTimeAccessor(&CcloFirmware::m_statusLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("NotificationLatency",
                          "To look at a notification of a peer, or to send one (an assumption: 30 "
                          "cycles for 7 words)",
                          TimeValue(NanoSeconds(120)),
                          MakeTimeAccessor(&CcloFirmware::m_notificationLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("RetryFifoDepth",
                          "Calls that wait to be tried again (control_bd.tcl: 64 words of 16 per "
                          "call); with more, the processor waits for ever",
                          UintegerValue(4),
                          MakeUintegerAccessor(&CcloFirmware::m_retryDepth),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("NotificationFifoDepth",
                          "Notifications of peers that no call has used (emulation: 512; rx_bd.tcl "
                          "and control_bd.tcl: 64 words of 7 each, that is 9 and 9); further ones "
                          "hold up all messages behind them",
                          UintegerValue(512),
                          MakeUintegerAccessor(&CcloFirmware::m_notificationDepth),
                          MakeUintegerChecker<uint32_t>(1))
            .AddTraceSource("CallStart",
                            "A new call has been taken",
                            MakeTraceSourceAccessor(&CcloFirmware::m_callStart),
                            "ns3::CcloFirmware::CallStartCallback")
            .AddTraceSource("CallDone",
                            "A call has ended",
                            MakeTraceSourceAccessor(&CcloFirmware::m_callDone),
                            "ns3::CcloFirmware::CallDoneCallback")
            .AddTraceSource("Retry",
                            "A call is tried again",
                            MakeTraceSourceAccessor(&CcloFirmware::m_retry),
                            "ns3::CcloFirmware::RetryCallback");
    return tid;
}

CcloFirmware::CcloFirmware() = default;

CcloFirmware::~CcloFirmware() = default;

void
CcloFirmware::Install(CcloExchangeMemory& exchange,
                      CcloMemory& memory,
                      CcloRxBuffers& rxBuffers,
                      CcloDataPlane& dataPlane,
                      CcloProtocolEngine& network)
{
    m_exchange = &exchange;
    m_memory = &memory;
    m_rxBuffers = &rxBuffers;
    m_dataPlane = &dataPlane;
    m_network = &network;
    const uint32_t identity = network.GetStackType() | 0x3CU | 0x723D8EU << 8;
    m_exchange->WriteFromEnd(CcloExchangeMemory::HARDWARE_ID, identity);
    m_processor = Run();
    m_processor.Start();
}

void
CcloFirmware::DoDispose()
{
    m_event.Cancel();
    m_suspended = nullptr;
    m_processor = CcloTask();
    m_calls.clear();
    m_retries.clear();
    m_released = nullptr;
    Object::DoDispose();
}

// --- the processor

CcloFirmware::Suspension
CcloFirmware::Spend(Time time)
{
    m_wait = Wait::Time;
    m_event = Simulator::Schedule(time, &CcloFirmware::Resume, this);
    return {*this};
}

CcloFirmware::Suspension
CcloFirmware::WaitFor(Wait what, uint32_t rank)
{
    m_wait = what;
    m_waitRank = rank;
    return {*this};
}

void
CcloFirmware::Wake()
{
    if (m_suspended && m_wait != Wait::Time)
    {
        m_wait = Wait::Time;
        m_event = Simulator::ScheduleNow(&CcloFirmware::Resume, this);
    }
}

void
CcloFirmware::Resume()
{
    std::exchange(m_suspended, nullptr).resume();
}

void
CcloFirmware::Call(const CcloCall& call, Completion done)
{
    m_calls.push_back({.call = call,
                       .done = std::move(done),
                       .step = 0,
                       .started = Simulator::Now(),
                       .progressSeen = 0,
                       .served = {}});
    if (m_wait == Wait::Call)
    {
        Wake();
    }
}

std::optional<CcloFirmware::Pending>
CcloFirmware::TakeCall()
{
    const auto takeFrom = [this](std::deque<Pending>& queue, auto found) {
        Pending pending = std::move(*found);
        queue.erase(found);
        m_tookNewCall = &queue == &m_calls;
        return pending;
    };
    const auto retry = std::find_if(m_retries.begin(), m_retries.end(), [this](const Pending& p) {
        return p.progressSeen != m_progress;
    });
    const bool mayRetry = retry != m_retries.end();
    const bool mayCall = !m_calls.empty() && !m_flushRetries;
    if (mayRetry && (m_tookNewCall || !mayCall))
    {
        return takeFrom(m_retries, retry);
    }
    if (mayCall)
    {
        return takeFrom(m_calls, m_calls.begin());
    }
    return std::nullopt;
}

CcloTask
CcloFirmware::Run()
{
    for (;;)
    {
        std::optional<Pending> pending = TakeCall();
        if (!pending)
        {
            co_await WaitFor(Wait::Call);
            continue;
        }
        m_current = pending->call;
        m_step = pending->step;
        m_served = std::move(pending->served);
        if (m_tookNewCall)
        {
            NS_LOG_LOGIC("begins " << CcloOperationName(pending->call.operation));
            co_await Spend(m_callLatency);
            m_callStart(pending->call);
        }
        else
        {
            NS_LOG_LOGIC("tries " << CcloOperationName(pending->call.operation) << " again");
            co_await Spend(m_retryLatency);
            m_retry(pending->call);
        }
        const uint64_t progressBefore = m_progress;
        const uint32_t value = co_await Dispatch(pending->call);
        if (value == CcloError::NOT_READY)
        {
            pending->step = m_step;
            pending->served = std::move(m_served);
            pending->progressSeen = progressBefore;
            while (m_retries.size() >= m_retryDepth)
            {
                co_await WaitFor(Wait::RetryFifo);
            }
            m_retries.push_back(std::move(*pending));
        }
        else
        {
            FinishCall(*pending, value);
        }
        m_current.reset();
    }
}

void
CcloFirmware::FinishCall(Pending& pending, uint32_t value)
{
    ++m_progress;
    const int64_t cycles = (Simulator::Now() - pending.started).GetPicoSeconds() /
                           m_dataPlane->GetClockPeriod().GetPicoSeconds();
    m_exchange->WriteFromEnd(CcloExchangeMemory::RETURN_VALUE, value);
    m_exchange->WriteFromEnd(CcloExchangeMemory::PERFORMANCE_COUNTER,
                             static_cast<uint32_t>(cycles));
    NS_LOG_LOGIC(CcloOperationName(pending.call.operation)
                 << " has ended: " << CcloErrorNames(value));
    m_callDone(pending.call, value);
    if (pending.done)
    {
        pending.done(value);
    }
}

void
CcloFirmware::DropRetries()
{
    while (!m_retries.empty())
    {
        Pending dropped = std::move(m_retries.front());
        m_retries.pop_front();
        FinishCall(dropped, CcloError::NOT_READY);
    }
}

CcloTask
CcloFirmware::Dispatch(CcloCall call)
{
    using Routine = CcloTask (CcloFirmware::*)(CcloCall);
    static constexpr std::array<Routine, 14> ROUTINES = {&CcloFirmware::Configure,
                                                         &CcloFirmware::Copy,
                                                         &CcloFirmware::Combine,
                                                         &CcloFirmware::Send,
                                                         &CcloFirmware::Recv,
                                                         &CcloFirmware::Broadcast,
                                                         &CcloFirmware::Scatter,
                                                         &CcloFirmware::Gather,
                                                         &CcloFirmware::Reduce,
                                                         &CcloFirmware::AllGather,
                                                         &CcloFirmware::AllReduce,
                                                         &CcloFirmware::ReduceScatter,
                                                         &CcloFirmware::Barrier,
                                                         &CcloFirmware::AllToAll};
    if (call.operation == CcloOperation::Nop)
    {
        co_return CcloError::NONE;
    }
    const auto number = static_cast<uint32_t>(call.operation);
    if (number >= ROUTINES.size())
    {
        co_return CcloError::COLLECTIVE_NOT_IMPLEMENTED;
    }
    m_currentCommunicator = call.communicator;
    const bool moves = call.operation != CcloOperation::Config;
    const bool takesStreams =
        call.operation <= CcloOperation::Recv || call.operation == CcloOperation::Reduce;
    const bool onNetwork = moves && call.operation > CcloOperation::Combine;
    if (moves && call.Streams() && !takesStreams)
    {
        co_return CcloError::COLLECTIVE_NOT_IMPLEMENTED;
    }
    m_currentIdentity = onNetwork ? World().GetIdentity() : 0;
    if (onNetwork && Size() > 1 && !m_network->CanWrite())
    {
        const bool needsWrites = call.operation == CcloOperation::Barrier ||
                                 call.operation == CcloOperation::AllToAll || !IsEager(call);
        if (needsWrites)
        {
            co_return CcloError::COLLECTIVE_NOT_IMPLEMENTED;
        }
    }
    co_return co_await(this->*ROUTINES[number])(call);
}

CcloTask
CcloFirmware::Configure(CcloCall call)
{
    switch (static_cast<CcloConfigFunction>(call.function))
    {
    case CcloConfigFunction::Reset:
        DropRetries();
        m_dataPlane->Reset();
        m_statuses.clear();
        m_outstanding = 0;
        m_notifications.clear();
        m_flushRetries = false;
        m_exchange->WriteFromEnd(CcloExchangeMemory::CONFIGURED, 0);
        break;
    case CcloConfigFunction::EnablePackets:
        m_rxBuffers->Start();
        break;
    case CcloConfigFunction::SetTimeout:
        m_timeout = call.count;
        break;
    case CcloConfigFunction::SetMaxEagerSize:
        m_eagerBufferBytes = m_exchange->GetRxBuffers().GetBufferBytes(*m_exchange);
        if (call.count < m_eagerBufferBytes)
        {
            co_return CcloError::EAGER_THRESHOLD_INVALID;
        }
        m_maxEagerBytes = call.count;
        break;
    case CcloConfigFunction::SetMaxRendezvousSize:
        if (call.count <= m_maxEagerBytes)
        {
            co_return CcloError::RENDEZVOUS_THRESHOLD_INVALID;
        }
        m_maxRendezvousBytes = call.count;
        break;
    }
    co_return CcloError::NONE;
}

CcloTask
CcloFirmware::Insist(CcloTask (CcloFirmware::*routine)(CcloCall), CcloCall call)
{
    for (;;)
    {
        const uint64_t seen = m_progress;
        const uint32_t value = co_await(this->*routine)(call);
        if (value != CcloError::NOT_READY)
        {
            co_return value;
        }
        while (seen == m_progress)
        {
            co_await WaitFor(Wait::Progress);
        }
    }
}

// --- small facts

CcloCommunicator
CcloFirmware::World() const
{
    return {*m_exchange, m_currentCommunicator};
}

uint32_t
CcloFirmware::Size() const
{
    return World().GetSize();
}

uint32_t
CcloFirmware::LocalRank() const
{
    return World().GetLocalRank();
}

uint32_t
CcloFirmware::Next() const
{
    return (LocalRank() + 1) % Size();
}

uint32_t
CcloFirmware::Previous() const
{
    return (LocalRank() + Size() - 1) % Size();
}

uint32_t
CcloFirmware::ElementBytes(const CcloCall& call, uint32_t compressionFlag) const
{
    return m_exchange->Read(call.arithmeticConfig + (call.compression & compressionFlag ? 4 : 0));
}

uint64_t
CcloFirmware::Bytes(const CcloCall& call) const
{
    return uint64_t{call.count} * m_exchange->Read(call.arithmeticConfig);
}

bool
CcloFirmware::IsEager(const CcloCall& call) const
{
    return !m_network->CanWrite() || Bytes(call) <= m_maxEagerBytes ||
           call.compression != CcloCompression::NONE || call.Streams() != CcloStream::NONE;
}

uint32_t
CcloFirmware::SegmentElements() const
{
    return m_eagerBufferBytes / m_exchange->Read(m_current->arithmeticConfig);
}

uint32_t
CcloFirmware::GetPendingCalls() const
{
    return static_cast<uint32_t>(m_calls.size() + m_retries.size() + m_current.has_value());
}

std::vector<std::string>
CcloFirmware::DescribeWaits() const
{
    std::vector<std::string> lines;
    const auto name = [](uint32_t rank) {
        return rank == ANY_RANK ? std::string("any rank") : fmt::format("rank {}", rank);
    };
    for (const Pending& pending : m_retries)
    {
        lines.push_back(fmt::format("{} of {} elements with rank {} has been put off: its peer has "
                                    "not said where to write, or not written",
                                    CcloOperationName(pending.call.operation),
                                    pending.call.count,
                                    pending.call.peer));
    }
    if (m_current)
    {
        std::string reason = "works";
        if (m_wait == Wait::Move)
        {
            reason = fmt::format("waits for {} moves to end", m_outstanding);
        }
        else if (m_wait == Wait::Fifo)
        {
            reason = "waits for room in front of the data plane";
        }
        else if (m_wait == Wait::Address)
        {
            reason = fmt::format("waits for {} to say where to write", name(m_waitRank));
        }
        else if (m_wait == Wait::Completion)
        {
            reason = fmt::format("waits for {} to write", name(m_waitRank));
        }
        else if (m_wait == Wait::RetryFifo)
        {
            reason = fmt::format("waits for ever for room in the retry queue, which holds {} calls",
                                 m_retries.size());
        }
        else if (m_wait == Wait::Progress)
        {
            reason = "waits for a peer to say where to write, or to write";
        }
        lines.push_back(fmt::format("{} of {} elements {}",
                                    CcloOperationName(m_current->operation),
                                    m_current->count,
                                    reason));
    }
    if (!m_calls.empty())
    {
        lines.push_back(fmt::format("{} calls wait for their turn", m_calls.size()));
    }
    return lines;
}

} // namespace ns3
