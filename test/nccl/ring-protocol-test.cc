/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which protocol a ring between servers has.
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-chooser.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/nccl-options.h"
#include "symbolic-graph.h"

#include "ns3/collective-types.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace AstraSim
{

namespace
{

/// Two servers of eight GPUs with a NIC of 400 Gb/s each.
class RingProtocol : public ::testing::Test
{
  protected:
    std::string Protocol(const std::string& gpu, CollectiveOp op, double bytes) const
    {
        MachineModel machine;
        machine.gpu = FindGpuProfile(gpu);
        machine.gpusPerServer = 8;
        machine.nvlinkGBps = machine.gpu.nvlinkGBps;
        machine.nicGBps = 50;
        machine.nvswitchesPerServer = 1;
        const NcclPlan plan = *NcclChooser(NcclCostModel(machine, options))
                                   .Choose(op,
                                           GroupShape(FirstRanks(16), machine),
                                           GroupKind::Dp,
                                           static_cast<uint64_t>(bytes));
        EXPECT_EQ(plan.algorithm, &NcclAlgorithm::Ring);
        return ToString(plan.protocol);
    }

    /// @return bytes from which on NCCL takes Simple to be faster than LL
    static double Crossing(double llGBps, double overheadUs)
    {
        // src/graph/tuning.cc: base latencies 6.6 and 8.4; of 15 steps one crosses the network (2.7
        // and 14), each other takes the CPU's overhead, with Simple three times (NVLink takes 3.4
        // at least). LL is limited by its CPU's figure; a ring has 8 channels of 48 GB/s or faster.
        const double ll = 6.6 + 14 * overheadUs + 2.7;
        const double simple = 8.4 + 14 * std::max(3.4, 3 * overheadUs) + 14;
        return (simple - ll) * 1e3 / (15.0 / 16 / llGBps - 15.0 / 16 / (8 * 48));
    }

    NcclOptions options;
};

} // namespace

TEST_F(RingProtocol, OfBlackwellIsSimpleFromWhereNcclTakesItToBeFasterThanLl)
{
    for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
    {
        options.hostsAreAmd = true;
        const double amd = Crossing(22.5, 2);
        EXPECT_EQ(Protocol("B200", op, amd * 0.99), "LL128");
        EXPECT_EQ(Protocol("B200", op, amd * 1.01), "Simple");
        options.hostsAreAmd = false;
        const double intel = Crossing(39, 1);
        EXPECT_EQ(Protocol("B200", op, intel * 0.99), "LL128");
        EXPECT_EQ(Protocol("B200", op, intel * 1.01), "Simple");
    }
}

TEST_F(RingProtocol, OfHopperIsLl128WhereNcclTakesThatToBeFastest)
{
    EXPECT_EQ(Protocol("H200", CollectiveOp::AllGather, 2 << 20), "LL128");
    EXPECT_EQ(Protocol("H200", CollectiveOp::AllGather, 16 << 20), "LL128");
}

TEST_F(RingProtocol, OfBlackwellIsTheUsersIfThereIsOne)
{
    options.protocols = {NcclProtocol::Ll128};
    EXPECT_EQ(Protocol("B200", CollectiveOp::AllGather, 16 << 20), "LL128");
}

} // namespace AstraSim
