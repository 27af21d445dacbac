/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-call.h"

namespace ns3
{

std::array<uint32_t, CcloCall::WORDS>
CcloCall::ToWords() const
{
    const auto low = [](uint64_t address) { return static_cast<uint32_t>(address); };
    const auto high = [](uint64_t address) { return static_cast<uint32_t>(address >> 32); };
    return {static_cast<uint32_t>(operation),
            count,
            communicator,
            peer,
            function,
            tag,
            arithmeticConfig,
            compression,
            bufferFlags,
            low(op0),
            high(op0),
            low(op1),
            high(op1),
            low(result),
            high(result)};
}

CcloCall
CcloCall::FromWords(std::span<const uint32_t, WORDS> words)
{
    const auto address = [&](uint32_t low) {
        return static_cast<uint64_t>(words[low + 1]) << 32 | words[low];
    };
    return {.operation = static_cast<CcloOperation>(words[0]),
            .count = words[1],
            .communicator = words[2],
            .peer = words[3],
            .function = words[4],
            .tag = words[5],
            .arithmeticConfig = words[6],
            .compression = words[7],
            .bufferFlags = words[8],
            .op0 = address(9),
            .op1 = address(11),
            .result = address(13)};
}

} // namespace ns3
