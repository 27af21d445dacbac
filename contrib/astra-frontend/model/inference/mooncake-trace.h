/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MOONCAKE_TRACE_H
#define MOONCAKE_TRACE_H

#include "serving-config.h"

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * Read a trace of Mooncake (arXiv 2407.00079): a JSON object per line, with `timestamp` in
 * milliseconds, `input_length`, `output_length`, and `hash_ids`, which name the contents of the
 * prompt's parts of 512 tokens. ReadRequestTrace() uses it.
 *
 * @copydetails ReadRequestTrace
 */
std::vector<ServingRequest> ReadMooncakeTrace(std::istream& text,
                                              const std::string& name,
                                              uint64_t limit,
                                              double timeScale);

} // namespace AstraSim

#endif /* MOONCAKE_TRACE_H */
