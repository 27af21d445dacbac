/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../system/job-fixture.h"
#include "astra-frontend/model/goal/goal-schedule.h"
#include "astra-frontend/model/workload/goal-workload.h"
#include "astra-frontend/model/workload/workload-file.h"

#include "ns3/input-error.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace AstraSim;
using ::testing::Contains;
using ::testing::HasSubstr;

namespace
{

constexpr TimePs MICROSECOND = 1'000'000;
constexpr double BYTES_PER_SECOND = 50e9; // 50,000 bytes in a microsecond

class Goal : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        m_path = std::filesystem::path(::testing::TempDir()) /
                 (std::string("goal-") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    }

    void TearDown() override
    {
        std::filesystem::remove(m_path);
    }

    /// Runs a file on a network that takes 1 us and the bytes' time for a message.
    /// @return the error's text, if any
    std::string Run(const std::string& file)
    {
        std::ofstream(m_path, std::ios::binary) << file;
        try
        {
            workload = OpenWorkload(m_path, {});
            run = std::make_unique<JobRun>(*workload,
                                           static_cast<int>(workload->GetRankCount()),
                                           NativeConfig("ring"),
                                           std::vector<uint32_t>{},
                                           MICROSECOND,
                                           BYTES_PER_SECOND);
            run->Run();
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return run->job.Finished() ? "" : "not finished";
    }

    std::filesystem::path m_path;
    std::unique_ptr<Workload> workload;
    std::unique_ptr<JobRun> run;
};

/// Writes the binary form as LogGOPSim's txt2bin does.
class BinaryFile
{
  public:
    explicit BinaryFile(uint32_t ranks)
        : m_at(sizeof(uint32_t) + 2 + 16 * uint64_t{ranks})
    {
        Put(m_head, uint64_t{4223});
        Put(m_head, ranks);
        m_head += std::string(2, '\0'); // the largest cpu and nic
    }

    struct Operation
    {
        uint32_t missing;
        uint8_t type;
        uint32_t peer;
        uint64_t size;
        uint8_t stream;
        std::vector<uint32_t> onEnd{};
        std::vector<uint32_t> onStart{};
    };

    BinaryFile& Rank(const std::vector<Operation>& operations)
    {
        std::string part;
        std::string roots;
        std::string records;
        std::string list;
        for (uint32_t i = 0; i < operations.size(); ++i)
        {
            const Operation& operation = operations[i];
            if (operation.missing == 0)
            {
                Put(roots, i);
            }
            Put(records, operation.missing);
            Put(records, operation.type);
            Put(records, operation.peer);
            Put(records, operation.size);
            Put(records, uint32_t{0}); // tag
            Put(records, operation.stream);
            Put(records, uint8_t{0}); // nic
            for (const auto* successors : {&operation.onEnd, &operation.onStart})
            {
                Put(records, static_cast<uint32_t>(successors->size()));
                Put(records, static_cast<uint32_t>(list.size() / sizeof(uint32_t)));
                for (const uint32_t after : *successors)
                {
                    Put(list, after);
                }
            }
        }
        Put(part, static_cast<uint32_t>(operations.size()));
        Put(part, static_cast<uint32_t>(roots.size() / sizeof(uint32_t)));
        part += roots + records + list;
        Put(m_head, m_at);
        m_at += part.size();
        Put(m_head, m_at);
        m_parts += part;
        return *this;
    }

    std::string Bytes() const
    {
        return m_head + m_parts;
    }

  private:
    template <class T>
    static void Put(std::string& text, T value)
    {
        text.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }

    uint64_t m_at; ///< end of the parts, counted from behind the cookie
    std::string m_head;
    std::string m_parts;
};

} // namespace

