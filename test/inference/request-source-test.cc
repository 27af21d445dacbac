/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/input/request-source.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

std::vector<ServingRequest>
Trace(const std::string& text, uint64_t limit = 1000, double scale = 1)
{
    std::istringstream stream(text);
    return ReadRequestTrace(stream, "trace.csv", limit, scale).requests;
}

RequestTrace
WholeTrace(const std::string& text, uint64_t limit = 1000)
{
    std::istringstream stream(text);
    return ReadRequestTrace(stream, "trace.csv", limit, 1);
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
    const auto vidur = Trace("num_prefill_tokens,num_decode_tokens,arrived_at\n7,8,3.5\n5,1,1.5\n");
    ASSERT_EQ(vidur.size(), 2);
    EXPECT_EQ(vidur[0].promptTokens, 5);
    EXPECT_EQ(vidur[0].outputTokens, 1);
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
    EXPECT_THAT(ErrorOf("arrival_s,arrival_s,prompt_tokens,output_tokens\n0,1,2,3\n"),
                HasSubstr("trace.csv:1: column 'arrival_s' is there twice"));
    EXPECT_THAT(ErrorOf("arrival_s,prompt_tokens,output_tokens,x\n"),
                HasSubstr("unknown column 'x'"));
    EXPECT_THAT(ErrorOf(header), HasSubstr("there are no requests"));
    EXPECT_THAT(ErrorOf(header + "1,2\n"), HasSubstr("trace.csv:2: this line has 2 columns"));
    EXPECT_THAT(ErrorOf(header + "1,2,3\nsoon,2,3\n"), HasSubstr("trace.csv:3: 'soon' is not"));
    EXPECT_THAT(ErrorOf(header + "2023-02-30 00:00:00,2,3\n"), HasSubstr("time of arrival"));
    EXPECT_THAT(ErrorOf(header + "2023-01-01 00:00:00,2,3\n2024-01-01 00:00:00,2,3\n"),
                HasSubstr("trace.csv:3: '2024-01-01 00:00:00'"));
    EXPECT_THAT(ErrorOf(header + "1,0,3\n2,5,0\n"),
                HasSubstr("trace.csv:3: none of its 2 requests has both a prompt and output"));
    EXPECT_THAT(ErrorOf(header + "1,2,-3\n"), HasSubstr("'-3' is not a valid number of tokens"));
}

TEST(RequestTrace, LeavesOutRequestsWithoutPromptOrOutputInEveryFormat)
{
    // In each format: one with no output, a good one, one with no prompt, one with neither, a good
    // one, one with no output.
    const std::vector<std::pair<int, int>> rows = {{9, 0}, {7, 3}, {0, 4}, {0, 0}, {5, 2}, {1, 0}};
    std::map<std::string, std::string> texts = {
        {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n"},
        {"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n"},
        {"burst", "Timestamp,Request tokens,Response tokens\n"},
        {"own", "arrival_s,prompt_tokens,output_tokens\n"},
        {"mooncake", ""}};
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
        const auto [prompt, output] = rows[i];
        for (auto& [format, text] : texts)
        {
            text += format == "mooncake" ? "{\"timestamp\": " + std::to_string(1000 * i) +
                                               ", \"input_length\": " + std::to_string(prompt) +
                                               ", \"output_length\": " + std::to_string(output) +
                                               ", \"hash_ids\": [1]}\n"
                                         : std::to_string(i) + "," + std::to_string(prompt) + "," +
                                               std::to_string(output) + "\n";
        }
    }
    for (const auto& [format, text] : texts)
    {
        SCOPED_TRACE(format);
        const RequestTrace trace = WholeTrace(text);
        EXPECT_EQ(trace.withoutOutput, 3);
        EXPECT_EQ(trace.withoutPrompt, 1);
        ASSERT_EQ(trace.requests.size(), 2);
        EXPECT_EQ(trace.requests[0].promptTokens, 7);
        EXPECT_EQ(trace.requests[0].outputTokens, 3);
        EXPECT_EQ(trace.requests[0].arrival, 0); // the first that is served
        EXPECT_EQ(trace.requests[1].promptTokens, 5);
        EXPECT_EQ(trace.requests[1].arrival, 3'000'000'000'000);
        // A limit counts requests that are served, and reading ends at the last of them.
        EXPECT_EQ(WholeTrace(text, 1).requests.size(), 1);
        EXPECT_EQ(WholeTrace(text, 1).CountLeftOut(), 1);
    }
}

