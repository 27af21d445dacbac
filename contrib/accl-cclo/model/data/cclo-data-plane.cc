/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-data-plane.h"

#include "ns3/assert.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("CcloDataPlane");

CcloDataPlane::CcloDataPlane() = default;

CcloDataPlane::~CcloDataPlane() = default;

void
CcloDataPlane::Install(CcloExchangeMemory& exchange,
                       CcloMemory& memory,
                       CcloRxBuffers& rxBuffers,
                       CcloProtocolEngine& network,
                       Listener& listener)
{
    m_exchange = &exchange;
    m_memory = &memory;
    m_rxBuffers = &rxBuffers;
    m_network = &network;
    m_listener = &listener;
}

void
CcloDataPlane::DoDispose()
{
    Reset();
    m_listener = nullptr;
    m_network = nullptr;
    m_streamSink = nullptr;
    Object::DoDispose();
}

void
CcloDataPlane::Reset()
{
    ++m_epoch;
    m_queue.clear();
    m_flying.clear();
    m_packetizing.clear();
    m_writes.clear();
    m_streamData.clear();
    m_streamBytes = 0;
    m_busyUntil.fill(Time(0));
    m_last.fill({});
    m_cachedConfigAddress = UINT32_MAX;
    m_wait = Wait::None;
    m_packetizerWaits = m_packetizerBusy = m_draining = false;
}

void
CcloDataPlane::Issue(const CcloMove& move)
{
    NS_ASSERT(!IsFull());
    Flight flight;
    flight.number = m_nextNumber++;
    flight.move = move;
    m_queue.push_back(std::move(flight));
    DecodeAll();
}

void
CcloDataPlane::OnProgress()
{
    if (m_draining && m_network->IsDrained())
    {
        m_draining = false;
        OnPacketized();
    }
    else if (m_packetizerWaits)
    {
        Packetize();
    }
    DecodeAll();
}

void
CcloDataPlane::DecodeAll()
{
    while (!m_queue.empty() && TryDispatch(m_queue.front()))
    {
        m_queue.pop_front();
        m_listener->OnDecoded();
    }
}

bool
CcloDataPlane::TryDispatch(Flight& flight)
{
    m_wait = Wait::None;
    if (!flight.prepared)
    {
        Prepare(flight);
    }
    if (!Gather(flight) || !TakeStream(flight))
    {
        return false;
    }
    // A move's words may stand in front of the packetizer, but not those of more than one.
    if (flight.move.remote && m_packetizing.size() > 1)
    {
        m_wait = Wait::Packetizer;
        return false;
    }
    const bool nothing = flight.move.count == 0 || flight.error != 0;
    const Time begin = nothing ? Simulator::Now() + m_decodeLatency : PlanRoute(flight);
    const uint64_t number = flight.number;
    const bool local = !flight.move.remote;
    const Time lasts = flight.latency + flight.stream;
    m_flying.push_back(std::move(flight));
    const Time wait = begin - Simulator::Now();
    if (nothing)
    {
        ScheduleFor(wait, number, &CcloDataPlane::FinishNothing);
        return true;
    }
    ScheduleFor(wait, number, &CcloDataPlane::Begin);
    if (local)
    {
        // Now, so that it comes before a later move that begins at its end.
        ScheduleFor(wait + lasts, number, &CcloDataPlane::Finish);
    }
    return true;
}

void
CcloDataPlane::ScheduleFor(Time wait, uint64_t number, void (CcloDataPlane::*step)(uint64_t))
{
    Simulator::Schedule(wait, [this, number, step, epoch = m_epoch] {
        if (epoch == m_epoch)
        {
            (this->*step)(number);
        }
    });
}

void
CcloDataPlane::FinishNothing(uint64_t number)
{
    Done(Find(number));
}

uint64_t
CcloDataPlane::Resolve(CcloOperand operand,
                       uint64_t address,
                       int64_t stride,
                       uint32_t elementBytes,
                       uint32_t bytes,
                       LastAddress& last)
{
    switch (operand)
    {
    case CcloOperand::Increment:
        address = last.address + last.bytes;
        break;
    case CcloOperand::Repeat:
        address = last.address;
        break;
    case CcloOperand::Stride:
        address = last.address + static_cast<uint64_t>(stride * elementBytes);
        break;
    case CcloOperand::Immediate:
        break;
    default:
        return 0;
    }
    last = {address, bytes};
    return address;
}

