/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/input-error.h"
#include "ns3/request-source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

std::vector<ServingRequest>
Trace(const std::string& text, uint64_t limit = 1000, double scale = 1)
{
    std::istringstream stream(text);
    return ReadRequestTrace(stream, "trace.csv", limit, scale);
}

std::string
ErrorOf(const std::string& text)
{
    try
    {
        Trace(text);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "";
}

} // namespace

TEST(RequestTrace, ReadsAzuresColumnsAndDates)
{
    // As in AzureLLMInferenceTrace_conv.csv of 2023, across midnight at the end of a month.
    const auto requests = Trace("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                "2023-11-30 23:59:59.5000000,374,44\r\n"
                                "2023-12-01 00:00:01.2500000,396,109\r\n");
    ASSERT_EQ(requests.size(), 2);
    EXPECT_EQ(requests[0].arrival, 0);
    EXPECT_EQ(requests[1].arrival, 1'750'000'000'000);
    EXPECT_EQ(requests[1].promptTokens, 396);
    EXPECT_EQ(requests[1].outputTokens, 109);
    // And of 2024, with a time zone.
    EXPECT_EQ(
        Trace("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,9,2\n"
              "2024-05-10 00:01:00.009931+00:00,9,2\n")[1]
            .arrival,
        60'000'001'000'000);
}

TEST(RequestTrace, ReadsOtherColumnsInAnyOrderAndSortsByArrival)
{
    const auto vidur = Trace("num_prefill_tokens,num_decode_tokens,arrived_at\n7,8,3.5\n5,0,1.5\n");
    ASSERT_EQ(vidur.size(), 2);
    EXPECT_EQ(vidur[0].promptTokens, 5);
    EXPECT_EQ(vidur[0].outputTokens, 1); // a prompt always makes a token
    EXPECT_EQ(vidur[1].arrival, 2'000'000'000'000);
    const auto burst =
        Trace("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
              "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1,2,3,API log\n");
    EXPECT_EQ(burst[1].arrival, 40'000'000'000'000);
    EXPECT_EQ(Trace("arrival_s,prompt_tokens,output_tokens\n1,2,3\n2,2,3\n3,2,3\n", 2).size(), 2);
    EXPECT_EQ(Trace("arrival_s,prompt_tokens,output_tokens\n1,2,3\n2,2,3\n", 9, 0.5)[1].arrival,
              500'000'000'000);
}

TEST(RequestTrace, SaysWhatIsWrong)
{
    const std::string header = "arrival_s,prompt_tokens,output_tokens\n";
    EXPECT_THAT(ErrorOf(""), HasSubstr("trace.csv:1: '' is not the header"));
    EXPECT_THAT(ErrorOf("a,b,c\n1,2,3\n"), HasSubstr("trace.csv:1: 'a,b,c' is not the header"));
    EXPECT_THAT(ErrorOf("arrival_s,prompt_tokens,output_tokens,x\n"),
                HasSubstr("unknown column 'x'"));
    EXPECT_THAT(ErrorOf(header), HasSubstr("there are no requests"));
    EXPECT_THAT(ErrorOf(header + "1,2\n"), HasSubstr("trace.csv:2: this line has 2 columns"));
    EXPECT_THAT(ErrorOf(header + "1,2,3\nsoon,2,3\n"), HasSubstr("trace.csv:3: 'soon' is not"));
    EXPECT_THAT(ErrorOf(header + "2023-02-30 00:00:00,2,3\n"), HasSubstr("time of arrival"));
    EXPECT_THAT(ErrorOf(header + "2023-01-01 00:00:00,2,3\n2024-01-01 00:00:00,2,3\n"),
                HasSubstr("trace.csv:3: '2024-01-01 00:00:00'"));
    EXPECT_THAT(ErrorOf(header + "1,0,3\n"), HasSubstr("'0' is not a valid number of tokens"));
    EXPECT_THAT(ErrorOf(header + "1,2,-3\n"), HasSubstr("'-3' is not a valid number of tokens"));
}

TEST(PoissonRequests, HaveTheRateAndSizesAskedFor)
{
    PoissonRequests description;
    description.count = 100'000;
    description.perSecond = 40;
    description.prompt = {TokenCount::Kind::Uniform, 10, 30};
    description.output = {TokenCount::Kind::Exponential, 50, 0};
    const auto requests = DrawRequests(description);
    double prompts = 0;
    double outputs = 0;
    for (const auto& request : requests)
    {
        ASSERT_GE(request.promptTokens, 10);
        ASSERT_LE(request.promptTokens, 30);
        prompts += request.promptTokens;
        outputs += request.outputTokens;
    }
    // Standard deviations of the means: 0.3 % of gaps, 0.02 of prompts, 0.16 of outputs.
    const double seconds = static_cast<double>(requests.back().arrival) / 1e12;
    EXPECT_NEAR(100'000 / seconds, 40, 0.4);
    EXPECT_NEAR(prompts / 100'000, 20, 0.08);
    EXPECT_NEAR(outputs / 100'000, 50.5, 0.7); // rounding up adds a half
    EXPECT_EQ(DrawRequests(description)[777].arrival, requests[777].arrival);
    // Other sizes leave the arrivals as they are; another seed does not.
    description.prompt = {TokenCount::Kind::Fixed, 10, 0};
    EXPECT_EQ(DrawRequests(description)[777].arrival, requests[777].arrival);
    description.seed = 2;
    EXPECT_NE(DrawRequests(description)[777].arrival, requests[777].arrival);
}