TEST(RequestTrace, PromptsOfOneIdBeginAlike)
{
    const auto requests = Trace("arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n"
                                "0,100,3,7,40\n1,35,3,7,40\n2,100,3,8,40\n3,100,3,7,0\n");
    // Two whole blocks of 16 tokens lie within 40 tokens.
    EXPECT_EQ(requests[0].ContentOf(1, 16), requests[1].ContentOf(1, 16));
    EXPECT_NE(requests[0].ContentOf(0, 16), requests[0].ContentOf(1, 16));
    EXPECT_FALSE(requests[0].ContentOf(2, 16));
    EXPECT_NE(requests[0].ContentOf(0, 16), requests[2].ContentOf(0, 16));
    EXPECT_FALSE(requests[3].ContentOf(0, 16));
    EXPECT_THAT(ErrorOf("arrival_s,prompt_tokens,output_tokens,prefix_id\n"),
                HasSubstr("one of prefix_id and prefix_tokens is missing"));
    EXPECT_THAT(ErrorOf("arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n"
                        "0,1,1,x,1\n"),
                HasSubstr("trace.csv:2: 'x' is not a valid prefix_id"));
}

TEST(RequestTrace, ReadsMooncakesLines)
{
    const auto requests = Trace("{\"timestamp\": 27482, \"input_length\": 1300, \"output_length\": "
                                "52, \"hash_ids\": [46, 47, "
                                "48]}\n\n"
                                "{\"timestamp\": 30535, \"input_length\": 1100, \"output_length\": "
                                "1, \"hash_ids\": [46, 47, "
                                "49]}\n",
                                9,
                                2);
    ASSERT_EQ(requests.size(), 2);
    EXPECT_EQ(requests[0].arrival, 0);
    EXPECT_EQ(requests[1].arrival, 2 * 3053'000'000'000);
    EXPECT_EQ(requests[0].promptTokens, 1300);
    EXPECT_EQ(requests[0].outputTokens, 52);
    EXPECT_EQ(requests[1].outputTokens, 1);
    // The first two parts of 512 tokens are the same: 64 blocks of 16.
    EXPECT_EQ(requests[0].ContentOf(63, 16), requests[1].ContentOf(63, 16));
    EXPECT_NE(requests[0].ContentOf(64, 16), requests[1].ContentOf(64, 16));
    EXPECT_TRUE(requests[0].ContentOf(80, 16));
    EXPECT_FALSE(requests[0].ContentOf(81, 16)); // 1,300 tokens are 81 whole blocks
}

TEST(RequestTrace, BailiansLinesHaveSecondsAndPartsOf16Tokens)
{
    const auto line = [](const std::string& time, const std::string& rest) {
        return R"({"chat_id": 159, "parent_chat_id": -1, "type": "text", "turn": 1, "timestamp": )" +
               time + R"(, "input_length": 33, "output_length": 3)" + rest + "}\n";
    };
    const auto requests = Trace(line("61.114", R"(, "hash_ids": [1, 2, 3])") +
                                line("62.614", R"(, "hash_ids": [1, 2, 4])") + line("63.114", ""));
    EXPECT_EQ(requests[1].arrival, 1'500'000'000'000);
    EXPECT_EQ(requests[2].arrival, 2'000'000'000'000);
    EXPECT_EQ(requests[0].ContentOf(1, 16), requests[1].ContentOf(1, 16));
    EXPECT_TRUE(requests[0].ContentOf(1, 16));
    EXPECT_THAT(ErrorOf(line("1", R"(, "hash_ids": [1, 2, 3, 4])")),
                HasSubstr("one number for each 16 tokens"));
}

TEST(RequestTrace, HashesOf64BitsStayDifferent)
{
    const auto contents = [](const std::string& ids) {
        std::vector<std::optional<uint64_t>> found;
        const std::string line = "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, "
                                 "\"hash_ids\": ";
        for (const auto& request : Trace(line + ids + "}\n" + line + "[1, 4294967298]}\n"))
        {
            found.push_back(request.ContentOf(36, 16));
        }
        return found;
    };
    const auto same = contents("[1, 4294967298]");
    EXPECT_EQ(same[0], same[1]);
    for (const char* other : {"[1, 2]", "[1, 18446744073709551615]", "[1, 274877906945]"})
    {
        const auto different = contents(other);
        EXPECT_TRUE(different[0]);
        EXPECT_NE(different[0], different[1]);
    }
}

TEST(RequestTrace, SaysWhatIsWrongInMooncakesLines)
{
    const auto with = [](const std::string& ids) {
        return "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": " +
               ids + "}\n";
    };
    EXPECT_EQ(Trace(with("[1, 2]")).size(), 1);
    EXPECT_THAT(ErrorOf(with("[1, 2]") + "nothing\n"),
                HasSubstr("trace.csv:2: this line is not a JSON object"));
    EXPECT_THAT(ErrorOf("{\"timestamp\": 1, \"timestamp\": 2}\n"),
                HasSubstr("trace.csv:1: this line is not a JSON object with each key once"));
    EXPECT_THAT(ErrorOf("{\"timestamp\": 1}\n"), HasSubstr("input_length is missing"));
    EXPECT_THAT(ErrorOf("{\"timestamp\": -1, \"input_length\": 9, \"output_length\": 1}\n"),
                HasSubstr("timestamp is not valid"));
    EXPECT_THAT(ErrorOf(with("[1, 2, 3]")), HasSubstr("one number for each 512 tokens"));
    EXPECT_THAT(ErrorOf(with("[1, -2]")), HasSubstr("hash_ids are not whole numbers"));
    EXPECT_THAT(ErrorOf("{\"timestamp\": 1, \"input_length\": 0, \"output_length\": 1}\n"),
                HasSubstr("trace.csv:1: none of its 1 requests has both a prompt and output"));
}

TEST(RequestTrace, TimesMayHaveAZoneOrCountFrom1970)
{
    const std::string header = "arrival_s,prompt_tokens,output_tokens\n";
    const auto second = [&](const std::string& first, const std::string& other) {
        return Trace(header + first + ",2,3\n" + other + ",2,3\n")[1].arrival;
    };
    const TimePs one = 1'000'000'000'000;
    EXPECT_EQ(second("2024-05-10T00:00:00Z", "2024-05-10T00:00:01Z"), one);
    EXPECT_EQ(second("2024-05-10 01:30:00.5+08:00", "2024-05-09 17:30:01.5Z"), one);
    EXPECT_EQ(second("2024-05-10 20:00:00-0500", "2024-05-11 01:00:01"), one);
    EXPECT_EQ(second("2024-05-10 20:00:00-05", "2024-05-11 01:00:01+00:00"), one);
    EXPECT_EQ(second("1700000000.25", "1700000001.25"), one);
    EXPECT_EQ(second("1700000001", "1700000000"), one); // earlier ones may come later
    EXPECT_THAT(ErrorOf(header + "2024-05-10 00:00:00+8,2,3\n"), HasSubstr("time of arrival"));
    EXPECT_THAT(ErrorOf(header + "2024-05-10 00:00:00+15:00,2,3\n"), HasSubstr("time of arrival"));
    EXPECT_THAT(ErrorOf(header + "1700000000000,2,3\n"), HasSubstr("time of arrival"));
    EXPECT_THAT(ErrorOf(header + "0,2,3\n1700000000,2,3\n"), HasSubstr("trace.csv:3"));
    EXPECT_THAT(ErrorOf(header + "2024-05-10 00:00:00,2,3\n7,2,3\n"), HasSubstr("trace.csv:3"));
    const std::string rest = ", \"input_length\": 9, \"output_length\": 2}\n";
    const auto lines =
        Trace("{\"timestamp\": 1700000000000" + rest + "{\"timestamp\": 1700000000250.5" + rest);
    EXPECT_EQ(lines[1].arrival, 250'500'000'000);
    EXPECT_THAT(ErrorOf("{\"timestamp\": 0" + rest + "{\"timestamp\": 1700000000000" + rest),
                HasSubstr("trace.csv:2: timestamp is not valid"));
}

TEST(RequestTrace, LinesOfASessionFollowOneAnother)
{
    const auto line = [](const std::string& keys, int prompt, int output = 5) {
        return "{" + keys + ", \"input_length\": " + std::to_string(prompt) +
               ", \"output_length\": " + std::to_string(output) + "}\n";
    };
    const std::string a = "\"session_id\": \"a\", ";
    const auto requests = Trace(
        line(a + "\"timestamp\": 1000", 100) + line("\"timestamp\": 1000, \"session_id\": 7", 50) +
        line(a + "\"delay\": 500", 200) + line(a + "\"timestamp\": 9000, \"priority\": 3", 300) +
        line("\"timestamp\": 1001, \"session_id\": null", 9));
    ASSERT_EQ(requests.size(), 5);
    EXPECT_EQ(requests[0].session, 0U);
    EXPECT_EQ(requests[0].think, 500'000'000'000);
    EXPECT_EQ(requests[1].session, 1U);
    EXPECT_EQ(requests[2].session, 0U);
    EXPECT_EQ(requests[2].arrival, 0); // at the earliest
    EXPECT_EQ(requests[2].ContentOf(5, 16), requests[0].ContentOf(5, 16));
    EXPECT_FALSE(requests[3].session);
    EXPECT_EQ(requests[4].arrival, 8'000'000'000'000);
    EXPECT_EQ(requests[4].priority, 3);
    EXPECT_THAT(ErrorOf(line(a + "\"delay\": 5", 9)), HasSubstr("timestamp is missing"));
    EXPECT_THAT(ErrorOf(line("\"timestamp\": 0, \"delay\": 5", 9)),
                HasSubstr("there is no session_id"));
    const std::string first = line(a + "\"timestamp\": 0", 100);
    EXPECT_THAT(ErrorOf(first + line(a + "\"delay\": -5", 200)), HasSubstr("delay is not valid"));
    EXPECT_THAT(ErrorOf(first + line(a + "\"delay\": 5", 104)),
                HasSubstr("trace.csv:2: input_length is less than the 105 tokens"));
}

TEST(RequestTrace, TurnsOfASessionBeginWithTheConversation)
{
    const auto requests = Trace("arrival_s,prompt_tokens,output_tokens,session_id\n"
                                "0,100,30,7\n1,100,30,8\n2,150,10,7\n3,40,5,7\n4,9,9,\n5,60,5,7\n");
    EXPECT_EQ(requests[0].session, 7U);
    EXPECT_FALSE(requests[4].session);
    // 130 tokens are eight whole blocks of 16; the output's belong to them.
    EXPECT_TRUE(requests[0].ContentOf(7, 16));
    EXPECT_EQ(requests[0].ContentOf(7, 16), requests[2].ContentOf(7, 16));
    EXPECT_NE(requests[0].ContentOf(0, 16), requests[1].ContentOf(0, 16));
    EXPECT_FALSE(requests[0].ContentOf(8, 16));
    EXPECT_FALSE(requests[4].ContentOf(0, 16));
    // A prompt shorter than the conversation begins another one.
    EXPECT_NE(requests[2].ContentOf(0, 16), requests[3].ContentOf(0, 16));
    EXPECT_EQ(requests[3].ContentOf(0, 16), requests[5].ContentOf(0, 16));
    EXPECT_THAT(ErrorOf("arrival_s,prompt_tokens,output_tokens,session_id\n0,1,1,x\n"),
                HasSubstr("trace.csv:2: 'x' is not a valid session_id"));
}
