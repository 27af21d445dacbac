/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-firmware.h"

#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ns3
{

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
    if (onNetwork && Size() == 1)
    {
        if (call.operation == CcloOperation::Bcast || call.operation == CcloOperation::Barrier)
        {
            co_return CcloError::NONE;
        }
        if (call.operation >= CcloOperation::Reduce)
        {
            co_return co_await Copy(call);
        }
    }
    co_return co_await(this->*ROUTINES[number])(call);
}

// --- AllGather, AllToAll, Barrier.

CcloTask
CcloFirmware::AllGather(CcloCall call)
{
    return IsEager(call) ? AllGatherRing(call) : AllGatherWrites(call);
}

/// A rank sends its part to the next, then stores and relays the parts from the one before.
CcloTask
CcloFirmware::AllGatherRing(CcloCall call)
{
    co_await StartMove(MakePointer(call).ResultAt(call.result));

    CcloMove copy = MakeMove(call).Op0At(call.op0);
    copy.result = CcloOperand::Stride;
    copy.resultStride = int64_t{call.count} * LocalRank();
    co_await StartMove(copy);

    co_await StartMove(
        MakeToNext(call, OnWire(call.compression, CcloCompression::OP0)).Op0At(call.op0));
    uint32_t errors = co_await EndMoves(3);
    const RingParts parts{uint64_t{call.count} * Size(), call.count};
    errors |= co_await GatherRounds(call, parts, LocalRank());
    co_return errors;
}

CcloTask
CcloFirmware::GatherRounds(CcloCall call, RingParts parts, uint32_t position)
{
    const uint32_t size = Size();
    const int64_t stride = parts.bulk;
    uint32_t errors = CcloError::NONE;
    for (uint32_t i = 0; i < size - 1; ++i)
    {
        CcloMove receive = MakeMove(call);
        receive.resultStride = position == 0 ? stride * (size - 1) : -stride;
        position = (position + size - 1) % size;
        receive.count = parts.CountOf(position);
        receive.ReceiveFrom(Previous());
        receive.result = CcloOperand::Stride;
        receive.compression = OffWire(call.compression);
        errors |= co_await DoMove(receive);
        if (i == size - 2)
        {
            break;
        }
        co_await StartMove(MakePointer(call).Op1At(call.result));

        const bool isCompressed = call.compression & CcloCompression::RESULT;
        CcloMove relay =
            MakeToNext(call,
                       OnWire(call.compression, 0) | (isCompressed ? CcloCompression::OP1 : 0));
        relay.count = parts.CountOf(position);
        relay.op1 = CcloOperand::Stride;
        relay.op1Stride = stride * position;
        co_await StartMove(relay);
        errors |= co_await EndMoves(2);
    }
    co_return errors;
}

