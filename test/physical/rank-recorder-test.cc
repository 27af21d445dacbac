/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/idle-workload.h"
#include "simulator/physical/rank-recorder.h"
#include "simulator/records/merged-records.h"

#include "ns3/qbb-notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace AstraSim
{
namespace
{

using testing::ElementsAre;

/// Two ranks whose clocks differ: rank 1 shows 1000 ps more than rank 0.
class TwoRanks : public ::testing::Test, protected RunObserver
{
  protected:
    void Record(int rank, TimePs start, TimePs end)
    {
        CommGroup group{1, GroupKind::Dp, "DP0", {0, 1}}; // gone when it is told of
        CollectiveChoice choice{"Ring", "LL", 1, 1, 0};
        std::string layer = "gone";
        CollectiveRecord record{7,
                                layer,
                                {},
                                &group,
                                CollectiveOp::AllReduce,
                                100,
                                &choice,
                                start,
                                0,
                                0,
                                uint64_t{1} << 32};
        recorders[rank].CollectiveStarted(record);
        record.lastStart = start;
        record.end = end;
        recorders[rank].CollectiveEnded(record);
    }

    /// @param flows of rank 1
    void Merge(const std::vector<FlowRecord>& flows = {})
    {
        MergedRecords merged(*this);
        merged.SetWorkload(m_workload);
        ns3::QbbNotes notes;
        for (int rank = 0; rank < 2; ++rank)
        {
            const auto bytes =
                recorders[rank].Write(rank,
                                      merged.AddPart({rank}),
                                      rank == 1 ? flows : std::vector<FlowRecord>(),
                                      [rank](TimePs time) { return time - 1000 * rank; });
            ns3::QbbByteReader reader(bytes);
            notes.TakeFrom(reader);
        }
        notes.Tell([](uint64_t) {});
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        told.push_back((record.isMessage ? "message " : "end ") + std::to_string(record.start) +
                       " " + std::to_string(record.lastStart) + " " + std::to_string(record.end) +
                       " " + record.group->name + " " + record.choice->algorithm);
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        told.push_back("compute " + std::to_string(record.rank) + " " + std::string(record.layer) +
                       " " + std::to_string(record.end));
    }

    void FlowEnded(const FlowRecord& record) override
    {
        told.push_back("flow " + std::to_string(record.start) + " " + std::to_string(record.end));
    }

    void RankFinished(int rank, TimePs now) override
    {
        told.push_back("rank " + std::to_string(rank) + " " + std::to_string(now));
    }

    RankRecorder recorders[2];
    std::vector<std::string> told;

  private:
    IdleWorkload m_workload{"w.txt"};
};

} // namespace

TEST_F(TwoRanks, RecordsAreMergedByTheClockOfTheFirst)
{
    Record(0, 100, 500);
    Record(1, 1050, 1450);
    recorders[1].ComputeEnded({1, "gone", {}, 1500, 1600});
    recorders[0].RankFinished(0, 700);
    recorders[1].RankFinished(1, 1650);
    Merge({{.src = 0, .dst = 1, .bytes = 1, .start = 1200, .end = 1300}});
    EXPECT_THAT(told,
                ElementsAre("flow 200 300",
                            "end 50 100 500 DP0 Ring",
                            "compute 1 layer 600",
                            "rank 1 650",
                            "rank 0 700"));
    EXPECT_EQ(recorders[1].GetFinishTime(), 1650);
}

TEST_F(TwoRanks, AMessageThatComesBeforeItLeavesTakesNoTime)
{
    // Two messages; by clock error the first one comes 5 ps before it leaves.
    recorders[0].MessageLeft({0, 1, 3, 10, {}, 100});
    recorders[0].MessageLeft({0, 1, 3, 20, {}, 200});
    recorders[1].MessageCame({0, 1, 3, 10, {}, 1095});
    recorders[1].MessageCame({0, 1, 3, 20, {}, 1230});
    Merge();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_THAT(told[0], testing::StartsWith("message 100 100 100"));
    EXPECT_THAT(told[1], testing::StartsWith("message 200 200 230"));
}

} // namespace AstraSim