void
CcloDataPlane::Prepare(Flight& flight)
{
    const CcloMove& move = flight.move;
    flight.prepared = true;
    if (move.arithmeticConfig != m_cachedConfigAddress)
    {
        m_cachedConfig = CcloArithmeticConfig::Read(*m_exchange, move.arithmeticConfig);
        m_cachedConfigAddress = move.arithmeticConfig;
    }
    flight.config = m_cachedConfig;
    const CcloArithmeticConfig& config = flight.config;
    const auto element = [&](uint32_t flag) {
        return move.IsCompressed(flag) ? config.compressedBytes : config.uncompressedBytes;
    };
    const auto length = [&](uint32_t flag) {
        return (move.IsCompressed(flag) ? move.count >> config.elementRatioLog : move.count) *
               element(flag);
    };
    flight.op0Bytes = length(CcloCompression::OP0);
    flight.op1Bytes = length(CcloCompression::OP1);
    flight.resultBytes = length(CcloCompression::RESULT);
    flight.op0Address = Resolve(move.op0,
                                move.op0Address,
                                move.op0Stride,
                                element(CcloCompression::OP0),
                                flight.op0Bytes,
                                m_last[0]);
    flight.op1Address = Resolve(move.op1,
                                move.op1Address,
                                move.op1Stride,
                                element(CcloCompression::OP1),
                                flight.op1Bytes,
                                m_last[1]);
    flight.resultAddress = move.remote ? move.resultAddress
                                       : Resolve(move.result,
                                                 move.resultAddress,
                                                 move.resultStride,
                                                 element(CcloCompression::RESULT),
                                                 flight.resultBytes,
                                                 m_last[2]);
    flight.remaining = move.op1 == CcloOperand::OnRecv ? flight.op1Bytes : 0;
    if (move.count > 0)
    {
        CheckRanges(flight);
    }
}

void
CcloDataPlane::CheckRanges(Flight& flight) const
{
    const CcloMove& move = flight.move;
    const auto check = [&](CcloOperand operand, uint64_t address, uint32_t bytes) {
        const bool inMemory = operand != CcloOperand::None && operand != CcloOperand::Stream &&
                              operand != CcloOperand::OnRecv;
        if (inMemory && !m_memory->Contains(address, bytes))
        {
            flight.error |= CcloError::DMA_DECODE;
        }
    };
    check(move.op0, flight.op0Address, flight.op0Bytes);
    check(move.op1, flight.op1Address, flight.op1Bytes);
    if (!move.remote)
    {
        check(move.result, flight.resultAddress, flight.resultBytes);
    }
    if (move.UsesArithmetic() && move.function >= flight.config.functions.size())
    {
        flight.error |= CcloError::ARITHMETIC;
    }
    const bool anyCompressed = move.compression & 7;
    if (anyCompressed && flight.config.uncompressedBytes == flight.config.compressedBytes)
    {
        // Nothing to convert: compressed and uncompressed are the same.
        flight.move.compression = 0;
    }
}

bool
CcloDataPlane::Gather(Flight& flight)
{
    const CcloMove& move = flight.move;
    if (flight.remaining == 0)
    {
        return true;
    }
    CcloCommunicator communicator(*m_exchange, move.communicator);
    while (flight.remaining > 0)
    {
        const uint32_t sequence =
            communicator.Get(move.receiveRank, CcloCommunicator::INBOUND_SEQUENCE);
        const CcloRxBuffers::Match match =
            m_rxBuffers->Seek(move.identity, move.receiveRank, move.receiveTag, sequence);
        if (!match.found)
        {
            m_wait = Wait::Message;
            return false;
        }
        flight.scanned += match.scanned;
        flight.pieces.push_back({match.buffer, match.bytes, match.address});
        flight.remaining -= std::min(flight.remaining, match.bytes);
        communicator.Set(move.receiveRank, CcloCommunicator::INBOUND_SEQUENCE, sequence + 1);
    }
    return true;
}

