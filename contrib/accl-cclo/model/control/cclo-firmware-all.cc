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
    const uint32_t size = Size();
    const int64_t count = call.count;
    CcloMove prime = MakeMove(call);
    prime.count = 0;
    prime.compression = CcloCompression::NONE;
    prime.result = CcloOperand::Immediate;
    prime.resultAddress = call.result;
    co_await StartMove(prime);

    CcloMove copy = MakeMove(call);
    copy.op0 = CcloOperand::Immediate;
    copy.op0Address = call.op0;
    copy.result = CcloOperand::Stride;
    copy.resultStride = count * LocalRank();
    co_await StartMove(copy);

    CcloMove own = MakeMove(call);
    own.op0 = CcloOperand::Immediate;
    own.op0Address = call.op0;
    own.result = CcloOperand::Immediate;
    own.remote = true;
    own.compression = OnWire(call.compression, CcloCompression::OP0);
    own.sendRank = Next();
    co_await StartMove(own);
    uint32_t errors = co_await EndMoves(3);

    uint32_t position = LocalRank();
    for (uint32_t i = 0; i < size - 1; ++i)
    {
        CcloMove receive = MakeMove(call);
        receive.op1 = CcloOperand::OnRecv;
        receive.receiveRank = Previous();
        receive.result = CcloOperand::Stride;
        receive.resultStride = position == 0 ? count * (size - 1) : -count;
        receive.compression = (call.compression & CcloCompression::RESULT) |
                              (call.compression & CcloCompression::WIRE ? CcloCompression::OP1 : 0);
        errors |= co_await DoMove(receive);
        position = (position + size - 1) % size;
        if (i == size - 2)
        {
            break;
        }
        CcloMove reprime = MakeMove(call);
        reprime.count = 0;
        reprime.compression = CcloCompression::NONE;
        reprime.op1 = CcloOperand::Immediate;
        reprime.op1Address = call.result;
        co_await StartMove(reprime);

        CcloMove relay = MakeMove(call);
        relay.op1 = CcloOperand::Stride;
        relay.op1Stride = count * position;
        relay.result = CcloOperand::Immediate;
        relay.remote = true;
        relay.compression = OnWire(call.compression, 0) |
                            (call.compression & CcloCompression::RESULT ? CcloCompression::OP1 : 0);
        relay.sendRank = Next();
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
        CcloMove copy = MakeMove(call);
        copy.op0 = CcloOperand::Immediate;
        copy.op0Address = call.op0;
        copy.result = CcloOperand::Immediate;
        copy.resultAddress = call.result + local * bytes;
        co_await StartMove(copy);
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
    CcloMove copy = MakeMove(call);
    copy.op0 = CcloOperand::Immediate;
    copy.op0Address = call.op0 + local * bytes;
    copy.result = CcloOperand::Immediate;
    copy.resultAddress = call.result + local * bytes;
    co_await StartMove(copy);
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