TEST_F(Goal, APingPongTakesTwoMessages)
{
    ASSERT_EQ(Run(R"(// a comment
num_ranks 2
rank 0 {
l1: send 100000b to 1 tag 7 cpu 0 nic 0
l2: recv 50000b from 1 tag 8
l2 requires l1
}
/* over
   several lines */
rank 1 {
l1: recv 100000b from 0 tag 7
l2: send 50000b to 0 tag 8
l2 requires l1
}
)"),
              "");
    EXPECT_EQ(run->recorder.finished, (1 + 2 + 1 + 1) * MICROSECOND);
    EXPECT_EQ(run->recorder.compute, 0);
}

TEST_F(Goal, ARingTakesASendForEachRank)
{
    constexpr int RANKS = 8;
    std::string file = fmt::format("num_ranks {}\nrank 0 {{\na: send 50000b to 1\n"
                                   "b: recv 50000b from {}\n}}\n",
                                   RANKS,
                                   RANKS - 1);
    for (int rank = 1; rank < RANKS; ++rank)
    {
        file += fmt::format("rank {} {{\na: recv 50000b from {}\nb: send 50000b to {}\n"
                            "b requires a\n}}\n",
                            rank,
                            rank - 1,
                            (rank + 1) % RANKS);
    }
    ASSERT_EQ(Run(file), "");
    EXPECT_EQ(run->recorder.finished, RANKS * 2 * MICROSECOND);
    EXPECT_EQ(run->recorder.collectives.size(), RANKS); // messages count as collectives of two
}

TEST_F(Goal, CalculationsOfOneCpuFollowEachOtherAndOthersRunBeside)
{
    ASSERT_EQ(Run("num_ranks 1\nrank 0 {\ncalc 3000\ncalc 4000\ncalc 5000 cpu 1\n}\n"), "");
    EXPECT_EQ(run->recorder.finished, 7 * MICROSECOND);
    EXPECT_EQ(run->recorder.compute, 12 * MICROSECOND);
}

TEST_F(Goal, AChainWaitsForEndsAndIrequiresForStarts)
{
    // b begins with a, c after a, d after b and c.
    ASSERT_EQ(
        Run("num_ranks 1\nrank 0 {\na: calc 3000\nb: calc 10000 cpu 1\nb irequires a\n"
            "c: calc 4000 cpu 2\nc requires a\nd: calc 1000\nd requires b\nd requires c\n}\n"),
        "");
    EXPECT_EQ(run->recorder.finished, 11 * MICROSECOND);
}

