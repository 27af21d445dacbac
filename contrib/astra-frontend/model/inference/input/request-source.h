/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REQUEST_SOURCE_H
#define REQUEST_SOURCE_H

#include "serving-config.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// Number of tokens of a request: fixed, or drawn from a distribution.
struct TokenCount
{
    enum class Kind : uint8_t
    {
        Fixed,
        Uniform,     ///< whole numbers from low to high
        Exponential, ///< with mean low, rounded up
    };

    Kind kind{Kind::Fixed};
    uint32_t low{0}; ///< 0: not given
    uint32_t high{0};

    bool operator==(const TokenCount&) const = default;
};

/// Requests that come by chance.
struct PoissonRequests
{
    uint64_t count{0};
    double perSecond{0};
    TokenCount prompt;
    TokenCount output;
    uint64_t seed{1};
    uint32_t sharedTokens{0};   ///< at the beginning of each prompt, at most
    uint32_t sharedPrefixes{1}; ///< how many beginnings there are; one is drawn for each prompt
};

/// @return requests with exponential gaps, the same for the same seed on every machine
std::vector<ServingRequest> DrawRequests(const PoissonRequests& description);

/**
 * Read a trace with a header line and a request per line: the columns of Azure's public traces
 * (TIMESTAMP, ContextTokens, GeneratedTokens), of Vidur's (arrived_at, num_prefill_tokens,
 * num_decode_tokens), of BurstGPT's (Timestamp, Request tokens, Response tokens), or arrival_s,
 * prompt_tokens, output_tokens. Two further columns, prefix_id and prefix_tokens, say that prompts
 * of the same id begin with the same tokens. A file that begins with a brace has the lines of
 * Mooncake's traces (arXiv 2407.00079): JSON objects with timestamp in ms, input_length,
 * output_length, and hash_ids of the prompt's parts of 512 tokens.
 *
 * Requests without a prompt or without output are counted and left out. The first of the others
 * arrives at 0.
 *
 * @param limit number of requests to keep
 * @param timeScale factor of arrival times
 * @return by arrival
 * @throw ns3::InputError
 */
RequestTrace ReadRequestTrace(std::istream& text,
                              const std::string& name,
                              uint64_t limit,
                              double timeScale);

/**
 * @param text seconds, or a date and a time of day
 * @param originDay from which dates count; set by the first
 * @return picoseconds, or nothing if it is neither, or too far from the first
 */
std::optional<TimePs> ParseArrival(std::string_view text, std::optional<int64_t>& originDay);

} // namespace AstraSim

#endif /* REQUEST_SOURCE_H */
