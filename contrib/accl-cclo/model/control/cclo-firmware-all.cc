/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// AllGather, AllToAll, Barrier.
#include "cclo-firmware.h"

namespace ns3
{

CcloTask
CcloFirmware::AllGather(CcloCall call)
{
    if (Size() == 1)
    {
        co_return co_await Copy(call);
    }
    if (IsEager(call))
    {
        co_return co_await AllGatherRing(call);
    }
    co_return co_await AllGatherWrites(call);
}

/// A rank sends its part to the next, then stores and relays what comes from the one before.
CcloTask
CcloFirmware::AllGatherRing(CcloCall call)
{
    CcloMove pointer = MakePointer(call);
    pointer.result = CcloOperand::Immediate;
    pointer.resultAddress = call.result;
    co_await StartMove(pointer);

    CcloMove copy = MakeMove(call);
    copy.op0 = CcloOperand::Immediate;
    copy.op0Address = call.op0;
    copy.result = CcloOperand::Stride;
    copy.resultStride = int64_t{call.count} * LocalRank();
    co_await StartMove(copy);

    CcloMove own = MakeToNext(call, OnWire(call.compression, CcloCompression::OP0));
    own.op0 = CcloOperand::Immediate;
    own.op0Address = call.op0;
    co_await StartMove(own);
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
        receive.op1 = CcloOperand::OnRecv;
        receive.receiveRank = Previous();
        receive.result = CcloOperand::Stride;
        receive.compression = OffWire(call.compression);
        errors |= co_await DoMove(receive);
        if (i == size - 2)
        {
            break;
        }
        CcloMove pointer = MakePointer(call);
        pointer.op1 = CcloOperand::Immediate;
        pointer.op1Address = call.result;
        co_await StartMove(pointer);

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
    if (Size() == 1)
    {
        co_return co_await Copy(call);
    }
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
    if (Size() == 1)
    {
        co_return CcloError::NONE;
    }
    m_flushRetries = true;
    if (!m_retries.empty())
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

} // namespace ns3
