/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Broadcast, Scatter, Gather: one rank has all, or gets all.
#include "cclo-firmware.h"

#include <algorithm>
#include <bit>

namespace ns3
{

CcloTask
CcloFirmware::Broadcast(CcloCall call)
{
    if (Size() == 1)
    {
        co_return CcloError::NONE;
    }
    if (IsEager(call))
    {
        co_return co_await BroadcastEager(call);
    }
    const bool flat = Size() <= m_exchange->ReadFromEnd(CcloExchangeMemory::BCAST_FLAT_MAX_RANKS);
    if (flat)
    {
        co_return co_await BroadcastFlat(call);
    }
    co_return co_await BroadcastTree(call);
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
            move.op1 = CcloOperand::OnRecv;
            move.receiveRank = call.peer;
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

/// The root writes to whoever says first where, three writes at a time.
CcloTask
CcloFirmware::BroadcastFlat(CcloCall call)
{
    if (call.peer != LocalRank())
    {
        if (m_step == 0)
        {
            co_await SendAddress(call.peer, call.op0, call.count, CCLO_TAG_ANY);
            m_step = 1;
        }
        co_return co_await TryCompletion(call.peer, CCLO_TAG_ANY, call.op0, call.op0 + 1);
    }
    co_return co_await WriteToReady(call, 0, Size() - 1, 0);
}

/// Binomial: who has the data writes to the rank at half the distance of the round before.
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
    if (IsEager(call))
    {
        co_return co_await ScatterEager(call);
    }
    if (call.peer == LocalRank())
    {
        co_return co_await ScatterRoot(call);
    }
    if (m_step == 0)
    {
        co_await SendAddress(call.peer, call.result, call.count, CCLO_TAG_ANY);
        m_step = 1;
    }
    co_return co_await TryCompletion(call.peer, CCLO_TAG_ANY, call.result, call.result + 1);
}

CcloTask
CcloFirmware::ScatterEager(CcloCall call)
{
    CcloMove move = MakeMove(call);
    if (call.peer != LocalRank())
    {
        move.op1 = CcloOperand::OnRecv;
        move.receiveRank = call.peer;
        move.result = CcloOperand::Immediate;
        move.resultAddress = call.result;
        move.compression = OffWire(call.compression);
        co_return co_await DoMove(move);
    }
    move.op0Address = call.op0;
    move.result = CcloOperand::Immediate;
    move.resultAddress = call.result;
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

/// The root copies its own part, and writes to whoever says first where.
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

/// A rank sends its data to the next, then relays what comes from those behind it.
CcloTask
CcloFirmware::GatherRing(CcloCall call)
{
    CcloMove own = MakeToNext(call, OnWire(call.compression, CcloCompression::OP0));
    own.op0 = CcloOperand::Immediate;
    own.op0Address = call.op0;
    co_await StartMove(own);

    CcloMove relay = MakeToNext(call,
                                call.compression & CcloCompression::WIRE
                                    ? CcloCompression::OP1 | CcloCompression::RESULT
                                    : CcloCompression::NONE);
    relay.op1 = CcloOperand::OnRecv;
    relay.receiveRank = Previous();
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
    CcloMove pointer = MakePointer(call);
    pointer.result = CcloOperand::Immediate;
    pointer.resultAddress = call.result;
    co_await StartMove(pointer);

    uint32_t position = call.peer;
    for (uint32_t i = 0; i < size; ++i)
    {
        CcloMove move = MakeMove(call);
        move.result = CcloOperand::Stride;
        if (i == 0)
        {
            move.op0 = CcloOperand::Immediate;
            move.op0Address = call.op0;
            move.resultStride = int64_t{call.count} * position;
        }
        else
        {
            move.op1 = CcloOperand::OnRecv;
            move.receiveRank = Previous();
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
