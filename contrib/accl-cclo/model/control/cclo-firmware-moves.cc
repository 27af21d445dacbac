/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Moves of the data plane: made for a call, started and ended.
#include "cclo-firmware.h"

namespace ns3
{

CcloTask
CcloFirmware::StartMove(CcloMove move)
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
CcloFirmware::EndMove()
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
CcloFirmware::EndMoves(uint32_t count)
{
    uint32_t errors = CcloError::NONE;
    for (; count > 0; --count)
    {
        errors |= co_await EndMove();
    }
    co_return errors;
}

CcloTask
CcloFirmware::BoundMoves(uint32_t& pending, uint32_t limit)
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
CcloFirmware::DoMove(CcloMove move)
{
    co_await StartMove(move);
    co_return co_await EndMove();
}

void
CcloFirmware::OnRetired(uint32_t error)
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
CcloFirmware::OnDecoded()
{
    if (m_wait == Wait::Fifo)
    {
        Wake();
    }
}

CcloMove
CcloFirmware::MakeMove(const CcloCall& call) const
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
CcloFirmware::MakeWrite(const CcloCall& call, uint64_t from, uint32_t rank) const
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
CcloFirmware::MakePointer(const CcloCall& call) const
{
    CcloMove move = MakeMove(call);
    move.count = 0;
    move.compression = CcloCompression::NONE;
    return move;
}

CcloMove
CcloFirmware::MakeLocal(const CcloCall& call) const
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
CcloFirmware::MakeCopy(const CcloCall& call, uint64_t from, uint64_t to) const
{
    CcloMove move = MakeMove(call);
    move.op0 = CcloOperand::Immediate;
    move.op0Address = from;
    move.result = CcloOperand::Immediate;
    move.resultAddress = to;
    return move;
}

CcloMove
CcloFirmware::MakeToNext(const CcloCall& call, uint32_t compression) const
{
    CcloMove move = MakeMove(call);
    move.result = CcloOperand::Immediate;
    move.remote = true;
    move.compression = compression;
    move.sendRank = Next();
    return move;
}

uint32_t
CcloFirmware::OnWire(uint32_t compression, uint32_t keep)
{
    return (compression & keep) |
           (compression & CcloCompression::WIRE ? CcloCompression::RESULT : 0);
}

uint32_t
CcloFirmware::OffWire(uint32_t compression)
{
    return (compression & CcloCompression::RESULT) |
           (compression & CcloCompression::WIRE ? CcloCompression::OP1 : 0);
}

} // namespace ns3
