/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/network/joined-operations.h"

#include <gtest/gtest.h>
#include <random>

using namespace AstraSim;

TEST(MemberSets, SameListIsTheSameSetAndOrderCounts)
{
    MemberSets sets;
    const int forward[] = {3, 5, 9};
    const int backward[] = {9, 5, 3};
    const MemberSet& set = sets.Find(forward);
    const MemberSet& other = sets.Find(backward);
    EXPECT_NE(set.number, other.number);
    EXPECT_EQ(&sets.Find(forward), &set);
    EXPECT_EQ(set.places.at(9), 2);
    EXPECT_EQ(other.places.at(9), 0);
    EXPECT_FALSE(set.places.contains(4));
}

TEST(JoinedOperations, NthCallsOfAllMembersBelongTogetherHoweverTheyInterleave)
{
    MemberSets sets;
    const int members[] = {0, 1, 2, 3};
    const MemberSet& set = sets.Find(members);
    JoinedOperations<int> operations;
    std::mt19937 random(3);
    int next = 0;
    int turns[2][4] = {};
    int firstOf[2][50];
    for (auto& tag : firstOf)
    {
        std::fill(std::begin(tag), std::end(tag), -1);
    }
    for (int calls = 0; calls < 2 * 4 * 50;)
    {
        const int tag = static_cast<int>(random() % 2);
        const uint32_t place = random() % 4;
        int& turn = turns[tag][place];
        if (turn == 50)
        {
            continue;
        }
        const int operation = operations.Join(set, tag, place, [&] { return next++; });
        int& expected = firstOf[tag][turn++];
        expected = expected < 0 ? operation : expected;
        EXPECT_EQ(operation, expected);
        ++calls;
    }
    EXPECT_EQ(next, 100) << "as many operations as turns";
}
