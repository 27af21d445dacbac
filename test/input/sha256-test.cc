/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/sha256.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>

namespace
{

using AstraSim::Sha256;

TEST(Sha256, GivesTheDigestsOfTheStandard)
{
    // Of FIPS 180-4: no bytes, one block, two blocks.
    const std::pair<std::string, std::string> examples[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    for (const auto& [text, digest] : examples)
    {
        Sha256 sum;
        sum.Add(text);
        EXPECT_EQ(Sha256::ToHex(sum.Finish()), digest) << text;
    }
}

TEST(Sha256, IsTheSameHoweverTheBytesArriveInPieces)
{
    const std::string bytes(1'000'000, 'a');
    Sha256 sum;
    for (std::size_t from = 0, count = 1; from < bytes.size();
         from += count, count = count * 3 % 997)
    {
        sum.Add(std::string_view(bytes).substr(from, count));
    }
    EXPECT_EQ(Sha256::ToHex(sum.Finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

} // namespace
