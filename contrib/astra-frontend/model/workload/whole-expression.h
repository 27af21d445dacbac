/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WHOLE_EXPRESSION_H
#define WHOLE_EXPRESSION_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * Computes an expression of whole numbers: + - * / % min(a, b) max(a, b) and brackets. / rounds
 * down.
 *
 * @code
 * ComputeWhole("min(stages - 1, batches)", {{"stages", 4}, {"batches", 8}}); // 3
 * @endcode
 *
 * @param names values of the words in it
 * @return the value, or nothing for an illegal expression
 */
std::optional<int64_t> ComputeWhole(std::string_view text,
                                    const std::map<std::string, int64_t>& names);

} // namespace AstraSim

#endif /* WHOLE_EXPRESSION_H */