TEST_F(Goal, ALongChainOfEmptyCalculationsNeedsNoStack)
{
    std::string file = "num_ranks 1\nrank 0 {\nl0: calc 0\n";
    for (int i = 1; i < 50'000; ++i)
    {
        file += fmt::format("l{}: calc 0\nl{} requires l{}\n", i, i, i - 1);
    }
    ASSERT_EQ(Run(file + "}\n"), "");
    EXPECT_EQ(run->recorder.finished, 0);
}

TEST_F(Goal, CalculationOverlapsMessages)
{
    ASSERT_EQ(Run("num_ranks 2\nrank 0 {\na: send 100000b to 1\nb: calc 2500\n}\n"
                  "rank 1 {\na: recv 100000b from 0\nb: calc 1000\nb requires a\n}\n"),
              "");
    EXPECT_EQ(run->recorder.finished, 4 * MICROSECOND);
    EXPECT_EQ(run->recorder.exposed, 3 * MICROSECOND + MICROSECOND / 2)
        << "rank 1 waits 3 us, rank 0 half of one";
}

TEST_F(Goal, TheBinaryFormSaysTheSame)
{
    // Rank 0 sends and calculates, on cpu 1 when the send starts; rank 1 receives, then calculates.
    const std::string file = BinaryFile(2)
                                 .Rank({{0, 1, 1, 100'000, 0, {}, {1}}, {1, 3, 0, 5000, 1}})
                                 .Rank({{0, 2, 0, 100'000, 0, {1}, {}}, {1, 3, 0, 3000, 0}})
                                 .Bytes();
    ASSERT_EQ(Run(file), "");
    EXPECT_EQ(run->recorder.finished, 6 * MICROSECOND);
    EXPECT_EQ(run->recorder.compute, 8 * MICROSECOND);
    EXPECT_THAT(Run(file.substr(0, file.size() - 3)), HasSubstr("rank 1 lies outside the file"));
    EXPECT_THAT(Run(file.substr(0, 20)), HasSubstr("ends within a schedule"));
    EXPECT_THAT(Run(BinaryFile(1).Rank({{0, 7, 0, 0, 0}}).Bytes()),
                HasSubstr("operation of type 7"));
    EXPECT_THAT(Run(BinaryFile(1).Rank({{0, 3, 0, 0, 0, {4}}}).Bytes()),
                HasSubstr("operation 0 precedes operation 4, which is not there"));
    EXPECT_THAT(Run(BinaryFile(2).Rank({{0, 1, 2, 5, 0}}).Rank({}).Bytes()),
                HasSubstr("operation 0 of rank 0: rank 0 exchanges a message with rank 2"));
}

TEST_F(Goal, MistakesAreNamedWithTheirLines)
{
    const auto mistake = [this](const std::string& line) {
        return Run("num_ranks 2\nrank 0 {\na: calc 5\n" + line + "\n}\nrank 1 {\n}\n");
    };
    EXPECT_EQ(mistake("calc 6"), "");
    EXPECT_THAT(mistake("send 5 to 1"), HasSubstr(":4: 'to' is not 'b'; expected"));
    EXPECT_THAT(mistake("send 5b from 1"), HasSubstr(":4: 'from' is not 'to'"));
    EXPECT_THAT(mistake("recv 5b from x"), HasSubstr(":4: 'x' is not a valid rank"));
    EXPECT_THAT(mistake("recv 5b from -1"), HasSubstr(":4: a message from any rank"));
    EXPECT_THAT(mistake("recv 5b from 1 tag -1"), HasSubstr(":4: a message from any rank or with"));
    EXPECT_THAT(mistake("send 5b to 2"), HasSubstr(":4: rank 0 exchanges a message with rank 2"));
    EXPECT_THAT(mistake("send 5b to 0"), HasSubstr(":4: rank 0 exchanges a message with rank 0"));
    EXPECT_THAT(mistake("b requires a"),
                HasSubstr(":4: there is no operation 'b' above this line"));
    EXPECT_THAT(mistake("a needs a"), HasSubstr(":4: 'a' begins no statement; expected rank N"));
    EXPECT_THAT(mistake("a: calc 1"), HasSubstr(":4: the label 'a' comes again"));
    EXPECT_THAT(mistake("a: wait 1"), HasSubstr(":4: 'wait' is no operation"));
    EXPECT_THAT(mistake("b: calc 1\na requires b\nb requires a"),
                HasSubstr(":3: the operation waits for itself"));
    EXPECT_THAT(Run("num_ranks 2\nrank 0 {\n}\n"), HasSubstr(":3: rank 1 of 2 has no schedule"));
    EXPECT_THAT(Run("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n"),
                HasSubstr(":4: rank 0 comes again"));
    EXPECT_THAT(Run("num_ranks 1\nrank 1 {\n}\n"), HasSubstr(":2: there is no rank 1"));
    EXPECT_THAT(Run("num_ranks 1\nrank 0 {\ncalc 1\n"),
                HasSubstr(":3: the file ends within rank 0"));
    EXPECT_THAT(Run("num_ranks 0\n"), HasSubstr(":1: num_ranks is 0"));
}

TEST_F(Goal, AReceiveWithoutASendIsNamedWhenStuck)
{
    EXPECT_EQ(Run("num_ranks 2\nrank 0 {\ncalc 1\n}\nrank 1 {\nrecv 500b from 0 tag 3\n}\n"),
              "not finished");
    EXPECT_THAT(run->job.DescribeWaits(), Contains(HasSubstr("rank 1: line 6 of ")));
}
