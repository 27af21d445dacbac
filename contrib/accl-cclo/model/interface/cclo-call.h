/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_CALL_H
#define CCLO_CALL_H

#include "cclo-constants.h"

#include <array>
#include <cstdint>
#include <span>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief A call of a collective engine: the 15 words of its descriptor.
 *
 * The order of the words is that in which ACCL's firmware reads them.
 */
struct CcloCall
{
    static constexpr uint32_t WORDS = 15;

    CcloOperation operation{CcloOperation::Nop};
    uint32_t count{0};            ///< elements; for Config: the value to set
    uint32_t communicator{0};     ///< its address in exchange memory
    uint32_t peer{0};             ///< root, source or destination rank
    uint32_t function{0};         ///< CcloReduceFunction or CcloConfigFunction
    uint32_t tag{CCLO_TAG_ANY};   ///< of Send and Recv
    uint32_t arithmeticConfig{0}; ///< its address in exchange memory
    uint32_t compression{0};      ///< CcloCompression
    uint32_t bufferFlags{0};      ///< CcloStream; from bit 8 on CcloHostOperand
    uint64_t op0{0};              ///< address of operand 0
    uint64_t op1{0};              ///< address of operand 1
    uint64_t result{0};           ///< address of the result

    /// @return CcloStream bits
    uint32_t Streams() const
    {
        return bufferFlags & 0xFF;
    }

    /// @return CcloHostOperand bits
    uint32_t HostOperands() const
    {
        return bufferFlags >> 8 & 0xFF;
    }

    /// @return the descriptor
    std::array<uint32_t, WORDS> ToWords() const;

    /// @return the call that a descriptor says
    static CcloCall FromWords(std::span<const uint32_t, WORDS> words);
};

} // namespace ns3

#endif /* CCLO_CALL_H */
