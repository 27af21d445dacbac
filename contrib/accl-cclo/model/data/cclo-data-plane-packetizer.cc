/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// How the words of a move become messages.
#include "cclo-data-plane.h"

#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("CcloDataPlane");

namespace
{

/// Added to a stream's number in headers (SWITCH_M_BYPASS), so that 0 means memory.
constexpr uint32_t STREAM_BASE = 9;

} // namespace

void
CcloDataPlane::ReachPacketizer(uint64_t number)
{
    m_packetizing.push_back(number);
    if (!m_packetizerBusy && !m_packetizerWaits)
    {
        Packetize();
    }
}

CcloHeader
CcloDataPlane::MakeHeader(const Flight& flight, uint32_t bytes) const
{
    const CcloMove& move = flight.move;
    const CcloCommunicator communicator(*m_exchange, move.communicator);
    CcloHeader header;
    header.count = bytes;
    header.tag = move.sendTag;
    header.source = communicator.GetLocalRank();
    header.sequence = communicator.Get(move.sendRank, CcloCommunicator::OUTBOUND_SEQUENCE);
    header.stream = move.result == CcloOperand::Stream ? move.sendTag + STREAM_BASE : 0;
    header.session =
        static_cast<uint16_t>(communicator.Get(move.sendRank, CcloCommunicator::SESSION));
    header.type = move.rendezvous ? CcloMessageType::RendezvousData : CcloMessageType::Eager;
    header.host = move.hostOperands & CcloHostOperand::RESULT ? 1 : 0;
    header.address = move.rendezvous ? flight.resultAddress : 0;
    header.communicator = move.identity;
    return header;
}

void
CcloDataPlane::Packetize()
{
    Flight& flight = Find(m_packetizing.front());
    CcloCommunicator communicator(*m_exchange, flight.move.communicator);
    const uint32_t rank = flight.move.sendRank;
    const uint32_t left = flight.resultBytes - flight.sent;
    const uint32_t bytes =
        flight.move.rendezvous
            ? left
            : std::min(left, communicator.Get(rank, CcloCommunicator::MAX_SEGMENT_SIZE));
    CcloMessage message{MakeHeader(flight, bytes), {}};
    const uint32_t session = communicator.Get(rank, CcloCommunicator::SESSION);
    m_packetizerWaits = !m_network->CanSend(session, message.header);
    if (m_packetizerWaits)
    {
        NS_LOG_LOGIC("move " << flight.number << " waits for the network");
        return;
    }
    if (m_memory->HasContents())
    {
        const auto from = flight.outcome.begin() + flight.sent;
        message.data.assign(from, from + bytes);
    }
    if (!flight.move.rendezvous && flight.move.result != CcloOperand::Stream)
    {
        communicator.Set(rank, CcloCommunicator::OUTBOUND_SEQUENCE, message.header.sequence + 1);
    }
    // Its part of the time that all words of the move take, and one more for the header.
    const int64_t spanPs = static_cast<int64_t>(std::llround(
        static_cast<long double>(flight.stream.GetPicoSeconds()) * bytes / flight.resultBytes));
    const Time span = PicoSeconds(spanPs) + m_clockPeriod;
    NS_LOG_LOGIC("move " << flight.number << " sends " << message.header);
    flight.sent += bytes;
    m_packetizerBusy = true;
    m_network->Send(session, std::move(message), span.GetPicoSeconds());
    Simulator::Schedule(span, [this, epoch = m_epoch] {
        if (epoch == m_epoch)
        {
            OnPacketized();
        }
    });
}

void
CcloDataPlane::OnPacketized()
{
    Flight& flight = Find(m_packetizing.front());
    if (flight.sent < flight.resultBytes)
    {
        return Packetize();
    }
    if (flight.move.rendezvous && flight.sent != UINT32_MAX)
    {
        CcloMessage done{MakeHeader(flight, flight.resultBytes), {}};
        done.header.type = CcloMessageType::RendezvousDone;
        flight.sent = UINT32_MAX; // the peer is told once
        m_network->Send(done.header.session, std::move(done), 0);
    }
    m_draining = !m_network->IsDrained();
    if (m_draining)
    {
        return;
    }
    m_packetizing.pop_front();
    m_packetizerBusy = false;
    Done(flight);
    if (!m_packetizing.empty())
    {
        Packetize();
    }
    DecodeAll();
}

} // namespace ns3
