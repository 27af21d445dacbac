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
    CarriedTraffic whole = Rising(100);
    whole += Rising(1);
    EXPECT_EQ(whole.packets, 101U);
    EXPECT_EQ(whole.packetHops, 103U);
    EXPECT_EQ(whole.pausedPs, TimeSum(104 + 5));
    EXPECT_EQ(whole.longestPausePs, 105) << "the sixth, of 105 and 6";
    EXPECT_EQ(whole.reorderBytes, 112U) << "the thirteenth, of 112 and 13";
    EXPECT_EQ(whole.flows, 113U + 14U);
    whole -= Rising(1);
    EXPECT_EQ(whole.packets, 100U);
    EXPECT_EQ(whole.pausedPs, TimeSum(104));
    EXPECT_EQ(whole.longestPausePs, 105) << "a maximum stays";
    EXPECT_EQ(whole.flows, 113U);
}

} // namespace
} // namespace ns3