/// The same ring, written straight into the next rank's buffer.
CcloTask
CcloFirmware::AllGatherWrites(CcloCall call)
{
    const uint64_t bytes = Bytes(call);
    const uint32_t size = Size();
    const uint32_t local = LocalRank();
    const uint32_t next = Next();
    if (m_step == 0)
    {
        co_await StartMove(MakeCopy(call, call.op0, call.result + local * bytes));
        co_await SendAddress(Previous(), call.result, call.count, CCLO_TAG_ANY);
        m_step = 1;
    }
    if (co_await TryAddress(next, CCLO_TAG_ANY) == CcloError::NOT_READY)
    {
        co_return CcloError::NOT_READY;
    }
    const Notification downstream = m_taken;
    uint32_t errors = co_await EndMove();
    uint32_t pending = 0;
    for (uint32_t part = local;; part = (part + size - 1) % size)
    {
        if (part != local)
        {
            co_await AwaitCompletion(Previous(),
                                     call.result + part * bytes,
                                     call.result + part * bytes + 1);
        }
        if (part == next)
        {
            break;
        }
        CcloMove write = MakeWrite(call, call.result + part * bytes, next);
        write.resultAddress = downstream.address + part * bytes;
        write.hostOperands = downstream.host ? CcloHostOperand::RESULT : 0;
        co_await StartMove(write);
        errors |= co_await BoundMoves(pending, 2);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

/// Each rank is the root of a scatter, all at the same time, in the order in which peers are ready.
CcloTask
CcloFirmware::AllToAll(CcloCall call)
{
    if (call.compression != CcloCompression::NONE)
    {
        co_return CcloError::COLLECTIVE_NOT_IMPLEMENTED;
    }
    const uint64_t bytes = Bytes(call);
    const uint32_t local = LocalRank();
    co_await StartMove(MakeCopy(call, call.op0 + local * bytes, call.result + local * bytes));
    for (uint32_t rank = 0; rank < Size(); ++rank)
    {
        if (rank != local)
        {
            co_await SendAddress(rank, call.result + rank * bytes, call.count, CCLO_TAG_ANY);
        }
    }
    uint32_t pending = 1;
    uint32_t errors = CcloError::NONE;
    for (uint32_t served = 1; served < Size(); ++served)
    {
        co_await AwaitAnyAddress();
        co_await StartMove(MakeWrite(call, call.op0 + m_taken.rank * bytes, m_taken.rank));
        errors |= co_await BoundMoves(pending, 2);
    }
    for (uint32_t written = 1; written < Size(); ++written)
    {
        co_await AwaitCompletion(ANY_RANK, call.result, call.result + Size() * bytes);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

/// Rank 0 hears of every rank, then tells each. Calls to be tried again come first.
CcloTask
CcloFirmware::Barrier(CcloCall call)
{
    m_flushRetries = true;
    if (HasRetries())
    {
        co_return CcloError::NOT_READY;
    }
    if (LocalRank() == 0)
    {
        for (uint32_t rank = 1; rank < Size(); ++rank)
        {
            co_await AwaitAddress(rank, CCLO_TAG_ANY);
        }
        for (uint32_t rank = 1; rank < Size(); ++rank)
        {
            co_await SendAddress(rank, 0, 0, CCLO_TAG_ANY);
        }
    }
    else
    {
        co_await SendAddress(0, 0, 0, CCLO_TAG_ANY);
        co_await AwaitAddress(0, CCLO_TAG_ANY);
    }
    m_flushRetries = false;
    co_return CcloError::NONE;
}

// --- Copy, Combine, Send, Recv.

CcloTask
CcloFirmware::Copy(CcloCall call)
{
    return DoMove(MakeLocal(call));
}

CcloTask
CcloFirmware::Combine(CcloCall call)
{
    return DoMove(MakeLocal(call).Op1At(call.op1));
}

CcloTask
CcloFirmware::Send(CcloCall call)
{
    if (IsEager(call))
    {
        co_return co_await SendEager(call);
    }
    if (co_await TryAddress(call.peer, call.tag) == CcloError::NOT_READY)
    {
        co_return CcloError::NOT_READY;
    }
    CcloMove move = MakeWrite(call, call.op0, call.peer);
    move.sendTag = call.tag;
    co_return co_await DoMove(move);
}

CcloTask
CcloFirmware::SendEager(CcloCall call)
{
    const uint32_t segment = SegmentElements();
    const bool fromStream = call.Streams() & CcloStream::OP0;
    uint32_t pending = 0;
    uint32_t errors = CcloError::NONE;
    for (uint32_t begin = 0; begin < call.count; begin += segment)
    {
        CcloMove move = MakeMove(call);
        move.op0 = fromStream   ? CcloOperand::Stream
                   : begin == 0 ? CcloOperand::Immediate
                                : CcloOperand::Stride;
        move.op0Address = call.op0;
        move.op0Stride = segment;
        move.result =
            call.Streams() & CcloStream::RESULT ? CcloOperand::Stream : CcloOperand::Immediate;
        move.remote = call.peer != LocalRank();
        move.compression = OnWire(call.compression, CcloCompression::OP0 | CcloCompression::RESULT);
        move.count = std::min(segment, call.count - begin);
        move.sendRank = call.peer;
        move.sendTag = call.tag;
        co_await StartMove(move);
        errors |= co_await BoundMoves(pending, 2);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

CcloTask
CcloFirmware::Recv(CcloCall call)
{
    return IsEager(call) ? RecvEager(call) : TakeWrite(call, call.result, call.tag);
}

CcloTask
CcloFirmware::RecvEager(CcloCall call)
{
    const uint32_t segment = SegmentElements();
    const bool toStream = call.Streams() & CcloStream::RESULT;
    uint32_t pending = 0;
    uint32_t errors = CcloError::NONE;
    for (uint32_t begin = 0; begin < call.count; begin += segment)
    {
        CcloMove move = MakeMove(call);
        move.op1 = CcloOperand::OnRecv;
        move.result = toStream     ? CcloOperand::Stream
                      : begin == 0 ? CcloOperand::Immediate
                                   : CcloOperand::Stride;
        move.resultAddress = call.result;
        move.resultStride = segment;
        move.compression = OffWire(call.compression);
        move.count = std::min(segment, call.count - begin);
        move.receiveRank = call.peer;
        move.receiveTag = call.tag;
        move.sendTag = toStream ? call.tag : 0;
        co_await StartMove(move);
        errors |= co_await BoundMoves(pending, 2);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

// --- Reduce, ReduceScatter, AllReduce.

namespace
{

/// @return flags of a move that combines wire data and sends the result on
uint32_t
Relayed(uint32_t compression)
{
    return (compression & CcloCompression::OP0) |
           (compression & CcloCompression::WIRE ? CcloCompression::OP1 | CcloCompression::RESULT
                                                : 0);
}

/// @return flags of a move that combines wire data and stores the result
uint32_t
Stored(uint32_t compression)
{
    return (compression & (CcloCompression::OP0 | CcloCompression::RESULT)) |
           (compression & CcloCompression::WIRE ? CcloCompression::OP1 : 0);
}

} // namespace

CcloTask
CcloFirmware::Reduce(CcloCall call)
{
    if (IsEager(call))
    {
        co_return co_await ReduceRing(call);
    }
    const uint64_t bytes = Bytes(call);
    if (bytes > m_maxRendezvousBytes)
    {
        co_return CcloError::DMA_SIZE; // does not fit into a spare buffer
    }
    const bool wantsFlat =
        Size() <= m_exchange->ReadFromEnd(CcloExchangeMemory::REDUCE_FLAT_MAX_RANKS) ||
        bytes <= m_exchange->ReadFromEnd(CcloExchangeMemory::REDUCE_FLAT_MAX_BYTES);
    if (!wantsFlat || bytes * Size() > m_maxRendezvousBytes)
    {
        co_return co_await ReduceTree(call);
    }
    if (call.peer == LocalRank())
    {
        co_return co_await ReduceFlatRoot(call);
    }
    co_await AwaitAddress(call.peer, CCLO_TAG_ANY);
    co_return co_await DoMove(MakeWrite(call, call.op0, call.peer));
}

/// From the rank behind the root round to it, each adds its operand.
CcloTask
CcloFirmware::ReduceRing(CcloCall call)
{
    const bool fromStream = call.Streams() & CcloStream::OP0;
    const bool toStream = call.Streams() & CcloStream::RESULT;
    if (Previous() == call.peer)
    {
        CcloCall send = call;
        send.peer = Next();
        send.tag = CCLO_TAG_ANY;
        send.compression &= CcloCompression::OP0 | CcloCompression::WIRE;
        send.bufferFlags = fromStream ? CcloStream::OP0 : CcloStream::NONE;
        co_return co_await SendEager(send);
    }
    const bool isRoot = call.peer == LocalRank();
    CcloMove move = MakeMove(call);
    move.op0 = fromStream ? CcloOperand::Stream : CcloOperand::Immediate;
    move.op0Address = call.op0;
    move.ReceiveFrom(Previous());
    move.result = isRoot && toStream ? CcloOperand::Stream : CcloOperand::Immediate;
    move.resultAddress = call.result;
    move.remote = !isRoot;
    move.sendRank = Next();
    move.sendTag = isRoot ? 0 : CCLO_TAG_ANY;
    move.compression = isRoot ? Stored(call.compression) : Relayed(call.compression);
    co_return co_await DoMove(move);
}

/// All ranks write to the root's first spare buffer; it adds them in the order of arrival.
CcloTask
CcloFirmware::ReduceFlatRoot(CcloCall call)
{
    const uint64_t bytes = Bytes(call);
    const uint32_t others = Size() - 1;
    const uint64_t inbox = m_exchange->ReadSpareBuffer(0);
    for (uint32_t rank = 0; rank < Size(); ++rank)
    {
        if (rank != call.peer)
        {
            co_await SendAddress(rank, inbox + rank * bytes, call.count, CCLO_TAG_ANY);
        }
    }
    uint32_t pending = 0;
    uint32_t errors = CcloError::NONE;
    uint64_t accumulated = call.op0;
    for (uint32_t i = 0; i < others; ++i)
    {
        co_await AwaitCompletion(ANY_RANK, inbox, inbox + Size() * bytes);
        CcloMove add = MakeMove(call);
        add.op0 = add.op1 = add.result = CcloOperand::Immediate;
        add.op0Address = accumulated;
        add.op1Address = m_taken.address;
        accumulated = i == others - 1 ? call.result : m_exchange->ReadSpareBuffer(i % 2 ? 1 : 2);
        add.resultAddress = accumulated;
        co_await StartMove(add);
        errors |= co_await BoundMoves(pending, 2);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

/**
 * Binary tree: in round n a rank at a distance of 2^n from one that goes on writes to its spare
 * buffer; the sum of the round before and the write are one move.
 */
CcloTask
CcloFirmware::ReduceTree(CcloCall call)
{
    const uint32_t size = Size();
    const uint32_t place = (LocalRank() + size - call.peer) % size;
    const bool isRoot = place == 0;
    uint32_t errors = CcloError::NONE;
    uint64_t accumulated = call.op0;
    uint64_t received = 0; // where the round before has received; 0: it has not
    for (uint32_t round = 0;; ++round)
    {
        const uint32_t distance = 1U << round;
        const bool sends = !isRoot && place % (2 * distance) != 0;
        const bool receives = !sends && place + distance < size;
        const bool last = sends || (isRoot && !receives);
        const uint32_t receiver = (place + size - distance + call.peer) % size;
        const uint32_t sender = (place + distance + call.peer) % size;
        // A peer may write to this round's inbox while the sum reads that of the round before.
        const uint64_t inbox = m_exchange->ReadSpareBuffer(round % 2);
        const uint64_t sum = isRoot && last ? call.result : m_exchange->ReadSpareBuffer(2);
        CcloMove move = MakeMove(call);
        move.op0 = move.result = CcloOperand::Immediate;
        if (sends)
        {
            co_await AwaitAddress(receiver, CCLO_TAG_ANY);
            move = MakeWrite(call, accumulated, receiver);
        }
        move.op0Address = accumulated;
        if (received)
        {
            move.Op1At(received);
        }
        if (!sends)
        {
            move.resultAddress = sum;
        }
        if (receives)
        {
            co_await SendAddress(sender, inbox, call.count, CCLO_TAG_ANY);
        }
        if (sends || received)
        {
            errors |= co_await DoMove(move);
            accumulated = sum;
        }
        if (last)
        {
            co_return errors;
        }
        received = 0;
        if (receives)
        {
            co_await AwaitCompletion(sender, inbox, inbox + 1);
            received = inbox;
        }
    }
}

CcloTask
CcloFirmware::ReduceScatter(CcloCall call)
{
    if (IsEager(call))
    {
        co_return co_await ReduceScatterRing(call);
    }
    // Into rank 0's operand, and from there to all.
    CcloCall reduce = call;
    reduce.count = call.count * Size();
    reduce.peer = 0;
    reduce.result = call.op0;
    uint32_t errors = co_await Insist([this, reduce] { return Reduce(reduce); });
    m_step = 0;
    CcloCall scatter = call;
    scatter.peer = 0;
    errors |= co_await Insist([this, scatter] { return Scatter(scatter); });
    co_return errors;
}

CcloTask
CcloFirmware::ReduceScatterRing(CcloCall call)
{
    const RingParts parts{uint64_t{call.count} * Size(), call.count};
    return ReduceRounds(call, parts, Previous(), std::nullopt);
}

CcloTask
CcloFirmware::ReduceRounds(CcloCall call,
                           RingParts parts,
                           uint32_t position,
                           std::optional<int64_t> resultStride)
{
    const uint32_t size = Size();
    const int64_t stride = parts.bulk;
    CcloMove pointer = MakePointer(call).Op0At(call.op0);
    if (resultStride)
    {
        pointer.ResultAt(call.result);
    }
    co_await StartMove(pointer);

    CcloMove first = MakeToNext(call, OnWire(call.compression, CcloCompression::OP0));
    first.count = parts.CountOf(position);
    first.op0 = CcloOperand::Stride;
    first.op0Stride = stride * position;
    co_await StartMove(first);

    uint32_t errors = CcloError::NONE;
    for (uint32_t i = 0; i < size - 1; ++i)
    {
        const bool stores = i == size - 2;
        CcloMove move = stores ? MakeMove(call) : MakeToNext(call, Relayed(call.compression));
        if (stores)
        {
            move.result = resultStride ? CcloOperand::Stride : CcloOperand::Immediate;
            move.resultAddress = call.result;
            move.resultStride = resultStride.value_or(0);
            move.compression = Stored(call.compression);
        }
        move.op0 = CcloOperand::Stride;
        move.op0Stride = position == 0 ? stride * (size - 1) : -stride;
        position = (position + size - 1) % size;
        move.count = parts.CountOf(position);
        move.ReceiveFrom(Previous());
        errors |= co_await DoMove(move);
    }
    errors |= co_await EndMoves(2);
    co_return errors;
}

CcloTask
CcloFirmware::AllReduce(CcloCall call)
{
    if (IsEager(call))
    {
        co_return co_await AllReduceRing(call);
    }
    CcloCall reduce = call;
    reduce.peer = 0;
    uint32_t errors = co_await Insist([this, reduce] { return Reduce(reduce); });
    if (errors != CcloError::NONE)
    {
        co_return errors;
    }
    m_step = 0;
    CcloCall broadcast = reduce;
    broadcast.op0 = call.result;
    errors |= co_await Insist([this, broadcast] { return Broadcast(broadcast); });
    co_return errors;
}

/// A reduce-scatter and an allgather round the ring for each segment that fits into rx buffers.
CcloTask
CcloFirmware::AllReduceRing(CcloCall call)
{
    const uint32_t fits = SegmentElements();
    const uint32_t segment = std::max(fits - fits % Size(), Size());
    const uint32_t sourceBytes = ElementBytes(call, CcloCompression::OP0);
    const uint32_t resultBytes = ElementBytes(call, CcloCompression::RESULT);
    uint32_t errors = CcloError::NONE;
    CcloCall part = call;
    for (uint32_t begin = 0; begin < call.count; begin += segment)
    {
        const uint32_t elements = std::min(segment, call.count - begin);
        const RingParts parts{elements, (elements + Size() - 1) / Size()};
        errors |= co_await ReduceRounds(part, parts, LocalRank(), int64_t{parts.bulk} * Next());
        errors |= co_await AllReduceSegmentGather(part, parts);
        part.op0 += uint64_t{elements} * sourceBytes;
        part.result += uint64_t{elements} * resultBytes;
    }
    co_return errors;
}

/// Sends the sums of a reduce-scatter round the ring.
CcloTask
CcloFirmware::AllReduceSegmentGather(CcloCall call, RingParts parts)
{
    co_await StartMove(MakePointer(call).Op0At(call.result));

    const uint32_t position = Next();
    const bool isCompressed = call.compression & CcloCompression::RESULT;
    CcloMove first =
        MakeToNext(call, OnWire(call.compression, 0) | (isCompressed ? CcloCompression::OP0 : 0));
    first.count = parts.CountOf(position);
    first.op0 = CcloOperand::Stride;
    first.op0Stride = int64_t{parts.bulk} * position;
    co_await StartMove(first);
    uint32_t errors = co_await EndMoves(2);
    errors |= co_await GatherRounds(call, parts, position);
    co_return errors;
}

// --- Broadcast, Scatter, Gather: one rank has all, or gets all.

CcloTask
CcloFirmware::Broadcast(CcloCall call)
{
    if (IsEager(call))
    {
        return BroadcastEager(call);
    }
    const bool flat = Size() <= m_exchange->ReadFromEnd(CcloExchangeMemory::BCAST_FLAT_MAX_RANKS);
    return flat ? BroadcastFlat(call) : BroadcastTree(call);
}

/// The root sends each segment to every rank in turn.
CcloTask
CcloFirmware::BroadcastEager(CcloCall call)
{
    const uint32_t segment = SegmentElements();
    const bool isRoot = call.peer == LocalRank();
    const uint32_t sourceBytes = ElementBytes(call, CcloCompression::OP0);
    uint32_t pending = 0;
    uint32_t errors = CcloError::NONE;
    for (uint32_t begin = 0; begin < call.count; begin += segment)
    {
        CcloMove move = MakeMove(call);
        move.count = std::min(segment, call.count - begin);
        if (!isRoot)
        {
            move.ReceiveFrom(call.peer);
            move.result = begin == 0 ? CcloOperand::Immediate : CcloOperand::Increment;
            move.resultAddress = call.op0;
            move.compression = OffWire(call.compression);
            errors |= co_await DoMove(move);
            continue;
        }
        move.compression = OnWire(call.compression, CcloCompression::OP0);
        move.result = CcloOperand::Immediate;
        move.remote = true;
        move.op0Address = call.op0 + uint64_t{begin} * sourceBytes;
        const uint32_t count = move.count;
        for (uint32_t rank = 0; rank < Size(); ++rank)
        {
            move.op0 = rank == 0 ? CcloOperand::Immediate : CcloOperand::Repeat;
            move.count = rank == call.peer ? 0 : count;
            move.sendRank = rank;
            co_await StartMove(move);
            errors |= co_await BoundMoves(pending, 8);
        }
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

/// The root writes to the ranks in the order of their addresses' arrival, three writes at a time.
CcloTask
CcloFirmware::BroadcastFlat(CcloCall call)
{
    return call.peer != LocalRank() ? TakeWrite(call, call.op0, CCLO_TAG_ANY)
                                    : WriteToReady(call, 0, Size() - 1, 0);
}

/// Binomial: each rank with the data writes to the rank at half the distance of the round before.
CcloTask
CcloFirmware::BroadcastTree(CcloCall call)
{
    const uint32_t size = Size();
    const uint32_t place = (LocalRank() + size - call.peer) % size; // the root's is 0
    bool has = place == 0;
    uint32_t errors = CcloError::NONE;
    for (uint32_t distance = std::bit_floor(size - 1); distance > 0; distance /= 2)
    {
        if (has && place % (2 * distance) == 0 && place + distance < size)
        {
            const uint32_t receiver = (place + distance + call.peer) % size;
            co_await AwaitAddress(receiver, CCLO_TAG_ANY);
            errors |= co_await DoMove(MakeWrite(call, call.op0, receiver));
        }
        else if (!has && place % distance == 0)
        {
            const uint32_t sender = (place - distance + call.peer) % size;
            co_await SendAddress(sender, call.op0, call.count, CCLO_TAG_ANY);
            co_await AwaitCompletion(sender, call.op0, call.op0 + 1);
            has = true;
        }
    }
    co_return errors;
}

CcloTask
CcloFirmware::Scatter(CcloCall call)
{
    return IsEager(call)              ? ScatterEager(call)
           : call.peer == LocalRank() ? ScatterRoot(call)
                                      : TakeWrite(call, call.result, CCLO_TAG_ANY);
}

CcloTask
CcloFirmware::ScatterEager(CcloCall call)
{
    CcloMove move = MakeMove(call);
    if (call.peer != LocalRank())
    {
        move.ReceiveFrom(call.peer);
        move.ResultAt(call.result);
        move.compression = OffWire(call.compression);
        co_return co_await DoMove(move);
    }
    move.op0Address = call.op0;
    move.ResultAt(call.result);
    for (uint32_t rank = 0; rank < Size(); ++rank)
    {
        move.op0 = rank == 0 ? CcloOperand::Immediate : CcloOperand::Increment;
        move.remote = rank != call.peer;
        move.compression =
            move.remote ? OnWire(call.compression, CcloCompression::OP0) : call.compression & 7;
        move.sendRank = rank;
        co_await StartMove(move);
    }
    co_return co_await EndMoves(Size());
}

/// The root copies its own part, and writes to the ranks in the order of their addresses' arrival.
CcloTask
CcloFirmware::ScatterRoot(CcloCall call)
{
    const uint64_t bytes = Bytes(call);
    uint32_t pending = 0;
    if (m_step == 0)
    {
        co_await StartMove(MakeCopy(call, call.op0 + call.peer * bytes, call.result));
        pending = m_step = 1;
    }
    co_return co_await WriteToReady(call, bytes, Size(), pending);
}

CcloTask
CcloFirmware::WriteToReady(CcloCall call, uint64_t partBytes, uint32_t end, uint32_t pending)
{
    uint32_t errors = CcloError::NONE;
    while (m_step < end)
    {
        if (co_await TryAnyAddress() == CcloError::NOT_READY)
        {
            errors |= co_await EndMoves(pending);
            co_return errors == CcloError::NONE ? CcloError::NOT_READY : errors;
        }
        co_await StartMove(MakeWrite(call, call.op0 + m_taken.rank * partBytes, m_taken.rank));
        ++m_step;
        errors |= co_await BoundMoves(pending, 2);
    }
    errors |= co_await EndMoves(pending);
    co_return errors;
}

CcloTask
CcloFirmware::Gather(CcloCall call)
{
    const bool isRoot = call.peer == LocalRank();
    if (IsEager(call))
    {
        if (isRoot)
        {
            co_return co_await GatherRingRoot(call);
        }
        co_return co_await GatherRing(call);
    }
    if (isRoot)
    {
        co_return co_await GatherFlatRoot(call);
    }
    if (co_await TryAddress(call.peer, CCLO_TAG_ANY) == CcloError::NOT_READY)
    {
        co_return CcloError::NOT_READY;
    }
    co_return co_await DoMove(MakeWrite(call, call.op0, call.peer));
}

/// A rank sends its data to the next, then relays the data of those behind it.
CcloTask
CcloFirmware::GatherRing(CcloCall call)
{
    co_await StartMove(
        MakeToNext(call, OnWire(call.compression, CcloCompression::OP0)).Op0At(call.op0));

    CcloMove relay = MakeToNext(call,
                                call.compression & CcloCompression::WIRE
                                    ? CcloCompression::OP1 | CcloCompression::RESULT
                                    : CcloCompression::NONE)
                         .ReceiveFrom(Previous());
    const uint32_t behind = (Size() + LocalRank() - call.peer) % Size() - 1;
    for (uint32_t i = 0; i < behind; ++i)
    {
        co_await StartMove(relay);
    }
    co_return co_await EndMoves(behind + 1);
}

CcloTask
CcloFirmware::GatherRingRoot(CcloCall call)
{
    const uint32_t size = Size();
    co_await StartMove(MakePointer(call).ResultAt(call.result));

    uint32_t position = call.peer;
    for (uint32_t i = 0; i < size; ++i)
    {
        CcloMove move = MakeMove(call);
        move.result = CcloOperand::Stride;
        if (i == 0)
        {
            move.Op0At(call.op0);
            move.resultStride = int64_t{call.count} * position;
        }
        else
        {
            move.ReceiveFrom(Previous());
            move.compression = OffWire(call.compression);
            move.resultStride =
                position == size - 1 ? int64_t{call.count} * (size - 1) : -int64_t{call.count};
        }
        co_await StartMove(move);
        position = (position + size - 1) % size;
    }
    co_return co_await EndMoves(size + 1);
}

/// The root says where to write, to a few ranks at a time if the data are large.
CcloTask
CcloFirmware::GatherFlatRoot(CcloCall call)
{
    const uint64_t bytes = Bytes(call);
    const uint32_t others = Size() - 1;
    co_await StartMove(MakeCopy(call, call.op0, call.result + call.peer * bytes));

    const bool small = bytes <= m_exchange->ReadFromEnd(CcloExchangeMemory::GATHER_FLAT_MAX_BYTES);
    const uint32_t maxFanIn =
        small ? others
              : std::max(1U, m_exchange->ReadFromEnd(CcloExchangeMemory::GATHER_MAX_FAN_IN));
    uint32_t asked = 0;
    for (uint32_t completed = 0; completed < others; ++completed)
    {
        for (; asked < others && asked - completed < maxFanIn; ++asked)
        {
            const uint32_t rank = asked < call.peer ? asked : asked + 1;
            co_await SendAddress(rank, call.result + rank * bytes, call.count, CCLO_TAG_ANY);
        }
        co_await AwaitCompletion(ANY_RANK, call.result, call.result + Size() * bytes);
    }
    co_return co_await EndMove();
}

} // namespace ns3
