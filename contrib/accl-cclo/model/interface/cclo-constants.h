/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_CONSTANTS_H
#define CCLO_CONSTANTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/// Bytes on their way through an engine.
using CcloBytes = std::vector<uint8_t>;

/// Operations of an engine; the numbers are those of call descriptors.
enum class CcloOperation : uint32_t
{
    Config = 0,
    Copy = 1,
    Combine = 2,
    Send = 3,
    Recv = 4,
    Bcast = 5,
    Scatter = 6,
    Gather = 7,
    Reduce = 8,
    AllGather = 9,
    AllReduce = 10,
    ReduceScatter = 11,
    Barrier = 12,
    AllToAll = 13,
    Nop = 255
};

/// Functions of CcloOperation::Config; word "function" of the call.
enum class CcloConfigFunction : uint32_t
{
    Reset = 0,
    EnablePackets = 1,
    SetTimeout = 2,
    SetMaxEagerSize = 3,
    SetMaxRendezvousSize = 4
};

/// Combinations of operands; word "function" of the call.
enum class CcloReduceFunction : uint32_t
{
    Sum = 0,
    Max = 1
};

/// Types of elements.
enum class CcloDataType : uint8_t
{
    Float16,
    Float32,
    Float64,
    Int32,
    Int64
};

/// Bits of a call's word "compression flags".
struct CcloCompression
{
    static constexpr uint32_t NONE = 0;
    static constexpr uint32_t OP0 = 1;    ///< operand 0 is compressed in memory
    static constexpr uint32_t OP1 = 2;    ///< operand 1 is
    static constexpr uint32_t RESULT = 4; ///< the result is to be
    static constexpr uint32_t WIRE = 8;   ///< data are compressed on the network
};

/// Bits 0 to 7 of a call's word "buffer flags": operands that are streams of a kernel.
struct CcloStream
{
    static constexpr uint32_t NONE = 0;
    static constexpr uint32_t OP0 = 1;
    static constexpr uint32_t RESULT = 2;
};

/// Bits 8 to 15 of a call's word "buffer flags", shifted down: operands in the host's memory.
struct CcloHostOperand
{
    static constexpr uint32_t OP0 = 1;
    static constexpr uint32_t OP1 = 2;
    static constexpr uint32_t RESULT = 4;
};

/// Bits of the return value.
struct CcloError
{
    static constexpr uint32_t NONE = 0;
    static constexpr uint32_t DMA_DECODE = 1U << 2; ///< address outside all buffers
    static constexpr uint32_t COLLECTIVE_NOT_IMPLEMENTED = 1U << 14;
    static constexpr uint32_t EAGER_THRESHOLD_INVALID = 1U << 16;
    static constexpr uint32_t RENDEZVOUS_THRESHOLD_INVALID = 1U << 17;
    static constexpr uint32_t DMA_SIZE = 1U << 18;    ///< larger than a spare buffer
    static constexpr uint32_t ARITHMETIC = 1U << 19;  ///< function the unit does not have
    static constexpr uint32_t COMPRESSION = 1U << 22; ///< conversion the lane does not have
    static constexpr uint32_t NOT_READY = 1U << 31;   ///< internal: try the call again
};

/// A tag that matches every tag.
inline constexpr uint32_t CCLO_TAG_ANY = 0xFFFFFFFF;

/// @return the operation's name, as in "AllReduce"
std::string_view CcloOperationName(CcloOperation operation);

/// @return the type's name, as in "float32"
std::string_view CcloDataTypeName(CcloDataType type);

/// @return bytes of an element
uint32_t CcloDataTypeBytes(CcloDataType type);

/// @return ACCL's names of all bits set in a return value, joined by ", "; "" for none
std::string CcloErrorNames(uint32_t value);

} // namespace ns3

#endif /* CCLO_CONSTANTS_H */
