/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Reduce, ReduceScatter, AllReduce.
#include "cclo-firmware.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// @return flags of a move that combines what came by the wire and sends it on
uint32_t
Relayed(uint32_t compression)
{
    return (compression & CcloCompression::OP0) |
           (compression & CcloCompression::WIRE ? CcloCompression::OP1 | CcloCompression::RESULT
                                                : 0);
}

/// @return flags of a move that combines what came by the wire and stores it
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
    if (Size() == 1)
    {
        co_return co_await Copy(call);
    }
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
    move.op1 = CcloOperand::OnRecv;
    move.receiveRank = Previous();
    move.result = isRoot && toStream ? CcloOperand::Stream : CcloOperand::Immediate;
    move.resultAddress = call.result;
    move.remote = !isRoot;
    move.sendRank = Next();
    move.sendTag = isRoot ? 0 : CCLO_TAG_ANY;
    move.compression = isRoot ? Stored(call.compression) : Relayed(call.compression);
    co_return co_await DoMove(move);
}

/// All ranks write to the root's first spare buffer; it adds what comes in the order it comes.
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
            move.op1 = CcloOperand::Immediate;
            move.op1Address = received;
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
    if (Size() == 1)
    {
        co_return co_await Copy(call);
    }
    if (IsEager(call))
    {
        co_return co_await ReduceScatterRing(call);
    }
    // Into rank 0's operand, and from there to all.
    CcloCall reduce = call;
    reduce.count = call.count * Size();
    reduce.peer = 0;
    reduce.result = call.op0;
    uint32_t errors = co_await Insist(&CcloFirmware::Reduce, reduce);
    m_step = 0;
    CcloCall scatter = call;
    scatter.peer = 0;
    errors |= co_await Insist(&CcloFirmware::Scatter, scatter);
    co_return errors;
}

CcloTask
CcloFirmware::ReduceScatterRing(CcloCall call)
{
    const RingParts parts{uint64_t{call.count} * Size(), call.count};
    co_return co_await ReduceRounds(call, parts, Previous(), std::nullopt);
}

CcloTask
CcloFirmware::ReduceRounds(CcloCall call,
                           RingParts parts,
                           uint32_t position,
                           std::optional<int64_t> resultStride)
{
    const uint32_t size = Size();
    const int64_t stride = parts.bulk;
    CcloMove pointer = MakePointer(call);
    pointer.op0 = CcloOperand::Immediate;
    pointer.op0Address = call.op0;
    if (resultStride)
    {
        pointer.result = CcloOperand::Immediate;
        pointer.resultAddress = call.result;
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
        move.op1 = CcloOperand::OnRecv;
        move.receiveRank = Previous();
        co_await StartMove(move);
        errors |= co_await EndMove();
    }
    errors |= co_await EndMoves(2);
    co_return errors;
}

CcloTask
CcloFirmware::AllReduce(CcloCall call)
{
    if (Size() == 1)
    {
        co_return co_await Copy(call);
    }
    if (IsEager(call))
    {
        co_return co_await AllReduceRing(call);
    }
    CcloCall reduce = call;
    reduce.peer = 0;
    uint32_t errors = co_await Insist(&CcloFirmware::Reduce, reduce);
    if (errors != CcloError::NONE)
    {
        co_return errors;
    }
    m_step = 0;
    CcloCall broadcast = reduce;
    broadcast.op0 = call.result;
    errors |= co_await Insist(&CcloFirmware::Broadcast, broadcast);
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
    CcloMove pointer = MakePointer(call);
    pointer.op0 = CcloOperand::Immediate;
    pointer.op0Address = call.result;
    co_await StartMove(pointer);

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

} // namespace ns3
