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

/// Columns of a trace that the workload gives a meaning.
struct TraceColumns
{
    std::vector<std::string> classes{}; ///< names in the column `class`; none: there is no column
    std::string model{}; ///< keep the requests of this model in the column `model`; empty: all
};

/**
 * Read a trace with a header line and a request per line: the columns of Azure's public traces
 * (TIMESTAMP, ContextTokens, GeneratedTokens), of Vidur's (arrived_at, num_prefill_tokens,
 * num_decode_tokens), of BurstGPT's (Timestamp, Request tokens, Response tokens), or arrival_s,
 * prompt_tokens, output_tokens. Two further columns, prefix_id and prefix_tokens, say that prompts
 * of the same id begin with the same tokens. Requests with the same session_id are turns of a
 * conversation: each begins with the prompt and the output of the one before, and comes when that
 * has been answered, if not later. A file that begins with a brace has the lines of
 * Mooncake's traces (arXiv 2407.00079), as ReadMooncakeTrace() says.
 *
 * Requests without a prompt or without output are counted and left out. The first of the others
 * arrives at 0, be it of this model or another.
 *
 * @param limit number of requests to keep
 * @param timeScale factor of arrival times
 * @param columns that must be there
 * @return by arrival
 * @throw ns3::InputError
 */
RequestTrace ReadRequestTrace(std::istream& text,
                              const std::string& name,
                              uint64_t limit,
                              double timeScale,
                              const TraceColumns& columns = {});

/**
 * @param text seconds from any origin, or a date and a time of day, with or without a time zone
 * @param originDay from which times count; set by the first. It is 0 for seconds of the first 100
 * days, so those keep their origin.
 * @return picoseconds, or nothing if it is neither, or too far from the first
 */
std::optional<TimePs> ParseArrival(std::string_view text, std::optional<int64_t>& originDay);

} // namespace AstraSim

#endif /* REQUEST_SOURCE_H */
