/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/workload/pipeline-schedule.h"
#include "astra-frontend/model/workload/whole-expression.h"

#include "ns3/input-error.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

using namespace AstraSim;
using ::testing::HasSubstr;
using PassKind = PipelinePass::Kind;

namespace
{

std::string
ReadWhole(const std::string& path)
{
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// @return passes as the comments of added-schedules.yaml have them
std::string
SpellPasses(const std::vector<PipelinePass>& passes)
{
    std::string text;
    for (const auto& pass : passes)
    {
        text += std::string(text.empty() ? "" : " ") + (pass.overlaps ? "+" : "") +
                "FBIW"[static_cast<std::size_t>(pass.kind)] + std::to_string(pass.microBatch) +
                "." + std::to_string(pass.chunk) + "@" + std::to_string(pass.position) +
                (pass.isLast ? "!" : "");
    }
    return text;
}

std::string
MistakeOf(const std::string& text)
{
    try
    {
        for (const auto& [name, schedule] : PipelineSchedule::Read(text, "s.yaml"))
        {
            schedule.Passes({2, 4, 1}, 0);
        }
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "";
}

/// Calls @p check with each schedule and each pipeline that lacks nothing for it.
template <typename Check>
void
ForEachPipeline(Check check)
{
    for (const auto& [name, schedule] : PipelineSchedule::All())
    {
        uint32_t possible = 0;
        for (uint32_t stages = 1; stages <= 6; ++stages)
        {
            for (uint32_t batches = 1; batches <= 14; ++batches)
            {
                for (uint32_t chunks = 1; chunks <= 3; ++chunks)
                {
                    const PipelineShape shape{stages, batches, chunks};
                    if (schedule.Lacks(shape).empty())
                    {
                        SCOPED_TRACE(name + " " + std::to_string(stages) + " " +
                                     std::to_string(batches) + " " + std::to_string(chunks));
                        check(schedule, shape);
                        ++possible;
                    }
                }
            }
        }
        EXPECT_GT(possible, 10) << name;
    }
}

} // namespace

TEST(PipelineSchedule, ReadsAnAddedScheduleAsThePythonCommandsDo)
{
    const std::string text = ReadWhole(SOURCE_DIR "/test/workload/added-schedules.yaml");
    const auto schedules = PipelineSchedule::Read(text, "added-schedules.yaml");
    std::istringstream lines(text);
    std::string name;
    uint32_t orders = 0;
    for (std::string line; std::getline(lines, line);)
    {
        if (!line.empty() && line.front() >= 'a' && line.front() <= 'z')
        {
            name = line.substr(0, line.find(':'));
        }
        if (line.starts_with("  # "))
        {
            std::istringstream words(line.substr(4));
            PipelineShape shape{};
            uint32_t stage = 0;
            words >> shape.stages >> shape.batches >> shape.chunks >> stage;
            EXPECT_EQ(SpellPasses(schedules.at(name).Passes(shape, stage)),
                      line.substr(line.find(": ") + 2))
                << name;
            ++orders;
        }
    }
    EXPECT_EQ(orders, 4);
}

TEST(PipelineSchedule, EveryMicroBatchPassesEveryPositionForwardThenBackward)
{
    ForEachPipeline([](const PipelineSchedule& schedule, const PipelineShape& shape) {
        std::map<std::tuple<PassKind, uint32_t, uint32_t>, uint32_t> done;
        for (uint32_t stage = 0; stage < shape.stages; ++stage)
        {
            std::map<uint32_t, uint32_t> last;
            for (const auto& pass : schedule.Passes(shape, stage))
            {
                const auto count = [&](PassKind kind) {
                    return done[{kind, pass.microBatch, pass.position}];
                };
                EXPECT_EQ(count(PassKind::Forward), pass.kind != PassKind::Forward);
                EXPECT_EQ(count(PassKind::InputGradient), pass.kind == PassKind::WeightGradient);
                ++done[{pass.kind, pass.microBatch, pass.position}];
                last[pass.chunk] += pass.isLast;
            }
            for (const auto& [chunk, count] : last)
            {
                EXPECT_EQ(count, 1);
            }
        }
        for (uint32_t batch = 0; batch < shape.batches; ++batch)
        {
            for (uint32_t position = 0; position < shape.stages * shape.chunks; ++position)
            {
                const auto count = [&](PassKind kind) { return done[{kind, batch, position}]; };
                EXPECT_EQ(count(PassKind::Forward), 1);
                EXPECT_EQ(count(PassKind::Backward) + count(PassKind::InputGradient), 1);
                EXPECT_EQ(count(PassKind::InputGradient), count(PassKind::WeightGradient));
            }
        }
    });
}

TEST(PipelineSchedule, EveryResultIsSentToTheStageThatNeedsIt)
{
    ForEachPipeline([](const PipelineSchedule& schedule, const PipelineShape& shape) {
        using Message = std::tuple<bool, uint32_t, uint32_t, uint32_t, uint32_t>;
        std::set<Message> sent;
        std::set<Message> received;
        for (uint32_t stage = 0; stage < shape.stages; ++stage)
        {
            for (const auto& pass : schedule.Passes(shape, stage))
            {
                const bool forward = pass.kind == PassKind::Forward;
                if (pass.to)
                {
                    sent.insert({forward, pass.microBatch, pass.position, stage, *pass.to});
                }
                if (pass.from)
                {
                    const uint32_t sender = forward ? pass.position - 1 : pass.position + 1;
                    received.insert({forward, pass.microBatch, sender, *pass.from, stage});
                }
            }
        }
        EXPECT_EQ(sent, received);
        EXPECT_EQ(sent.size(), 2 * shape.batches * (shape.stages * shape.chunks - 1));
    });
}

TEST(WholeExpression, HasThePrecedenceOfArithmeticAndRoundsDown)
{
    const std::map<std::string, int64_t> names{{"a", 7}, {"b_2", 2}};
    const std::map<std::string, std::optional<int64_t>> cases{
        {"a", 7},
        {" 1 + a * b_2 - 3 ", 12},
        {"(1 + a) * (b_2 - 3)", -8},
        {"a / b_2 * b_2 + a % b_2", 7},
        {"a - b_2 - 1", 4},
        {"(1 - a) / 4", -2},
        {"(1 - a) % 4", 2},
        {"min(a, max(b_2, 3)) * 2", 6},
        {"", std::nullopt},
        {"c", std::nullopt},
        {"a b_2", std::nullopt},
        {"a +", std::nullopt},
        {"(a", std::nullopt},
        {"min(a)", std::nullopt},
        {"a / (b_2 - 2)", std::nullopt},
        {"a ** 2", std::nullopt},
        {"12345678901", std::nullopt},
    };
    for (const auto& [text, value] : cases)
    {
        EXPECT_EQ(ComputeWhole(text, names), value) << text;
    }
}

TEST(PipelineSchedule, NamesTheLineOfAMistake)
{
    EXPECT_EQ(MistakeOf("a:\n  order:\n    - batches: F B\n"), "");

    const struct
    {
        std::string text;
        std::string error;
    } cases[] = {
        {"a: [\n", "s.yaml:2: is not YAML"},
        {"a:\n  names: {}\n", "s.yaml:1: schedule a has no order"},
        {"a:\n  order:\n    - batches: F G\n", "s.yaml:3: 'F G' is not an order of passes"},
        {"a:\n  order:\n    - batches: F B0\n", "s.yaml:3: 'F B0' is not an order of passes"},
        {"a:\n  order:\n    - batches: F+ B\n", "s.yaml:3: 'F+ B' is not an order of passes"},
        {"a:\n  directions: 2\n  order:\n    - batches: F0 B\n", "s.yaml:4: 'F0 B' is not"},
        {"a:\n  order:\n    - F B\n", "s.yaml:3: this has no keys"},
        {"a:\n  oder:\n    - batches: F B\n", "s.yaml:2: unknown key 'oder'; expected "},
        {"a:\n  order:\n    - batches: F B\n  directions: 3\n", "s.yaml:4: directions is '3'"},
        {"- a\n", "s.yaml:1: this has no rows"},
        {"a:\n  order:\n    - batch: F B\n", "'batch' is not a number"},
        {"a:\n  order:\n    - batches +: F B\n", "'batches +' is not a number"},
        {"a:\n  order:\n    - (batches: F B\n", "'(batches' is not a number"},
        {"a:\n  order:\n    - batches / 0: F B\n", "'batches / 0' is not a number"},
        {"a:\n  order:\n    - batches: F\n", "too many or too few passes"},
        {"a:\n  order:\n    - batches + 1: F B\n", "too many or too few passes"},
        {"a:\n  order:\n    - batches: F W I\n", "too many or too few passes"},
        {"a:\n  order:\n    - batches: F I\n", "too many or too few passes"},
    };

    for (const auto& [text, error] : cases)
    {
        EXPECT_THAT(MistakeOf(text), HasSubstr(error)) << text;
    }
}
