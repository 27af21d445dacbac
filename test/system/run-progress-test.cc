/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How far a run is, in its record and in words, while it goes on.
 */
#include "programs/frame/run-progress.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

using AstraSim::ProgressMode;
using AstraSim::ProgressSample;
using AstraSim::RunProgress;
using AstraSim::RunRecord;

namespace
{

/// A directory for one test.
class ProgressOfARun : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string path = (std::filesystem::temp_directory_path() / "progress-XXXXXX").string();
        ASSERT_TRUE(mkdtemp(path.data()));
        m_directory = path;
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_directory);
    }

    std::string Path() const
    {
        return m_directory / "run.json";
    }

    nlohmann::json Read() const
    {
        std::ifstream file(Path());
        return nlohmann::json::parse(file);
    }

  private:
    std::filesystem::path m_directory;
};

} // namespace

TEST_F(ProgressOfARun, IsInTheRecordEachMinuteUntilTheEnd)
{
    using std::chrono::seconds;
    RunRecord record(Path());
    record.Write("running");
    ProgressSample sample{5'000'000, 3, 12, "collectives"};
    RunProgress progress(
        ProgressMode::Never,
        [&] { return sample; },
        &record);
    const auto begin = RunProgress::Clock::now();
    progress.Look(begin + seconds(59));
    EXPECT_FALSE(Read().contains("progress"));
    progress.Look(begin + seconds(61));
    EXPECT_EQ(Read()["status"], "running");
    EXPECT_EQ(Read()["progress"]["simulated_ns"], 5000.0);
    EXPECT_EQ(Read()["progress"]["done"], 3);
    EXPECT_EQ(Read()["progress"]["of"], 12);
    EXPECT_EQ(Read()["progress"]["unit"], "collectives");
    sample.done = 6;
    progress.Look(begin + seconds(100));
    EXPECT_EQ(Read()["progress"]["done"], 3) << "not yet a minute later";
    progress.Look(begin + seconds(122));
    EXPECT_EQ(Read()["progress"]["done"], 6);
    record.Write("finished");
    EXPECT_FALSE(Read().contains("progress"));
}

TEST_F(ProgressOfARun, IsALineEachMinuteOffATerminal)
{
    using std::chrono::seconds;
    testing::internal::CaptureStderr(); // a file
    RunProgress progress(
        ProgressMode::Auto,
        [] {
            return ProgressSample{2'000'000'000, 30, 120, "collectives"};
        },
        nullptr);
    const auto begin = RunProgress::Clock::now();
    for (int second = 1; second <= 130; ++second)
    {
        progress.Look(begin + seconds(second));
    }
    progress.End();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(said, '\n'), 2);
    EXPECT_NE(said.find(": 2.000 ms simulated, 30 of 120 collectives, about 3 min left"),
              std::string::npos)
        << said;
}

TEST(Progress, SaysWhatIsKnown)
{
    const auto with = [](const ProgressSample& sample, double seconds) {
        const std::string text = RunProgress::Describe(sample, seconds);
        return text.substr(0, text.rfind(", ")); // without the memory
    };
    EXPECT_EQ(with({1'500'000'000}, 30), "30 s: 1.500 ms simulated");
    EXPECT_EQ(with({0, 7, 0, "flows"}, 600), "10 min: 0.000 ms simulated, 7 flows");
    EXPECT_EQ(with({0, 1, 10, "flows"}, 7200),
              "2.0 h: 0.000 ms simulated, 1 of 10 flows, about 18.0 h left");
    EXPECT_EQ(with({ProgressSample::REAL_TIME, 1, 3, "iterations"}, 20),
              "20 s: 1 of 3 iterations, about 40 s left");
    EXPECT_EQ(with({0, 10, 10, "flows"}, 1), "1 s: 0.000 ms simulated, 10 of 10 flows");
}
