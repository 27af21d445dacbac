/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/others-files.h"

#include "ns3/input-error.h"
#include "ns3/layer-table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

LayerTable
ReadTable(const std::string& text)
{
    std::istringstream stream(text);
    return ReadLayerTable(stream, "w.txt");
}

/// @return the error's text, or an empty one if there is none
std::string
ErrorOf(const std::string& text)
{
    try
    {
        ReadTable(text);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "";
}

const std::string HEADER =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 "
    "vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0\n";
const std::string LAYER = "a -1 10 NONE 0 20 NONE 0 30 NONE 0 40\n";

} // namespace

TEST(LayerTable, ReadsEveryFieldOfTheHeader)
{
    const auto table = ReadTable(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 3 vpp: 5 ga: 7 "
        "all_gpus: 24 checkpoints: 2 0 2 checkpoint_initiates: 1 2 pp_comm: 4096\n3\n" +
        LAYER + LAYER + LAYER);
    EXPECT_EQ(table.policy, ParallelismPolicy::HybridTransformerFwdInBckwd);
    EXPECT_EQ(table.sizes.tp, 2);
    EXPECT_EQ(table.sizes.ep, 4);
    EXPECT_EQ(table.sizes.pp, 3);
    EXPECT_EQ(table.sizes.world, 24);
    EXPECT_EQ(table.virtualStages, 5);
    EXPECT_EQ(table.gradientAccumulation, 7);
    EXPECT_EQ(table.pipelineBytes, 4096);
    EXPECT_TRUE(table.layers[0].checkpoint);
    EXPECT_FALSE(table.layers[1].checkpoint);
    EXPECT_TRUE(table.layers[2].checkpoint);
    EXPECT_TRUE(table.layers[2].initiates);
    EXPECT_FALSE(table.layers[0].initiates);
}

TEST(LayerTable, ReadsContextParallelGroups)
{
    const auto table =
        ReadTable("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 cp: 4\n1\n"
                  "a -1 1 ALLGATHER_CP 64 1 NONE 0 1 NONE 0 0\n");
    EXPECT_EQ(table.sizes.cp, 4);
    EXPECT_EQ(table.layers[0].comm[0].group, GroupKind::Cp);
}

