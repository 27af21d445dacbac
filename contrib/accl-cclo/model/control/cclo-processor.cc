/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-processor.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloProcessor");

// The processor is one coroutine, Run(): it takes a new call or one to be tried again, awaits
// the routine of its operation (Dispatch), and reports its status. Routines are coroutines, too.
// Besides each other they await two things: Spend() resumes by an event after the time of some
// instructions, and WaitFor() sleeps until Wake(), which events of peers and moves call; the
// routine then looks again. A routine that lacks a peer's address or completion returns
// NOT_READY with its step in m_step. The call then goes to the retry queue, and Run() takes it
// again, from that step, when something has happened since (m_progress).

CcloProcessor::CcloProcessor() = default;

CcloProcessor::~CcloProcessor() = default;

void
CcloProcessor::Install(CcloExchangeMemory& exchange,
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
CcloProcessor::DoDispose()
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

CcloProcessor::Suspension
CcloProcessor::Spend(Time time)
{
    m_wait = Wait::Time;
    m_event = Simulator::Schedule(time, &CcloProcessor::Resume, this);
    return {*this};
}

CcloProcessor::Suspension
CcloProcessor::WaitFor(Wait what, uint32_t rank)
{
    m_wait = what;
    m_waitRank = rank;
    return {*this};
}

void
CcloProcessor::Wake()
{
    if (m_suspended && m_wait != Wait::Time)
    {
        m_wait = Wait::Time;
        m_event = Simulator::ScheduleNow(&CcloProcessor::Resume, this);
    }
}

void
CcloProcessor::Resume()
{
    std::exchange(m_suspended, nullptr).resume();
}

void
CcloProcessor::Call(const CcloCall& call, Completion done)
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

std::optional<CcloProcessor::Pending>
CcloProcessor::TakeCall()
{
    const auto takeFrom = [this](std::deque<Pending>& queue, auto found) {
        Pending pending = std::move(*found);
        queue.erase(found);
        m_tookNewCall = &queue == &m_calls;
        return pending;
    };
    const auto retry = std::ranges::find_if(m_retries, [this](const Pending& p) {
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
CcloProcessor::Run()
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
CcloProcessor::FinishCall(Pending& pending, uint32_t value)
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
CcloProcessor::DropRetries()
{
    while (!m_retries.empty())
    {
        Pending dropped = std::move(m_retries.front());
        m_retries.pop_front();
        FinishCall(dropped, CcloError::NOT_READY);
    }
}

CcloTask
CcloProcessor::Configure(CcloCall call)
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

template <typename Try>
CcloTask
CcloProcessor::Await(Wait what, uint32_t rank, Try attempt)
{
    for (;;)
    {
        const uint64_t seen = m_progress;
        const uint32_t value = co_await attempt();
        if (value != CcloError::NOT_READY)
        {
            co_return value;
        }
        while (seen == m_progress)
        {
            co_await WaitFor(what, rank);
        }
    }
}

CcloTask
CcloProcessor::Insist(std::function<CcloTask()> attempt)
{
    return Await(Wait::Progress, ANY_RANK, std::move(attempt));
}

// --- small facts

CcloCommunicator
CcloProcessor::World() const
{
    return {*m_exchange, m_currentCommunicator};
}

uint32_t
CcloProcessor::Size() const
{
    return World().GetSize();
}

uint32_t
CcloProcessor::LocalRank() const
{
    return World().GetLocalRank();
}

uint32_t
CcloProcessor::Next() const
{
    return (LocalRank() + 1) % Size();
}

uint32_t
CcloProcessor::Previous() const
{
    return (LocalRank() + Size() - 1) % Size();
}

uint32_t
CcloProcessor::ElementBytes(const CcloCall& call, uint32_t compressionFlag) const
{
    return m_exchange->Read(call.arithmeticConfig + (call.compression & compressionFlag ? 4 : 0));
}

uint64_t
CcloProcessor::Bytes(const CcloCall& call) const
{
    return uint64_t{call.count} * m_exchange->Read(call.arithmeticConfig);
}

bool
CcloProcessor::IsEager(const CcloCall& call) const
{
    return !m_network->CanWrite() || Bytes(call) <= m_maxEagerBytes ||
           call.compression != CcloCompression::NONE || call.Streams() != CcloStream::NONE;
}

uint32_t
CcloProcessor::SegmentElements() const
{
    return m_eagerBufferBytes / m_exchange->Read(m_current->arithmeticConfig);
}

uint32_t
CcloProcessor::GetPendingCalls() const
{
    return static_cast<uint32_t>(m_calls.size() + m_retries.size() + m_current.has_value());
}

std::vector<std::string>
CcloProcessor::DescribeWaits() const
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

// --- Moves of the data plane: made for a call, started and ended.

CcloTask
CcloProcessor::StartMove(CcloMove move)
{
    co_await Spend(m_moveLatency);
    while (m_dataPlane->IsFull())
    {
        co_await WaitFor(Wait::Fifo);
    }
    ++m_outstanding;
    m_dataPlane->Issue(move);
    co_return CcloError::NONE;
}

CcloTask
CcloProcessor::EndMove()
{
    while (m_statuses.empty())
    {
        co_await WaitFor(Wait::Move);
    }
    co_await Spend(m_statusLatency);
    const uint32_t status = m_statuses.front();
    m_statuses.pop_front();
    --m_outstanding;
    co_return status;
}

CcloTask
CcloProcessor::EndMoves(uint32_t count)
{
    uint32_t errors = CcloError::NONE;
    for (; count > 0; --count)
    {
        errors |= co_await EndMove();
    }
    co_return errors;
}

CcloTask
CcloProcessor::BoundMoves(uint32_t& pending, uint32_t limit)
{
    ++pending;
    if (pending <= limit)
    {
        co_return CcloError::NONE;
    }
    --pending;
    co_return co_await EndMove();
}

CcloTask
CcloProcessor::DoMove(CcloMove move)
{
    co_await StartMove(move);
    co_return co_await EndMove();
}

void
CcloProcessor::OnRetired(uint32_t error)
{
    m_statuses.push_back(error);
    if (m_wait == Wait::Move)
    {
        Wake();
    }
    if (m_released)
    {
        m_released();
    }
}

void
CcloProcessor::OnDecoded()
{
    if (m_wait == Wait::Fifo)
    {
        Wake();
    }
}

CcloMove
CcloProcessor::MakeMove(const CcloCall& call) const
{
    CcloMove move;
    move.count = call.count;
    move.function = call.function;
    move.arithmeticConfig = call.arithmeticConfig;
    move.communicator = call.communicator;
    move.identity = m_currentIdentity;
    move.compression = call.compression & 7;
    move.receiveTag = CCLO_TAG_ANY;
    move.sendTag = CCLO_TAG_ANY;
    return move;
}

CcloMove
CcloProcessor::MakeWrite(const CcloCall& call, uint64_t from, uint32_t rank) const
{
    CcloMove move = MakeCopy(call, from, m_taken.address);
    move.hostOperands = m_taken.host ? CcloHostOperand::RESULT : 0;
    move.remote = true;
    move.rendezvous = true;
    move.compression = CcloCompression::NONE;
    move.sendRank = rank;
    return move;
}

CcloMove
CcloProcessor::MakePointer(const CcloCall& call) const
{
    CcloMove move = MakeMove(call);
    move.count = 0;
    move.compression = CcloCompression::NONE;
    return move;
}

CcloMove
CcloProcessor::MakeLocal(const CcloCall& call) const
{
    CcloMove move = MakeCopy(call, call.op0, call.result);
    if (call.Streams() & CcloStream::OP0)
    {
        move.op0 = CcloOperand::Stream;
    }
    if (call.Streams() & CcloStream::RESULT)
    {
        move.result = CcloOperand::Stream;
    }
    move.sendTag = 0;
    return move;
}

CcloMove
CcloProcessor::MakeCopy(const CcloCall& call, uint64_t from, uint64_t to) const
{
    CcloMove move = MakeMove(call).Op0At(from).ResultAt(to);
    return move;
}

CcloMove
CcloProcessor::MakeToNext(const CcloCall& call, uint32_t compression) const
{
    CcloMove move = MakeMove(call);
    move.result = CcloOperand::Immediate;
    move.remote = true;
    move.compression = compression;
    move.sendRank = Next();
    return move;
}

uint32_t
CcloProcessor::OnWire(uint32_t compression, uint32_t keep)
{
    return (compression & keep) |
           (compression & CcloCompression::WIRE ? CcloCompression::RESULT : 0);
}

uint32_t
CcloProcessor::OffWire(uint32_t compression)
{
    return (compression & CcloCompression::RESULT) |
           (compression & CcloCompression::WIRE ? CcloCompression::OP1 : 0);
}

// --- Rendezvous notifications of peers, and the search of calls among them.

bool
CcloProcessor::ReserveNotification()
{
    if (m_notifications.size() + m_reserved >= m_notificationDepth)
    {
        return false;
    }
    ++m_reserved;
    return true;
}

void
CcloProcessor::OnNotification(const CcloHeader& header)
{
    --m_reserved;
    m_notifications.push_back({.type = header.type,
                               .communicator = header.communicator,
                               .rank = header.source,
                               .tag = header.tag,
                               .address = header.address,
                               .host = header.host,
                               .count = header.count});
    ++m_progress;
    if (m_wait != Wait::Move && m_wait != Wait::Fifo && m_wait != Wait::RetryFifo)
    {
        Wake();
    }
}

CcloTask
CcloProcessor::SendAddress(uint32_t rank, uint64_t address, uint32_t count, uint32_t tag)
{
    co_await Spend(m_notificationLatency);
    CcloMessage message;
    message.header.type = CcloMessageType::RendezvousAddress;
    message.header.source = LocalRank();
    message.header.tag = tag;
    message.header.count = count;
    message.header.address = address;
    message.header.communicator = m_currentIdentity;
    message.header.host = CcloMemory::KindOf(address) == CcloMemoryKind::Host;
    const uint32_t session = World().Get(rank, CcloCommunicator::SESSION);
    message.header.session = static_cast<uint16_t>(session);
    m_network->Send(session, std::move(message), 0);
    co_return CcloError::NONE;
}

template <typename Fits>
CcloTask
CcloProcessor::TryNotification(Fits fits)
{
    const auto looked = static_cast<int64_t>(std::max<std::size_t>(m_notifications.size(), 1));
    co_await Spend(m_notificationLatency * looked);
    // Compare communicators, too: a rank number is another host in another communicator, and two
    // calls on the same hosts may wait at once.
    const auto found = std::ranges::find_if(m_notifications, [&](const Notification& n) {
        return n.communicator == m_currentIdentity && fits(n);
    });
    if (found == m_notifications.end())
    {
        co_return CcloError::NOT_READY;
    }
    m_taken = *found;
    m_notifications.erase(found);
    if (m_released)
    {
        m_released();
    }
    co_return CcloError::NONE;
}

CcloTask
CcloProcessor::TryAddress(uint32_t rank, uint32_t tag)
{
    return TryNotification([rank, tag](const Notification& n) {
        return n.type == CcloMessageType::RendezvousAddress && n.rank == rank &&
               (n.tag == tag || n.tag == CCLO_TAG_ANY);
    });
}

CcloTask
CcloProcessor::TryAnyAddress()
{
    m_served.resize(Size());
    const uint32_t status = co_await TryNotification([this](const Notification& n) {
        return n.type == CcloMessageType::RendezvousAddress && n.tag == CCLO_TAG_ANY &&
               n.rank < m_served.size() && !m_served[n.rank];
    });
    if (status == CcloError::NONE)
    {
        m_served[m_taken.rank] = true;
    }
    co_return status;
}

CcloTask
CcloProcessor::TryCompletion(uint32_t rank, uint32_t tag, uint64_t begin, uint64_t end)
{
    return TryNotification([=](const Notification& n) {
        return n.type == CcloMessageType::RendezvousDone && (rank == ANY_RANK || n.rank == rank) &&
               (n.tag == tag || n.tag == CCLO_TAG_ANY || tag == CCLO_TAG_ANY) &&
               n.address >= begin && n.address < end;
    });
}

CcloTask
CcloProcessor::AwaitAddress(uint32_t rank, uint32_t tag)
{
    return Await(Wait::Address, rank, [this, rank, tag] { return TryAddress(rank, tag); });
}

CcloTask
CcloProcessor::AwaitAnyAddress()
{
    return Await(Wait::Address, ANY_RANK, [this] { return TryAnyAddress(); });
}

CcloTask
CcloProcessor::AwaitCompletion(uint32_t rank, uint64_t begin, uint64_t end)
{
    return Await(Wait::Completion, rank, [=, this] {
        return TryCompletion(rank, CCLO_TAG_ANY, begin, end);
    });
}

CcloTask
CcloProcessor::TakeWrite(CcloCall call, uint64_t address, uint32_t tag)
{
    if (m_step == 0)
    {
        co_await SendAddress(call.peer, address, call.count, tag);
        m_step = 1;
    }
    co_return co_await TryCompletion(call.peer, tag, address, address + 1);
}

} // namespace ns3
