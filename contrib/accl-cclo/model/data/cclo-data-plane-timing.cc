/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// What a move holds, and for how long.
#include "cclo-data-plane.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cmath>

namespace ns3
{

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

/// What the words of a move pass, and what that takes.
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
    Time stream; ///< for all words to pass one place
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
