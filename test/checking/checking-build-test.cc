// SPDX-License-Identifier: GPL-2.0-only
//
// Purpose of the checking build: a mistake that the compiler's sanitizers or an assertion see ends
// the program, so that the test in which it happens fails.
#include "ns3/assert.h"

#include <gtest/gtest.h>
#include <limits>
#include <memory>

namespace
{

class CheckingBuild : public ::testing::Test
{
  protected:
    void SetUp() override
    {
#ifndef __SANITIZE_ADDRESS__
        GTEST_SKIP() << "the optimised build checks nothing";
#endif
    }
};

TEST_F(CheckingBuild, EndsAtUndefinedBehaviour)
{
    const auto exceed = [](int limit) {
        volatile int sum = limit;
        sum = sum + 1;
    };
    EXPECT_DEATH(exceed(std::numeric_limits<int>::max()), "signed integer overflow");
}

TEST_F(CheckingBuild, EndsAtAnElementPastTheEnd)
{
    const auto read = [](std::size_t index) {
        const auto values = std::make_unique<int[]>(4);
        volatile int value = values[index];
        (void)value;
    };
    EXPECT_DEATH(read(4), "heap-buffer-overflow");
}

TEST_F(CheckingBuild, EndsAtAnAssertion)
{
    const auto expectFour = [](int value) { NS_ASSERT_MSG(value == 4, "not four"); };
    EXPECT_DEATH(expectFour(5), "not four");
}

} // namespace