bool
CcloDataPlane::TakeStream(Flight& flight)
{
    if (flight.move.op0 != CcloOperand::Stream || flight.move.count == 0)
    {
        return true;
    }
    if (m_streamBytes < flight.op0Bytes)
    {
        m_wait = Wait::Stream;
        return false;
    }
    m_streamBytes -= flight.op0Bytes;
    while (m_memory->HasContents() && flight.streamed.size() < flight.op0Bytes)
    {
        CcloBytes& data = m_streamData.front();
        const std::size_t bytes =
            std::min<std::size_t>(data.size(), flight.op0Bytes - flight.streamed.size());
        const auto end = data.begin() + static_cast<std::ptrdiff_t>(bytes);
        flight.streamed.insert(flight.streamed.end(), data.begin(), end);
        data.erase(data.begin(), end);
        if (data.empty())
        {
            m_streamData.pop_front();
        }
    }
    return true;
}

CcloDataPlane::Flight&
CcloDataPlane::Find(uint64_t number)
{
    return m_flying[number - m_flying.front().number];
}

void
CcloDataPlane::Begin(uint64_t number)
{
    Flight& flight = Find(number);
    m_moveStart(flight.move);
    if (m_memory->HasContents())
    {
        Compute(flight);
    }
    if (flight.move.remote)
    {
        ScheduleFor(flight.latency, number, &CcloDataPlane::ReachPacketizer);
    }
}

void
CcloDataPlane::Finish(uint64_t number)
{
    Flight& flight = Find(number);
    if (flight.move.result == CcloOperand::Stream)
    {
        DeliverToStream(flight.move.sendTag, std::move(flight.outcome), flight.resultBytes);
    }
    else if (flight.move.result != CcloOperand::None)
    {
        const std::span<uint8_t> place = m_memory->At(flight.resultAddress, flight.resultBytes);
        std::copy_n(flight.outcome.begin(), place.size(), place.begin());
    }
    Done(flight);
}

void
CcloDataPlane::Done(Flight& flight)
{
    flight.done = true;
    flight.outcome = {};
    Retire();
}

void
CcloDataPlane::Retire()
{
    while (!m_flying.empty() && m_flying.front().done)
    {
        const Flight flight = std::move(m_flying.front());
        m_flying.pop_front();
        for (const Piece& piece : flight.pieces)
        {
            m_rxBuffers->Release(piece.buffer);
        }
        NS_LOG_LOGIC("move " << flight.number << " has ended: " << CcloErrorNames(flight.error));
        m_moveDone(flight.move, flight.error);
        m_listener->OnRetired(flight.error);
    }
}

void
CcloDataPlane::PushStream(CcloBytes data, uint64_t bytes)
{
    m_streamBytes += bytes;
    m_streamData.push_back(std::move(data));
    DecodeAll();
}

void
CcloDataPlane::DeliverToStream(uint32_t stream, CcloBytes&& data, uint64_t bytes)
{
    if (m_streamSink)
    {
        m_streamSink(stream, std::move(data), bytes);
    }
}

std::vector<std::string>
CcloDataPlane::DescribeWaits() const
{
    std::vector<std::string> lines;
    if (m_packetizerWaits || m_draining)
    {
        const auto& flight = m_flying[m_packetizing.front() - m_flying.front().number];
        const CcloCommunicator communicator(*m_exchange, flight.move.communicator);
        const uint32_t rank = flight.move.sendRank;
        lines.push_back(fmt::format(
            "the packetizer waits with {} bytes for rank {}: {}",
            flight.resultBytes,
            rank,
            m_network->DescribeSession(communicator.Get(rank, CcloCommunicator::SESSION))));
    }
    if (m_queue.empty())
    {
        return lines;
    }
    const Flight& flight = m_queue.front();
    if (m_wait == Wait::Message)
    {
        const CcloCommunicator communicator(*m_exchange, flight.move.communicator);
        const uint32_t rank = flight.move.receiveRank;
        lines.push_back(fmt::format(
            "a move waits for {} bytes from rank {}, tag {}, sequence {}; it holds {} of {} rx "
            "buffers",
            flight.remaining,
            rank,
            flight.move.receiveTag == CCLO_TAG_ANY ? "any" : std::to_string(flight.move.receiveTag),
            communicator.Get(rank, CcloCommunicator::INBOUND_SEQUENCE),
            flight.pieces.size(),
            m_rxBuffers->GetCount()));
    }
    else if (m_wait == Wait::Stream)
    {
        lines.push_back(fmt::format("a move waits for {} bytes of a kernel's stream, which has {}",
                                    flight.op0Bytes,
                                    m_streamBytes));
    }
    return lines;
}

} // namespace ns3
