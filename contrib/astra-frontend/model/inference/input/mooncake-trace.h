/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MOONCAKE_TRACE_H
#define MOONCAKE_TRACE_H

#include "serving-config.h"

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>

namespace AstraSim
{

/**
 * Read a trace of Mooncake (arXiv 2407.00079): a JSON object per line, with `timestamp` in
 * milliseconds (from any origin, such as 1970), `input_length`, `output_length`, and `hash_ids`,
 * which name the contents of the prompt's parts of 512 tokens. ReadRequestTrace() uses it.
 *
 * Lines with the same `session_id`, a text or a number, are turns of a conversation, as in Dynamo's
 * traces: `input_length` is the whole prompt, and a turn comes `delay` milliseconds after the
 * answer to the one before, which a line without `timestamp` needs. `priority` is that of a
 * request.
 *
 * Lines with `chat_id` are those of Alibaba's Bailian traces: `timestamp` is in seconds, and parts
 * have 16 tokens.
 *
 * @param limit number of requests to keep
 * @param line number of the last line read
 * @return in the order of the file, with its times
 * @throw ns3::InputError
 */
RequestTrace ReadMooncakeTrace(std::istream& text,
                               const std::string& name,
                               uint64_t limit,
                               std::size_t& line);

} // namespace AstraSim

#endif /* MOONCAKE_TRACE_H */
