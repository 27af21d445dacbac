/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Copy, Combine, Send, Recv.
#include "cclo-firmware.h"

#include <algorithm>

namespace ns3
{

CcloTask
CcloFirmware::Copy(CcloCall call)
{
    co_return co_await DoMove(MakeLocal(call));
}

CcloTask
CcloFirmware::Combine(CcloCall call)
{
    CcloMove move = MakeLocal(call);
    move.op1 = CcloOperand::Immediate;
    move.op1Address = call.op1;
    co_return co_await DoMove(move);
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
    if (IsEager(call))
    {
        co_return co_await RecvEager(call);
    }
    if (m_step == 0)
    {
        co_await SendAddress(call.peer, call.result, call.count, call.tag);
        m_step = 1;
    }
    co_return co_await TryCompletion(call.peer, call.tag, call.result, call.result + 1);
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
        move.compression = (call.compression & CcloCompression::RESULT) |
                           (call.compression & CcloCompression::WIRE ? CcloCompression::OP1 : 0);
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

} // namespace ns3
