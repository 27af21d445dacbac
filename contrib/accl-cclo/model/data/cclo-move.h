/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_MOVE_H
#define CCLO_MOVE_H

#include <cstdint>

namespace ns3
{

/// Source of an operand of a move, or destination of its result.
enum class CcloOperand : uint8_t
{
    None = 0,
    Stream = 1,    ///< a stream of a kernel; operand 0 and the result only
    Immediate = 2, ///< an address
    OnRecv = 3,    ///< the rx buffers of a message; operand 1 only
    Increment = 4, ///< behind the operand of the move before
    Repeat = 5,    ///< the same as that of the move before
    Stride = 6     ///< so many elements from that of the move before
};

/**
 * @ingroup accl-cclo
 * @brief A command of the firmware to the data plane.
 *
 * A move of no elements moves nothing, but sets the addresses that later ones refer to.
 */
struct CcloMove
{
    CcloOperand op0{CcloOperand::None};
    CcloOperand op1{CcloOperand::None};
    CcloOperand result{CcloOperand::None};
    bool remote{false};      ///< the result goes to another rank
    bool rendezvous{false};  ///< written to an address there, instead of into rx buffers
    uint8_t hostOperands{0}; ///< CcloHostOperand; says the receiver where its address is
    uint32_t compression{0}; ///< CcloCompression of operands and result
    uint32_t function{0};    ///< CcloReduceFunction
    uint32_t count{0};       ///< elements
    uint32_t arithmeticConfig{0};
    uint32_t communicator{0};
    uint64_t identity{0}; ///< of the communicator
    uint64_t op0Address{0};
    uint64_t op1Address{0};
    uint64_t resultAddress{0};
    int64_t op0Stride{0}; ///< elements
    int64_t op1Stride{0};
    int64_t resultStride{0};
    uint32_t receiveRank{0}; ///< of OnRecv
    uint32_t receiveTag{0};
    uint32_t sendRank{0}; ///< of remote results
    uint32_t sendTag{0};  ///< or the number of the kernel's stream

    /// @param flag of CcloCompression
    bool IsCompressed(uint32_t flag) const
    {
        return (compression & flag) != 0;
    }

    /// The first operand is at an address; likewise below.
    CcloMove& Op0At(uint64_t address)
    {
        op0 = CcloOperand::Immediate;
        op0Address = address;
        return *this;
    }

    CcloMove& Op1At(uint64_t address)
    {
        op1 = CcloOperand::Immediate;
        op1Address = address;
        return *this;
    }

    CcloMove& ResultAt(uint64_t address)
    {
        result = CcloOperand::Immediate;
        resultAddress = address;
        return *this;
    }

    CcloMove& ReceiveFrom(uint32_t rank)
    {
        op1 = CcloOperand::OnRecv;
        receiveRank = rank;
        return *this;
    }

    bool UsesArithmetic() const
    {
        return op0 != CcloOperand::None && op1 != CcloOperand::None;
    }
};

} // namespace ns3

#endif /* CCLO_MOVE_H */
