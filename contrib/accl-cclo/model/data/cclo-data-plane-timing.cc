/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// What a move holds, and for how long.
#include "cclo-data-plane.h"

#include "ns3/simulator.h"

#include <algorithm>
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

Time
CcloDataPlane::PlanRoute(Flight& flight)
{
    const CcloMove& move = flight.move;
    const CcloArithmeticConfig& config = flight.config;
    const bool op0Compressed = move.compression & CcloCompression::OP0;
    const bool op1Compressed = move.compression & CcloCompression::OP1;
    const bool resultCompressed = move.compression & CcloCompression::RESULT;
    const bool arithmetic = move.op0 != CcloOperand::None && move.op1 != CcloOperand::None;
    const bool form = arithmetic ? config.computesCompressed : resultCompressed;

    std::array<Unit, UNITS> held{};
    uint32_t heldCount = 0;
    const auto hold = [&](Unit unit) { held[heldCount++] = unit; };
    // By CcloMemoryKind; PCIe carries both ways at once, the card's memories one.
    std::array<uint64_t, 3> readBytes{};
    std::array<uint64_t, 3> writtenBytes{};
    Time path = m_switchLatency;
    Time read;
    Time stream = WordTime(flight.resultBytes);
    bool inputLane = false;
    const auto operand = [&](CcloOperand from,
                             uint64_t address,
                             uint32_t bytes,
                             Unit channel,
                             Unit lane,
                             bool isCompressed) {
        if (from == CcloOperand::None)
        {
            return;
        }
        hold(from == CcloOperand::Stream ? STREAM_IN : channel);
        stream = std::max(stream, WordTime(bytes));
        if (from != CcloOperand::Stream)
        {
            read = std::max(read, MemoryLatency(address));
            readBytes[static_cast<uint8_t>(CcloMemory::KindOf(address))] += bytes;
        }
        if (isCompressed != form)
        {
            hold(lane);
            inputLane = true;
        }
    };
    const uint64_t op1Address =
        flight.pieces.empty() ? flight.op1Address : flight.pieces.front().address;
    operand(move.op0, flight.op0Address, flight.op0Bytes, READ_0, LANE_0, op0Compressed);
    operand(move.op1, op1Address, flight.op1Bytes, READ_1, LANE_1, op1Compressed);
    if (inputLane)
    {
        path += m_switchLatency + m_compressionLatency;
    }
    if (arithmetic)
    {
        hold(ARITHMETIC);
        path += m_switchLatency + m_arithmeticLatency;
        if (form != resultCompressed)
        {
            hold(LANE_2);
            path += m_switchLatency + m_compressionLatency;
        }
    }
    Time end = m_packetizerLatency;
    if (!move.remote)
    {
        const bool toStream = move.result == CcloOperand::Stream;
        end = toStream ? Time(0) : MemoryLatency(flight.resultAddress);
        if (!toStream)
        {
            const auto kind = static_cast<uint8_t>(CcloMemory::KindOf(flight.resultAddress));
            writtenBytes[kind] += flight.resultBytes;
        }
        hold(toStream ? STREAM_OUT : WRITE_1);
    }
    for (const auto kind : {CcloMemoryKind::Hbm, CcloMemoryKind::Ddr, CcloMemoryKind::Host})
    {
        const uint64_t in = readBytes[static_cast<uint8_t>(kind)];
        const uint64_t out = writtenBytes[static_cast<uint8_t>(kind)];
        const uint64_t bytes = kind == CcloMemoryKind::Host ? std::max(in, out) : in + out;
        stream = std::max(stream, BandwidthTime(kind, bytes));
    }
    flight.stream = stream;
    flight.latency = m_moverLatency + read + path + end;

    Time begin =
        Simulator::Now() + m_decodeLatency + m_matchTime * static_cast<int64_t>(flight.scanned);
    for (uint32_t i = 0; i < heldCount; ++i)
    {
        begin = std::max(begin, m_busyUntil[held[i]]);
    }
    begin = AfterHazards(flight, begin);
    for (uint32_t i = 0; i < heldCount; ++i)
    {
        m_busyUntil[held[i]] = begin + stream;
    }
    if (!move.remote && move.result != CcloOperand::Stream && move.result != CcloOperand::None)
    {
        m_writes.push_back(
            {flight.resultAddress, flight.resultBytes, begin + flight.latency + stream});
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
