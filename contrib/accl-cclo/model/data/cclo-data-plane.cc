/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-data-plane.h"

#include "cclo-plugins.h"

#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("CcloDataPlane");

// Moves are decoded in order (DecodeAll). The first one waits until its operands are at hand:
// messages in rx buffers (Gather), data of a kernel's stream (TakeStream). Then PlanRoute()
// computes everything at once: the units on the move's way, the time of all words in the slowest
// place, and its begin, the earliest time at which these units are free and earlier writes to
// its operands have ended (AfterHazards). It marks the units as busy until the last word, so the
// next move can be decoded at once. Begin() computes the contents, Finish() writes them. Moves
// to other ranks go to the packetizer instead, which cuts them into messages and keeps the
// network's pace. Moves end in the order in which they began (Retire).

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
    // At most one more move with words for the packetizer waits in front of it.
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

NS_OBJECT_ENSURE_REGISTERED(CcloDataPlane);

TypeId
CcloDataPlane::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloDataPlane")
            .SetParent<Object>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloDataPlane>()
            .AddAttribute("ClockPeriod",
                          "Time of a cycle (250 MHz: Xilinx/ACCL@723d8ec, FREQ_HZ)",
                          TimeValue(NanoSeconds(4)),
                          MakeTimeAccessor(&CcloDataPlane::m_clockPeriod),
                          MakeTimeChecker(PicoSeconds(1)))
            .AddAttribute("Width",
                          "Bytes per cycle of every stream (DATAPATH_WIDTH_BYTES)",
                          UintegerValue(64),
                          MakeUintegerAccessor(&CcloDataPlane::m_width),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("FifoDepth",
                          "Moves that wait to be decoded (dma_mover.cpp)",
                          UintegerValue(16),
                          MakeUintegerAccessor(&CcloDataPlane::m_fifoDepth),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("DecodeLatency",
                          "To decode a move and start its units (an assumption: 16 cycles)",
                          TimeValue(NanoSeconds(64)),
                          MakeTimeAccessor(&CcloDataPlane::m_decodeLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MatchTime",
                          "To compare a message sought with one that waits (rxbuf_seek.cpp: one "
                          "cycle each)",
                          TimeValue(NanoSeconds(4)),
                          MakeTimeAccessor(&CcloDataPlane::m_matchTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MoverLatency",
                          "Of a data mover, from command to request (an assumption: 16 cycles)",
                          TimeValue(NanoSeconds(64)),
                          MakeTimeAccessor(&CcloDataPlane::m_moverLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("SwitchLatency",
                          "Of each way through the stream switch (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_switchLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ArithmeticLatency",
                          "Of the arithmetic unit (an assumption: 12 cycles, as a floating-point "
                          "adder has)",
                          TimeValue(NanoSeconds(48)),
                          MakeTimeAccessor(&CcloDataPlane::m_arithmeticLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("CompressionLatency",
                          "Of a compression lane (an assumption: 4 cycles)",
                          TimeValue(NanoSeconds(16)),
                          MakeTimeAccessor(&CcloDataPlane::m_compressionLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("PacketizerLatency",
                          "Of the packetizer (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_packetizerLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("DepacketizerLatency",
                          "Of the depacketizer (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_depacketizerLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("HbmBandwidth",
                          "Of the card's HBM (Alveo U55C data sheet: 460 GB/s)",
                          DataRateValue(DataRate("3680Gb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_hbmBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("HbmLatency",
                          "Of the card's HBM (Wang et al., FCCM 2020: 107 ns, page hit)",
                          TimeValue(NanoSeconds(107)),
                          MakeTimeAccessor(&CcloDataPlane::m_hbmLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("DdrBandwidth",
                          "Of the card's DDR (one channel of DDR4-2400: 19.2 GB/s)",
                          DataRateValue(DataRate("153600Mb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_ddrBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("DdrLatency",
                          "Of the card's DDR (Wang et al., FCCM 2020: 73 ns, page hit)",
                          TimeValue(NanoSeconds(73)),
                          MakeTimeAccessor(&CcloDataPlane::m_ddrLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("HostBandwidth",
                          "To the host's memory, each way (PCIe 3.0 x16, 256-byte payloads and 24 "
                          "bytes around each: 14.4 GB/s)",
                          DataRateValue(DataRate("115200Mb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_hostBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("HostLatency",
                          "To the host's memory (Neugebauer et al., SIGCOMM 2018: about 0.9 us)",
                          TimeValue(NanoSeconds(900)),
                          MakeTimeAccessor(&CcloDataPlane::m_hostLatency),
                          MakeTimeChecker(Time(0)))
            .AddTraceSource("MoveStart",
                            "A move begins to read",
                            MakeTraceSourceAccessor(&CcloDataPlane::m_moveStart),
                            "ns3::CcloDataPlane::MoveStartCallback")
            .AddTraceSource("MoveDone",
                            "A move has ended, and those before it",
                            MakeTraceSourceAccessor(&CcloDataPlane::m_moveDone),
                            "ns3::CcloDataPlane::MoveDoneCallback");
    return tid;
}

// --- The contents of a move's operands and result.

CcloBytes
CcloDataPlane::ReadOperand1(const Flight& flight)
{
    if (flight.move.op1 != CcloOperand::OnRecv)
    {
        const std::span<uint8_t> data = m_memory->At(flight.op1Address, flight.op1Bytes);
        return {data.begin(), data.end()};
    }
    CcloBytes data;
    data.reserve(flight.op1Bytes);
    for (const Piece& piece : flight.pieces)
    {
        const std::span<uint8_t> part = m_memory->At(piece.address, piece.bytes);
        data.insert(data.end(), part.begin(), part.end());
    }
    data.resize(flight.op1Bytes);
    return data;
}

CcloBytes
CcloDataPlane::ToForm(const Flight& flight, CcloBytes data, bool isCompressed, bool wanted) const
{
    if (isCompressed == wanted)
    {
        return data;
    }
    return CcloCompressionLane::Convert(wanted ? flight.config.compressor
                                               : flight.config.decompressor,
                                        data);
}

void
CcloDataPlane::Compute(Flight& flight)
{
    const CcloMove& move = flight.move;
    CcloBytes op0 = std::move(flight.streamed);
    if (move.op0 != CcloOperand::None && move.op0 != CcloOperand::Stream)
    {
        const std::span<uint8_t> data = m_memory->At(flight.op0Address, flight.op0Bytes);
        op0.assign(data.begin(), data.end());
    }
    const bool op0Compressed = move.IsCompressed(CcloCompression::OP0);
    const bool op1Compressed = move.IsCompressed(CcloCompression::OP1);
    const bool resultCompressed = move.IsCompressed(CcloCompression::RESULT);
    if (move.UsesArithmetic())
    {
        const bool form = flight.config.computesCompressed;
        op0 = ToForm(flight, std::move(op0), op0Compressed, form);
        const CcloBytes op1 = ToForm(flight, ReadOperand1(flight), op1Compressed, form);
        CcloArithmetic::Combine(flight.config.functions[move.function], op0, op1);
        flight.outcome = ToForm(flight, std::move(op0), form, resultCompressed);
    }
    else if (move.op1 != CcloOperand::None)
    {
        flight.outcome = ToForm(flight, ReadOperand1(flight), op1Compressed, resultCompressed);
    }
    else
    {
        flight.outcome = ToForm(flight, std::move(op0), op0Compressed, resultCompressed);
    }
}

// --- How the words of a move become messages.

/// Added to a stream's number in headers (SWITCH_M_BYPASS), so that 0 means memory.
constexpr uint32_t STREAM_BASE = 9;

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
    // The message's share of the time of all words of the move, and a cycle for the header.
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

// --- The units that a move holds, and for how long.

Time
CcloDataPlane::WordTime(uint64_t bytes) const
{
    return m_clockPeriod * static_cast<int64_t>((bytes + m_width - 1) / m_width);
}

Time
CcloDataPlane::BandwidthTime(CcloMemoryKind kind, uint64_t bytes) const
{
    const DataRate& rate = kind == CcloMemoryKind::Hbm   ? m_hbmBandwidth
                           : kind == CcloMemoryKind::Ddr ? m_ddrBandwidth
                                                         : m_hostBandwidth;
    const long double bits = 8.0L * static_cast<long double>(bytes);
    return PicoSeconds(static_cast<int64_t>(
        std::ceil(bits * 1e12L / static_cast<long double>(rate.GetBitRate()))));
}

Time
CcloDataPlane::MemoryLatency(uint64_t address) const
{
    switch (CcloMemory::KindOf(address))
    {
    case CcloMemoryKind::Hbm:
        return m_hbmLatency;
    case CcloMemoryKind::Ddr:
        return m_ddrLatency;
    case CcloMemoryKind::Host:
        break;
    }
    return m_hostLatency;
}

Time
CcloDataPlane::GetWriteTime(uint64_t address, uint64_t bytes) const
{
    return std::max(WordTime(bytes), BandwidthTime(CcloMemory::KindOf(address), bytes)) +
           MemoryLatency(address);
}

/// An operand of a move on its way to where it is used.
struct CcloDataPlane::RouteOperand
{
    CcloOperand from;
    uint64_t address;
    uint32_t bytes;
    Unit channel; ///< that reads it
    Unit lane;    ///< that converts it
    bool isConverted;
};

/// Units that the words of a move pass, and the time that they take.
struct CcloDataPlane::Route
{
    bool converts{false}; ///< operands; both lanes do so at once
    boost::container::static_vector<Unit, UNITS> held;
    // By CcloMemoryKind.
    std::array<uint64_t, 3> readBytes{};
    std::array<uint64_t, 3> writtenBytes{};
    Time read;   ///< until the first word has been read
    Time path;   ///< from there to the last unit
    Time end;    ///< from there to where it goes
    Time stream; ///< from the first word to the last, at one unit
};

void
CcloDataPlane::AddOperand(Route& route, const RouteOperand& operand) const
{
    if (operand.from == CcloOperand::None)
    {
        return;
    }
    const bool isStream = operand.from == CcloOperand::Stream;
    route.held.push_back(isStream ? STREAM_IN : operand.channel);
    route.stream = std::max(route.stream, WordTime(operand.bytes));
    if (!isStream)
    {
        route.read = std::max(route.read, MemoryLatency(operand.address));
        route.readBytes[static_cast<uint8_t>(CcloMemory::KindOf(operand.address))] += operand.bytes;
    }
    if (operand.isConverted)
    {
        route.held.push_back(operand.lane);
        route.converts = true;
    }
}

void
CcloDataPlane::AddOperands(Route& route, const Flight& flight) const
{
    const CcloMove& move = flight.move;
    const bool op0Compressed = move.IsCompressed(CcloCompression::OP0);
    const bool op1Compressed = move.IsCompressed(CcloCompression::OP1);
    const bool resultCompressed = move.IsCompressed(CcloCompression::RESULT);
    const bool arithmetic = move.UsesArithmetic();
    const bool form = arithmetic ? flight.config.computesCompressed : resultCompressed;
    const RouteOperand op0{move.op0,
                           flight.op0Address,
                           flight.op0Bytes,
                           READ_0,
                           LANE_0,
                           op0Compressed != form};
    const RouteOperand op1{move.op1,
                           flight.pieces.empty() ? flight.op1Address
                                                 : flight.pieces.front().address,
                           flight.op1Bytes,
                           READ_1,
                           LANE_1,
                           op1Compressed != form};
    const Time conversion = m_switchLatency + m_compressionLatency;
    route.path = m_switchLatency;
    AddOperand(route, op0);
    AddOperand(route, op1);
    route.path += route.converts ? conversion : Time(0);
    if (arithmetic)
    {
        route.held.push_back(ARITHMETIC);
        route.path += m_switchLatency + m_arithmeticLatency;
        if (form != resultCompressed)
        {
            route.held.push_back(LANE_2);
            route.path += conversion;
        }
    }
}

void
CcloDataPlane::AddResult(Route& route, const Flight& flight) const
{
    route.stream = std::max(route.stream, WordTime(flight.resultBytes));
    if (flight.move.remote)
    {
        route.end = m_packetizerLatency;
    }
    else if (flight.move.result == CcloOperand::Stream)
    {
        route.held.push_back(STREAM_OUT);
    }
    else
    {
        route.held.push_back(WRITE_1);
        route.end = MemoryLatency(flight.resultAddress);
        const auto kind = static_cast<uint8_t>(CcloMemory::KindOf(flight.resultAddress));
        route.writtenBytes[kind] += flight.resultBytes;
    }
}

void
CcloDataPlane::LimitByMemories(Route& route) const
{
    for (const auto kind : {CcloMemoryKind::Hbm, CcloMemoryKind::Ddr, CcloMemoryKind::Host})
    {
        const uint64_t in = route.readBytes[static_cast<uint8_t>(kind)];
        const uint64_t out = route.writtenBytes[static_cast<uint8_t>(kind)];
        // PCIe carries both ways at once, the card's memories one.
        const uint64_t bytes = kind == CcloMemoryKind::Host ? std::max(in, out) : in + out;
        route.stream = std::max(route.stream, BandwidthTime(kind, bytes));
    }
}

Time
CcloDataPlane::PlanRoute(Flight& flight)
{
    Route route;
    AddOperands(route, flight);
    AddResult(route, flight);
    LimitByMemories(route);
    flight.stream = route.stream;
    flight.latency = m_moverLatency + route.read + route.path + route.end;

    Time begin =
        Simulator::Now() + m_decodeLatency + m_matchTime * static_cast<int64_t>(flight.scanned);
    for (const Unit unit : route.held)
    {
        begin = std::max(begin, m_busyUntil[unit]);
    }
    begin = AfterHazards(flight, begin);
    for (const Unit unit : route.held)
    {
        m_busyUntil[unit] = begin + flight.stream;
    }
    const CcloMove& move = flight.move;
    if (!move.remote && move.result != CcloOperand::Stream && move.result != CcloOperand::None)
    {
        m_writes.push_back(
            {flight.resultAddress, flight.resultBytes, begin + flight.latency + flight.stream});
    }
    return begin;
}

Time
CcloDataPlane::AfterHazards(const Flight& flight, Time begin)
{
    std::erase_if(m_writes, [](const Write& write) { return write.end <= Simulator::Now(); });
    const auto wait = [&](CcloOperand operand, uint64_t address, uint64_t bytes) {
        if (operand == CcloOperand::None || operand == CcloOperand::Stream ||
            operand == CcloOperand::OnRecv)
        {
            return;
        }
        for (const Write& write : m_writes)
        {
            if (address < write.address + write.bytes && write.address < address + bytes)
            {
                begin = std::max(begin, write.end);
            }
        }
    };
    wait(flight.move.op0, flight.op0Address, flight.op0Bytes);
    wait(flight.move.op1, flight.op1Address, flight.op1Bytes);
    return begin;
}

} // namespace ns3