TEST(LayerTable, ReadsEveryColumnOfALayer)
{
    const auto layer =
        ReadTable(HEADER +
                  "1\nname -1 11 ALLGATHER_EP 100 22 ALLREDUCEALLTOALL 200 33 REDUCESCATTER_DP_EP "
                  "300 44\n")
            .layers.at(0);
    EXPECT_EQ(layer.name, "name");
    EXPECT_EQ(layer.compute, (std::array<TimePs, 3>{11'000, 22'000, 33'000}));
    EXPECT_EQ(layer.update, 44'000);
    EXPECT_EQ(layer.comm[0].op, CollectiveOp::AllGather);
    EXPECT_EQ(layer.comm[0].group, GroupKind::Ep);
    EXPECT_EQ(layer.comm[0].bytes, 100);
    EXPECT_EQ(layer.comm[1].op, CollectiveOp::AllReduce);
    EXPECT_TRUE(layer.comm[1].thenAllToAll);
    EXPECT_EQ(layer.comm[1].group, GroupKind::Tp);
    EXPECT_EQ(layer.comm[2].op, CollectiveOp::ReduceScatter);
    EXPECT_EQ(layer.comm[2].group, GroupKind::DpEp);
    EXPECT_EQ(layer.comm[2].bytes, 300);
}

TEST(LayerTable, CollectiveWithoutSuffixIsTpForwardAndDpForWeights)
{
    const auto layer =
        ReadTable(HEADER + "1\na -1 1 ALLREDUCE 8 1 ALLTOALL 8 1 ALLREDUCE 8 1\n").layers.at(0);
    EXPECT_EQ(layer.comm[0].group, GroupKind::Tp);
    EXPECT_EQ(layer.comm[1].group, GroupKind::Tp);
    EXPECT_EQ(layer.comm[2].group, GroupKind::Dp);
}

TEST(LayerTable, AcceptsCommentsAndBlankLines)
{
    EXPECT_EQ(ReadTable("# a comment\n\n" + HEADER + "1 # layers\n\n" + LAYER).layers.size(), 1);
}

TEST(LayerTable, ReadsMicroLines)
{
    const auto table = ReadTable("3 ALLREDUCE 1048576 DP\n1 ALLTOALL 64 EP # one\n");
    EXPECT_EQ(table.policy, ParallelismPolicy::Micro);
    ASSERT_EQ(table.layers.size(), 2);
    EXPECT_EQ(table.layers[0].repeat, 3);
    EXPECT_EQ(table.layers[0].comm[0].group, GroupKind::Dp);
    EXPECT_EQ(table.layers[1].comm[0].op, CollectiveOp::AllToAll);
    EXPECT_EQ(table.layers[1].comm[0].bytes, 64);
}

TEST(LayerTable, ReadsHeadersAsAicbWritesThem)
{
    const auto table =
        ReadTable("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "
                  "expert_parallel_npu_group: 4 pp: 2 all_gpus: 32 mode: 1 vpp: 1 ga: 1 "
                  "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 8388608.0\n2\n"
                  "a -1 10 ALLREDUCE 4096.0 20 NONE 0 30 NONE 0 40\n" +
                  LAYER);
    EXPECT_EQ(table.sizes.ep, 4);
    EXPECT_EQ(table.pipelineBytes, 8388608);
    EXPECT_EQ(table.layers.at(0).comm[0].bytes, 4096);
    EXPECT_TRUE(table.inference);
    EXPECT_FALSE(ReadTable(HEADER + "1\n" + LAYER).inference);
    EXPECT_THAT(ErrorOf("DATA mode: 2\n1\n" + LAYER),
                HasSubstr("w.txt:1: mode is '2'; expected 0 or 1"));
    EXPECT_THAT(ErrorOf("DATA pp_comm: 8.5\n1\n" + LAYER),
                HasSubstr("w.txt:1: pp_comm is '8.5'; expected bytes below 2^53"));
}

TEST(LayerTable, MicroLinesTakeServersAsTpAndTheirNumberAsDpAndEp)
{
    const auto table = ReadTable("1 ALLREDUCE 8 TP\n1 ALLTOALL 8 EP\n");
    const auto ranks = [](int first, int count) {
        std::vector<int> numbers(static_cast<std::size_t>(count));
        std::iota(numbers.begin(), numbers.end(), first);
        return numbers;
    };
    ParallelSizes options;
    options.gpusPerServer = 8;
    const ParallelSizes sizes = GroupSizes(table, options, ranks(16, 32));
    EXPECT_EQ(sizes.tp, 8);
    EXPECT_EQ(sizes.ep, 4); // DP is 32 / 8 as well
    EXPECT_FALSE(sizes.everyGroupIsWorld);
    // One server, half servers, ranks apart: every group is all ranks.
    EXPECT_TRUE(GroupSizes(table, options, ranks(0, 8)).everyGroupIsWorld);
    EXPECT_TRUE(GroupSizes(table, options, ranks(4, 16)).everyGroupIsWorld);
    EXPECT_TRUE(GroupSizes(table, options, ranks(0, 12)).everyGroupIsWorld);
    // A flag goes first.
    options.tp = 4;
    EXPECT_EQ(GroupSizes(table, options, ranks(0, 32)).tp, 4);
    EXPECT_EQ(GroupSizes(table, options, ranks(0, 32)).ep, 0);
}

TEST(LayerTable, NamesFileLineAndExpectation)
{
    const struct
    {
        std::string text;
        std::string error;
    } cases[] = {
        {"", "w.txt: the workload is empty"},
        {"TRANSFORMER\n1\n" + LAYER, "w.txt:1: 'TRANSFORMER' is not a valid parallelism policy"},
        {"HYBRID_TRANSFORMER\n1\n" + LAYER, "w.txt:1: the header does not say how many ranks"},
        {"DATA tpp: 3\n1\n" + LAYER,
         "w.txt:1: unknown key 'tpp'; expected model_parallel_NPU_group, "},
        {"DATA all_gpus: x\n1\n" + LAYER, "w.txt:1: all_gpus is 'x'"},
        {"DATA all_gpus:\n1\n" + LAYER, "w.txt:1: the line ends before all values of all_gpus"},
        {"DATA all_gpus: 0\n1\n" + LAYER,
         "w.txt:1: all_gpus is '0'; expected a whole number from 1 to 2147483647"},
        {"DATA all_gpus: 4294967296\n1\n" + LAYER,
         "w.txt:1: all_gpus is '4294967296'; expected a whole number"},
        {"DATA checkpoints: 2 0\n1\n" + LAYER,
         "w.txt:1: the line ends before all values of checkpoints"},
        {"DATA stage_rows: 0\n1\n" + LAYER, "w.txt:1: stage_rows is ''; expected whole numbers"},
        {"DATA pp: 1 ga: 2 pp: 2\n1\n" + LAYER,
         "w.txt:1: the key 'pp' occurs twice; expected each key once"},
        {"DATA ep: 2 expert_parallel_npu_group: 2\n1\n" + LAYER,
         "w.txt:1: the key 'expert_parallel_npu_group' occurs twice"},
        {HEADER + "1\na -1 1e30 NONE 0 20 NONE 0 3 NONE 0 40\n",
         "w.txt:3: '1e30' is not a valid value of fwd_ns; expected less than 9.2e15 ns"},
        {"DLRM\n1\n" + LAYER, "w.txt:1: the header does not say where the bottom network ends"},
        {"DLRM 1\n1\n" + LAYER, "w.txt:1: the last bottom layer is 1"},
        {HEADER, "w.txt:1: the workload ends after its header"},
        {HEADER + LAYER, "w.txt:2: the second line has 12 fields"},
        {HEADER + "0\n", "w.txt:2: the number of layers is 0"},
        {HEADER + "2\n" + LAYER, "w.txt:3: the file ends after 1 layers; expected 2 layers"},
        {HEADER + "1\n" + LAYER + LAYER, "w.txt:4: there are more than the 1 layers announced"},
        {HEADER + "1\na -1 10 NONE 0\n", "w.txt:3: a layer with 5 fields; expected 12"},
        {HEADER + "1\na -1 10 NONE 0 20 NONE 0 -3 NONE 0 40\n",
         "w.txt:3: '-3' is not a valid value of wg_ns"},
        {HEADER + "1\na -1 10 ALLREDUCES 0 20 NONE 0 3 NONE 0 40\n",
         "w.txt:3: unknown collective 'ALLREDUCES'"},
        {HEADER + "1\na -1 10 ALLREDUCE_XP 0 20 NONE 0 3 NONE 0 40\n",
         "w.txt:3: unknown collective 'ALLREDUCE_XP'"},
        {HEADER + "1\na -1 10 ALLREDUCE 1e3x 20 NONE 0 3 NONE 0 40\n",
         "w.txt:3: the collective's size is '1e3x'; expected bytes"},
        {"DATA checkpoints: 1 4 checkpoint_initiates: 0\n1\n" + LAYER,
         "w.txt:1: checkpoint layer 4 does not exist"},
        {"DATA checkpoints: 0 checkpoint_initiates: 1 0\n1\n" + LAYER,
         "w.txt:1: layer 0 starts a re-computation but no layer up to it is a checkpoint"},
        {"DATA stage_rows: 1 1\n1\n" + LAYER, "w.txt:1: stage_rows is for training of"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 pp: 2 vpp: 1 stage_rows: 2 0 "
         "1\n1\n" +
             LAYER,
         "w.txt:1: stage_rows has 2 numbers; expected 4"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 stage_rows: 2 1 1\n1\n" +
             LAYER,
         "w.txt:1: stage_rows add up to 2; expected 1"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 stage_rows: 2 1 0\n1\n" +
             LAYER,
         "w.txt:1: stage_rows has a chunk without rows"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 tied_comm: 8\n1\n" + LAYER,
         "w.txt:1: tied_comm and reduce_each are for rows of stages"},
        {"DATA reduce_each: 2\n1\n" + LAYER, "w.txt:1: reduce_each is '2'"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 input_until: 2 0 0\n1\n" +
             LAYER,
         "w.txt:1: input_until is for rows of stages"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 stage_rows: 2 0 1 "
         "forward_until: 2 0 0\n1\n" +
             LAYER,
         "w.txt:1: forward_until has row 0 and row 0; expected rows of the table, the second one "
         "after the first"},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 stage_rows: 2 0 1 "
         "input_until: 1 0\n1\n" +
             LAYER,
         "w.txt:1: input_until has 1 numbers; expected pairs of rows"},
        {"1 ALLREDUCE 8\n", "w.txt:1: a micro line with 3 fields"},
        {"0 ALLREDUCE 8 DP\n", "w.txt:1: the number of passes is 0"},
        {"1 NONE 8 DP\n", "w.txt:1: 'NONE' is not a valid collective of a micro line"},
        {"1 ALLREDUCE 8 XP\n", "w.txt:1: unknown group 'XP'"},
    };

    for (const auto& [text, error] : cases)
    {
        EXPECT_THAT(ErrorOf(text), HasSubstr(error)) << text;
    }
}

TEST(LayerTable, ReadsTheFilesOfSimAI)
{
    NEEDS_OTHERS_FILES();
    const auto large = ReadLayerTable(OthersFile("simai/workload_analytical.txt"));
    EXPECT_EQ(large.layers.size(), 1789);
    EXPECT_EQ(large.sizes.world, 9216);
    EXPECT_EQ(large.pipelineBytes, 50331648);
    EXPECT_EQ(large.layers[0].comm[2].bytes, 2807758848);
    EXPECT_EQ(ReadLayerTable(OthersFile("simai/microAllReduce.txt")).layers.size(), 2);
}
