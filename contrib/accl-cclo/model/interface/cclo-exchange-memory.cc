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

CcloExchangeMemory::CcloExchangeMemory(uint32_t bytes)
    : m_words(bytes / 4)
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
