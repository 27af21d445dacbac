/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/stable-array.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace ns3
{

namespace
{

struct alignas(64) Element
{
    uint32_t number{7};
};

} // namespace

TEST(StableArray, ElementsStayWhereTheyAreAndAreAligned)
{
    StableArray<Element> array;
    std::vector<Element*> added;
    for (uint32_t i = 0; i < 1000; ++i)
    {
        Element& element = array.Add();
        EXPECT_EQ(element.number, 7U);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(&element) % alignof(Element), 0U);
        element.number = i;
        added.push_back(&element);
    }
    ASSERT_EQ(array.Size(), 1000U);
    for (uint32_t i = 0; i < 1000; ++i)
    {
        EXPECT_EQ(&array[i], added[i]);
        EXPECT_EQ(array[i].number, i);
    }
    array.Clear();
    EXPECT_EQ(array.Size(), 0U);
    EXPECT_EQ(array.Add().number, 7U);
}

} // namespace ns3
