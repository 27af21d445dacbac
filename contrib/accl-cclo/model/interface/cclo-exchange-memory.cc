/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-exchange-memory.h"

#include "ns3/abort.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace ns3
{

// Of SevenWords: the bytes of each buffer stand before the records.
constexpr uint32_t SEVEN_SIZE = 0x804;
constexpr uint32_t SEVEN_RECORDS = 0x808;
constexpr uint32_t SEVEN_WORDS = 7;

// Of NineWords: address (2 words), largest length, DMA's tag, status, and of the message tag,
// length, source and sequence number.
constexpr uint32_t NINE_RECORDS = 0x804;
constexpr uint32_t NINE_WORDS = 9;
constexpr uint32_t NINE_MAX_LENGTH = 2;
constexpr std::array<uint32_t, SEVEN_WORDS> NINE_PLACES = {4, 0, 1, 5, 6, 7, 8}; // by Field

CcloExchangeMemory::CcloExchangeMemory(uint32_t bytes, CcloRxBufferLayout layout)
    : m_words(bytes / 4),
      m_layout(layout)
{
    NS_ABORT_MSG_IF(bytes < 0x1000 || bytes % 4,
                    "exchange memory has " << bytes
                                           << " bytes; expected a multiple of 4 from 4096");
    m_words[CONTROL / 4] = CONTROL_IDLE;
}

uint32_t
CcloExchangeMemory::CheckedIndex(uint32_t address) const
{
    NS_ABORT_MSG_IF(address % 4 || address / 4 >= m_words.size(),
                    "exchange memory has no word at address " << address);
    return address / 4;
}

uint32_t
CcloExchangeMemory::HostRead(uint32_t address)
{
    const uint32_t value = Read(address);
    if (address == CONTROL)
    {
        Write(CONTROL, value & ~(CONTROL_DONE | CONTROL_READY));
    }
    return value;
}

void
CcloExchangeMemory::HostWrite(uint32_t address, uint32_t value)
{
    if (address != CONTROL)
    {
        Write(address, value);
        return;
    }
    if (!(value & CONTROL_START))
    {
        return;
    }
    NS_ABORT_MSG_UNLESS(Read(CONTROL) & CONTROL_IDLE,
                        "the host starts a call while one is running");
    Write(CONTROL, CONTROL_START);
    std::array<uint32_t, CcloCall::WORDS> words;
    for (uint32_t i = 0; i < CcloCall::WORDS; ++i)
    {
        words[i] = Read(CALL_REGISTERS[i]);
    }
    m_start(CcloCall::FromWords(words));
}

void
CcloExchangeMemory::SetDone()
{
    Write(CONTROL, CONTROL_DONE | CONTROL_IDLE | CONTROL_READY);
    if (m_interrupt)
    {
        m_interrupt();
    }
}

uint64_t
CcloExchangeMemory::ReadSpareBuffer(uint32_t index) const
{
    const uint32_t distance = SPARE_BUFFERS - 8 * index;
    return static_cast<uint64_t>(ReadFromEnd(distance - 4)) << 32 | ReadFromEnd(distance);
}

CcloRxBufferTable
CcloExchangeMemory::GetRxBuffers() const
{
    return CcloRxBufferTable(m_layout);
}

uint32_t
CcloRxBufferTable::AddressOf(uint32_t buffer, Field field) const
{
    return m_layout == CcloRxBufferLayout::SevenWords
               ? SEVEN_RECORDS + 4 * (SEVEN_WORDS * buffer + field)
               : NINE_RECORDS + 4 * (NINE_WORDS * buffer + NINE_PLACES[field]);
}

uint32_t
CcloRxBufferTable::EndOf(uint32_t buffers) const
{
    return m_layout == CcloRxBufferLayout::SevenWords ? SEVEN_RECORDS + 4 * SEVEN_WORDS * buffers
                                                      : NINE_RECORDS + 4 * NINE_WORDS * buffers;
}

void
CcloRxBufferTable::Describe(CcloExchangeMemory& memory,
                            uint32_t buffer,
                            uint64_t address,
                            uint32_t bytes) const
{
    memory.HostWrite(AddressOf(buffer, STATUS), IDLE);
    memory.HostWrite(AddressOf(buffer, ADDRESS_LOW), static_cast<uint32_t>(address));
    memory.HostWrite(AddressOf(buffer, ADDRESS_HIGH), static_cast<uint32_t>(address >> 32));
    memory.HostWrite(m_layout == CcloRxBufferLayout::SevenWords
                         ? SEVEN_SIZE
                         : NINE_RECORDS + 4 * (NINE_WORDS * buffer + NINE_MAX_LENGTH),
                     bytes);
}

uint32_t
CcloRxBufferTable::GetBufferBytes(const CcloExchangeMemory& memory) const
{
    return memory.Read(m_layout == CcloRxBufferLayout::SevenWords
                           ? SEVEN_SIZE
                           : NINE_RECORDS + 4 * NINE_MAX_LENGTH);
}

uint64_t
CcloCommunicator::GetIdentity() const
{
    // FNV-1a, by words; two lists of members collide by a chance of 2^-64.
    uint64_t identity = 0xCBF29CE484222325;
    const auto add = [&identity](uint32_t word) { identity = (identity ^ word) * 0x100000001B3; };
    for (uint32_t rank = 0; rank < GetSize(); ++rank)
    {
        add(Get(rank, IP));
        add(Get(rank, PORT));
    }
    return identity;
}

CcloArithmeticConfig
CcloArithmeticConfig::Read(const CcloExchangeMemory& memory, uint32_t address)
{
    const auto word = [&](uint32_t index) { return memory.Read(address + 4 * index); };
    CcloArithmeticConfig config{.uncompressedBytes = word(0),
                                .compressedBytes = word(1),
                                .elementRatioLog = word(2),
                                .compressor = word(3),
                                .decompressor = word(4),
                                .computesCompressed = word(6) != 0,
                                .functions = {}};
    for (uint32_t i = 0; i < std::min(word(5), MAX_FUNCTIONS); ++i)
    {
        config.functions.push_back(word(7 + i));
    }
    return config;
}

uint32_t
CcloArithmeticConfig::Write(CcloExchangeMemory& memory, uint32_t address) const
{
    std::vector<uint32_t> words = {uncompressedBytes,
                                   compressedBytes,
                                   elementRatioLog,
                                   compressor,
                                   decompressor,
                                   static_cast<uint32_t>(functions.size()),
                                   computesCompressed};
    words.insert(words.end(), functions.begin(), functions.end());
    for (const uint32_t word : words)
    {
        memory.HostWrite(address, word);
        address += 4;
    }
    return address;
}

CcloArithmeticConfig
CcloArithmeticConfig::Of(CcloDataType type, CcloDataType compressed)
{
    // The arithmetic unit's functions: sums of float32, float64, int32, int64, float16 are 0 to 4,
    // maxima 5 to 9.
    const auto sumOf = [](CcloDataType t) -> uint32_t {
        switch (t)
        {
        case CcloDataType::Float32:
            return 0;
        case CcloDataType::Float64:
            return 1;
        case CcloDataType::Int32:
            return 2;
        case CcloDataType::Int64:
            return 3;
        case CcloDataType::Float16:
            break;
        }
        return 4;
    };
    const bool converts = type == CcloDataType::Float32 && compressed == CcloDataType::Float16;
    if (type != compressed && !converts)
    {
        throw std::invalid_argument(
            fmt::format("{} cannot travel as {}; expected float32 as float16",
                        CcloDataTypeName(type),
                        CcloDataTypeName(compressed)));
    }
    const uint32_t sum = sumOf(converts ? compressed : type);
    return {.uncompressedBytes = CcloDataTypeBytes(type),
            .compressedBytes = CcloDataTypeBytes(compressed),
            .elementRatioLog = 0,
            .compressor = 0,
            .decompressor = converts ? 1U : 0U,
            .computesCompressed = converts,
            .functions = {sum, sum + 5}};
}

} // namespace ns3
