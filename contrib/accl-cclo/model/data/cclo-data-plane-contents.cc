/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// What a move makes of the contents of its operands.
#include "cclo-data-plane.h"

#include <span>
#include <utility>

namespace ns3
{

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

} // namespace ns3
