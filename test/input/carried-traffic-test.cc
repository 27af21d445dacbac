/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Totals of a network: each has a row, from which sums, differences and names follow.
 */
#include "ns3/carried-traffic.h"

#include <cstddef>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>

namespace ns3
{
namespace
{

/// Becomes any member.
struct Anything
{
    template <typename T>
    operator T() const; // NOLINT: implicit, as the test needs
};

template <std::size_t... I>
consteval bool
HasMembers(std::index_sequence<I...>)
{
    return requires
    {
        CarriedTraffic{(static_cast<void>(I), Anything{})...};
    };
}

/// @return how many members there are
template <std::size_t N = 1>
consteval std::size_t
CountMembers()
{
    if constexpr (HasMembers(std::make_index_sequence<N + 1>()))
    {
        return CountMembers<N + 1>();
    }
    return N;
}

/// @return totals of which the first is @p first, and each further one is one more
CarriedTraffic
Rising(int64_t first)
{
    CarriedTraffic traffic;
    CarriedTraffic::ForEachField([&](const char*, auto field, auto) { traffic.*field = first++; });
    return traffic;
}

TEST(CarriedTraffic, HasARowForEachMember)
{
    std::set<std::string> names;
    std::size_t rows = 0;
    CarriedTraffic::ForEachField([&](const char* name, auto, auto) {
        names.insert(name);
        ++rows;
    });
    EXPECT_EQ(names.size(), rows) << "no name stands for two";
    EXPECT_EQ(rows, CountMembers());
    const CarriedTraffic rising = Rising(1);
    std::set<double> values;
    CarriedTraffic::ForEachField([&](const char*, auto field, auto) {
        if constexpr (requires { (rising.*field).ToPs(); })
        {
            values.insert((rising.*field).ToPs());
        }
        else
        {
            values.insert(static_cast<double>(rising.*field));
        }
    });
    EXPECT_EQ(values.size(), rows) << "no two rows are of one member";
}

TEST(CarriedTraffic, OfPartsAddsUpAndKeepsWhatIsLargest)
{
    CarriedTraffic large;
    CarriedTraffic small;
    large.packets = 100;
    small.packets = 3;
    large.pausedPs = TimeSum(40);
    small.pausedPs = TimeSum(2);
    large.longestPausePs = 30;
    small.longestPausePs = 2;
    large.reorderBytes = 5;
    small.reorderBytes = 7;
    CarriedTraffic whole = large;
    whole += small;
    EXPECT_EQ(whole.packets, 103U);
    EXPECT_EQ(whole.pausedPs, TimeSum(42));
    EXPECT_EQ(whole.longestPausePs, 30);
    EXPECT_EQ(whole.reorderBytes, 7U);
    whole -= small;
    EXPECT_EQ(whole.packets, 100U);
    EXPECT_EQ(whole.pausedPs, TimeSum(40));
    EXPECT_EQ(whole.longestPausePs, 30) << "a maximum stays";
    EXPECT_EQ(whole.reorderBytes, 7U) << "a maximum stays";
}

} // namespace
} // namespace ns3
