/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NEAREST_NAME_H
#define NEAREST_NAME_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3
{

/// @return letters to insert, delete, replace or exchange with their neighbours to make one name
/// the other; upper and lower case are equal
inline std::size_t
EditDistance(std::string_view a, std::string_view b)
{
    const auto isSame = [&](std::size_t i, std::size_t j) {
        return std::toupper(static_cast<unsigned char>(a[i])) ==
               std::toupper(static_cast<unsigned char>(b[j]));
    };
    std::vector<std::size_t> row(b.size() + 1);
    std::vector<std::size_t> above = row;
    std::vector<std::size_t> twoAbove = row;
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i)
    {
        twoAbove = std::exchange(above, row);
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j)
        {
            row[j + 1] = std::min({row[j] + 1, above[j + 1] + 1, above[j] + !isSame(i, j)});
            if (i > 0 && j > 0 && isSame(i, j - 1) && isSame(i - 1, j))
            {
                row[j + 1] = std::min(row[j + 1], twoAbove[j - 1] + 1);
            }
        }
    }
    return row.back();
}

/**
 * @param name the user's word
 * @param known names that would be right; not empty
 * @return the known name nearest to it, for "did you mean"
 */
template <typename Names>
std::string
NearestName(std::string_view name, const Names& known)
{
    return std::string(*std::ranges::min_element(known, [&](auto& a, auto& b) {
        return EditDistance(name, a) < EditDistance(name, b);
    }));
}

/**
 * @param name the user's word
 * @param known names that would be right
 * @param before the name, such as "--"
 * @return "; the nearest is NAME" if two letters at most, and half of them, differ; else nothing
 */
template <typename Names>
std::string
NearestHint(std::string_view name, const Names& known, const std::string& before = "")
{
    constexpr std::size_t MOST_LETTERS = 2;
    const auto isAsLong = [&name](std::string_view other) {
        return std::max(name.size(), other.size()) - std::min(name.size(), other.size()) <=
               MOST_LETTERS;
    };
    if (std::none_of(std::begin(known), std::end(known), isAsLong))
    {
        return ""; // at once for a damaged file's name of a million letters
    }
    const std::string nearest = NearestName(name, known);
    const bool isNear = EditDistance(name, nearest) <= std::min(MOST_LETTERS, name.size() / 2);
    return isNear ? "; the nearest is " + before + nearest : "";
}

} // namespace ns3

#endif /* NEAREST_NAME_H */
