/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulator/physical/message-header.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <set>
#include <vector>

namespace AstraSim
{

namespace
{

MessageHeader
MakeHeader()
{
    MessageHeader header;
    header.src = 3;
    header.dst = 1;
    header.number = 7;
    header.tag = 42;
    header.bytes = 100;
    header.wireBytes = 200;
    return header;
}

MessageInfo
RequestOf(uint64_t group, uint64_t number, bool isCredit = false)
{
    MessageInfo request;
    request.collectiveKey = group << 32 | number;
    request.isCredit = isCredit;
    return request;
}

} // namespace

TEST(MessageHeader, AcceptsTheMessageThatIsExpected)
{
    std::vector<std::byte> payload(100);
    MessageHeader header = MakeHeader();
    FillPayload(header, payload.data());
    header.Seal(payload.data());
    EXPECT_EQ(header.FindMistake(MakeHeader(), payload.data()), std::nullopt);
    EXPECT_TRUE(IsPayloadOf(header, payload.data()));
}

TEST(MessageHeader, NoticesAMessageInPlaceOfAnother)
{
    MessageHeader header = MakeHeader();
    header.Seal(nullptr);
    for (uint32_t MessageHeader::*field :
         {&MessageHeader::src, &MessageHeader::dst, &MessageHeader::number})
    {
        MessageHeader expected = MakeHeader();
        ++(expected.*field);
        EXPECT_THAT(header.FindMistake(expected, nullptr).value_or(""),
                    testing::HasSubstr("came in place of"));
    }
    MessageHeader expected = MakeHeader();
    expected.bytes = 99;
    EXPECT_EQ(header.FindMistake(expected, nullptr),
              "rank 1 receives 99 bytes from rank 3, which sent 100");
}

TEST(MessageHeader, NoticesEveryDamagedBit)
{
    std::vector<std::byte> payload(100);
    MessageHeader header = MakeHeader();
    FillPayload(header, payload.data());
    header.Seal(payload.data());
    for (std::size_t bit = 0; bit < 8 * sizeof header; ++bit)
    {
        MessageHeader damaged = header;
        reinterpret_cast<uint8_t*>(&damaged)[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
        EXPECT_TRUE(damaged.FindMistake(MakeHeader(), payload.data())) << "bit " << bit;
    }
    for (std::size_t bit = 0; bit < 8 * payload.size(); ++bit)
    {
        payload[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        EXPECT_TRUE(header.FindMistake(MakeHeader(), payload.data())) << "bit " << bit;
        EXPECT_FALSE(IsPayloadOf(header, payload.data()));
        payload[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
}

TEST(FabricTag, DiffersForEverythingThatTellsMessagesApart)
{
    std::set<uint64_t> tags{FabricTag::CONTROL};
    std::size_t count = 1;
    for (const uint64_t group : {0UL, 1UL, (1UL << 19) - 1, 1UL << 30, (1UL << 30) + 1})
    {
        for (const uint64_t number : {0UL, 1UL, (1UL << 27) - 1})
        {
            for (const bool isCredit : {false, true})
            {
                const MessageInfo request = RequestOf(group, number, isCredit);
                for (const int tag : {0, 1, 255})
                {
                    for (const uint32_t iteration : {0U, 1U, 63U})
                    {
                        tags.insert(FabricTag::Of(&request, tag, iteration));
                        ++count;
                    }
                }
            }
        }
    }
    for (const int tag : {0, 1, INT32_MAX})
    {
        tags.insert(FabricTag::Of(nullptr, tag, 0));
        ++count;
    }
    EXPECT_EQ(tags.size(), count);
}

TEST(FabricTag, IsTheSameWhateverTagsAProcessHasGivenOutBefore)
{
    const MessageInfo request = RequestOf(5, 9);
    EXPECT_EQ(FabricTag::Of(&request, 256 + 17, 0), FabricTag::Of(&request, 256 * 1000 + 17, 0));
}

TEST(FabricTag, RefusesMoreCollectivesThanItCanName)
{
    const MessageInfo request = RequestOf(0, 1UL << 27);
    EXPECT_THROW(FabricTag::Of(&request, 0, 0), ns3::InputError);
    const MessageInfo other = RequestOf(1UL << 19, 0);
    EXPECT_THROW(FabricTag::Of(&other, 0, 0), ns3::InputError);
}

} // namespace AstraSim
