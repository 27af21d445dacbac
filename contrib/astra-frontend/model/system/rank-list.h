/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_LIST_H
#define RANK_LIST_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// @param text ranks and ranges: "0,2,4-7" @return them in that order, or nullopt if it is wrong or
/// names one twice
std::optional<std::vector<uint32_t>> ParseRankList(std::string_view text);

/// A workload and the ranks of the network it runs on, as -w takes it: "a.txt@0-63".
struct JobPlacement
{
    std::string workload;
    std::vector<uint32_t> ranks; ///< empty: all
};

/// @param text of the option @throw ns3::InputError if the text after the last '@' is no list of
/// ranks
JobPlacement ParseJobPlacement(const std::string& text);

} // namespace AstraSim

#endif /* RANK_LIST_H */
