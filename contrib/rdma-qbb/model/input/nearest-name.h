/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NEAREST_NAME_H
#define NEAREST_NAME_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/// @return letters to insert, delete or replace to make one name the other, whatever their case
inline std::size_t
EditDistance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); ++i)
    {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j)
        {
            const bool same = std::toupper(static_cast<unsigned char>(a[i])) ==
                              std::toupper(static_cast<unsigned char>(b[j]));
            const std::size_t replaced = diagonal + !same;
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
        }
    }
    return row.back();
}

/**
 * @param name what a user wrote
 * @param known names that would be right; not empty
 * @return the known name nearest to it, for "did you mean"
 */
template <typename Names>
std::string
NearestName(std::string_view name, const Names& known)
{
    return std::string(*std::min_element(known.begin(), known.end(), [&](auto& a, auto& b) {
        return EditDistance(name, a) < EditDistance(name, b);
    }));
}

} // namespace ns3

#endif /* NEAREST_NAME_H */
