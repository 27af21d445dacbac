/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "collectives/model/nccl/network-table.h"
#include "collectives/model/nccl/tuner-table.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace AstraSim
{

namespace
{

TunerTable
TableOf(const std::string& lines)
{
    std::istringstream text(lines);
    return TunerTable::Read(text, "tuner.conf");
}

bool
AllowAll(const NcclAlgorithm&, NcclProtocol)
{
    return true;
}

/// @return "FILE:LINE" of the row that decides about an AllReduce; "" if none does
std::string
RowFor(const TunerTable& table, uint64_t bytes, uint32_t nodes, uint32_t ranks)
{
    const TunerRow* row = table.Find({CollectiveOp::AllReduce, bytes, nodes, ranks}, AllowAll);
    return row ? row->source : "";
}

std::string
MistakeIn(const std::string& lines)
{
    try
    {
        TableOf(lines);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

std::string
TunerMistakeIn(const std::string& tuner)
{
    NetworkTable table = NetworkTable::GetBuiltIn();
    try
    {
        table.AddRows("- name: Mine\n  tuner: " + tuner + "\n", "kinds.yaml");
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

/// @return what the tuner of a kind takes for an AllReduce, such as "Tree LL128"; "" if it leaves
/// it to NCCL
std::string
ChoiceOf(const char* kind, uint64_t bytes, uint32_t nodes, uint32_t perNode = 8)
{
    const TunerTable& tuner = *NetworkTable::GetBuiltIn().Find(kind)->tuner;
    const TunerRow* row =
        tuner.Find({CollectiveOp::AllReduce, bytes, nodes, nodes * perNode}, AllowAll);
    return row ? std::string(ToString(row->algorithm)) + " " + ToString(row->protocol) : "";
}

constexpr uint64_t MEBIBYTE = 1 << 20;

} // namespace

TEST(TunerTable, ConditionsMatchEqualNumbersAndMinusOneMatchesAny)
{
    // The question: 4096 bytes, 4 nodes, 32 ranks, one operation, buffers that are not registered.
    const std::pair<const char*, bool> nodes[] = {{"-1", true}, {"4", true}, {"8", false}};
    const std::pair<const char*, bool> ranks[] = {{"-1", true}, {"32", true}, {"31", false}};
    const std::pair<const char*, bool> pipeOps[] = {{"-1", true}, {"1", true}, {"4", false}};
    const std::pair<const char*, bool> buffers[] = {{"-1", true}, {"0", true}, {"1", false}};
    const std::pair<const char*, bool> sizes[] = {{"0,4294967295", true},
                                                  {"4096,4096", true},
                                                  {"0,-1", true},
                                                  {"0,4095", false},
                                                  {"4097,8192", false}};
    for (const auto& [node, nodeFits] : nodes)
    {
        for (const auto& [rank, rankFits] : ranks)
        {
            for (const auto& [ops, opsFit] : pipeOps)
            {
                for (const auto& [buffer, bufferFits] : buffers)
                {
                    for (const auto& [size, sizeFits] : sizes)
                    {
                        const std::string line = std::string("allreduce,") + size +
                                                 ",ring,simple,-1," + node + "," + rank + "," +
                                                 ops + "," + buffer;
                        EXPECT_EQ(RowFor(TableOf(line), 4096, 4, 32) == "tuner.conf:1",
                                  nodeFits && rankFits && opsFit && bufferFits && sizeFits)
                            << line;
                    }
                }
            }
        }
    }
}

TEST(TunerTable, TheFirstRowThatFitsCountsInWhateverOrder)
{
    const std::string small = "allreduce,0,65536,tree,ll,-1,-1,-1\n";
    const std::string any = "allreduce, 0, -1, ring, simple, 4, -1, -1, -1\n";
    const std::string other = "broadcast,0,-1,ring,ll128,-1,-1,-1\n";
    EXPECT_EQ(RowFor(TableOf("# a comment\n\n" + other + small + any), 1024, 2, 16),
              "tuner.conf:4");
    EXPECT_EQ(RowFor(TableOf(other + any + small), 1024, 2, 16), "tuner.conf:2");
    EXPECT_EQ(RowFor(TableOf(small + any), 65537, 2, 16), "tuner.conf:2");
    EXPECT_EQ(RowFor(TableOf(small + other), 65537, 2, 16), "");
}

TEST(TunerTable, ARowWhoseAlgorithmIsNotAvailableIsPassedOver)
{
    const TunerTable table = TableOf("allreduce,0,-1,nvls_tree,simple,-1,-1,-1\n"
                                     "allreduce,0,-1,ring,ll,-1,-1,-1\n"
                                     "allreduce,0,-1,ring,simple,-1,-1,-1\n");
    const TunerRow* row =
        table.Find({CollectiveOp::AllReduce, 8, 2, 16},
                   [](const NcclAlgorithm& algorithm, NcclProtocol protocol) {
                       return algorithm == NcclAlgorithm::Ring && protocol != NcclProtocol::Ll;
                   });
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->source, "tuner.conf:3");
}

TEST(TunerTable, AMistakeNamesTheLineAndWhatIsExpected)
{
    const std::string good = "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,"
                             "nNodes,nRanks\nallreduce,0,1,ring,ll,-1,-1,-1\n";
    EXPECT_EQ(MistakeIn(good), "no error") << "a line of names may be there";
    EXPECT_THAT(MistakeIn(good + "allreduce,0,1,ring,ll,-1,-1\n"),
                testing::StartsWith("tuner.conf:3: this line has 7 fields; expected collective"));
    EXPECT_THAT(MistakeIn(good + "allreduce,0,1,ring,ll,-1,-1,-1,-1,-1,-1\n"),
                testing::HasSubstr("11 fields"));
    EXPECT_EQ(MistakeIn("alltoall,0,1,ring,ll,-1,-1,-1"),
              "tuner.conf:1: collective is 'alltoall'; expected allgather, allreduce, broadcast, "
              "reduce or reducescatter");
    EXPECT_THAT(MistakeIn("allreduce,0,1,Ring,ll,-1,-1,-1"), testing::HasSubstr("'Ring'"));
    EXPECT_THAT(MistakeIn("allreduce,0,1,ring,ll64,-1,-1,-1"),
                testing::HasSubstr("expected ll, ll128 or simple"));
    EXPECT_THAT(MistakeIn("allreduce,-1,1,ring,ll,-1,-1,-1"),
                testing::HasSubstr("min_bytes is '-1'; expected bytes"));
    EXPECT_THAT(MistakeIn("allreduce,9,8,ring,ll,-1,-1,-1"),
                testing::HasSubstr("min_bytes is above max_bytes"));
    EXPECT_THAT(MistakeIn("allreduce,0,4K,ring,ll,-1,-1,-1"), testing::HasSubstr("'4K'"));
    EXPECT_THAT(MistakeIn("allreduce,0,,ring,ll,-1,-1,-1"), testing::HasSubstr("''"));
    EXPECT_THAT(MistakeIn("allreduce,0,1,ring,ll,129,-1,-1"),
                testing::HasSubstr("expected 0 to 128, or -1"));
    EXPECT_THAT(MistakeIn("allreduce,0,1,ring,ll,-1,0,-1"), testing::HasSubstr("nodes is '0'"));
    EXPECT_THAT(MistakeIn("allreduce,0,1,ring,ll,-1,-1,-1,-1,2"),
                testing::HasSubstr("registered is '2'"));
    EXPECT_THROW(TunerTable::Read("/nonexistent/tuner.conf"), ns3::InputError);
}

TEST(TunerTable, AKindsTunerMistakesNameTheirLine)
{
    EXPECT_EQ(TunerMistakeIn("none"), "no error");
    EXPECT_EQ(TunerMistakeIn("{name: t, rows: []}"), "no error");
    EXPECT_THAT(TunerMistakeIn("{rows: []}"), testing::StartsWith("kinds.yaml:2: this tuner"));
    EXPECT_THAT(TunerMistakeIn("{name: t, rows: [{collective: allreduce, algorithm: ring}]}"),
                testing::HasSubstr("this row has no protocol"));
    const std::string row = "{collective: allreduce, algorithm: ring, protocol: ll, ";
    EXPECT_THAT(TunerMistakeIn("{name: t, scale: cubic, rows: []}"),
                testing::HasSubstr("expected linear or log"));
    EXPECT_THAT(TunerMistakeIn("{name: t, rows: [" + row + "region: [[0, 1], [1, 1]]}]}"),
                testing::HasSubstr("region is not a polygon"));
    EXPECT_THAT(TunerMistakeIn("{name: t, rows: [" + row + "region: [[0, 1], [1, 1], [2]]}]}"),
                testing::HasSubstr("no corner of a region"));
    EXPECT_THAT(TunerMistakeIn("{name: t, rows: [" + row + "nodes: many}]}"),
                testing::HasSubstr("nodes is 'many'"));
    EXPECT_THAT(TunerMistakeIn("{name: t, rows: [" + row + "size: 4}]}"),
                testing::HasSubstr("unknown key 'size'"));
}

TEST(TunerTable, P5TakesTheRegionsOfItsPlugIn)
{
    // Corners at 64 ranks in nccl_ofi_regions.cpp: Tree LL128 to 117440512 bytes, Ring LL128 to
    // 2147483648, Ring Simple from 2684354560 on.
    EXPECT_EQ(ChoiceOf("EFA-p5", 117440512, 8), "Tree LL128") << "the edge belongs to the first";
    EXPECT_EQ(ChoiceOf("EFA-p5", 117440513, 8), "Ring LL128");
    EXPECT_EQ(ChoiceOf("EFA-p5", 2048 * MEBIBYTE, 8), "Ring LL128");
    EXPECT_EQ(ChoiceOf("EFA-p5", 2684354560, 8), "Ring Simple");
    EXPECT_EQ(ChoiceOf("EFA-p5", 512 * MEBIBYTE, 64), "NVLSTree Simple");
    EXPECT_EQ(ChoiceOf("EFA-p5", MEBIBYTE, 2), "") << "two nodes are NCCL's";
    EXPECT_EQ(ChoiceOf("EFA-p5", MEBIBYTE, 8, 4), "") << "four ranks of a node are nobody's";
    EXPECT_EQ(ChoiceOf("EFA-p5", MEBIBYTE, 8, 2), "Tree LL128");
    // Between corners, releases from 1.19 on take logarithms: at 48 ranks, the edge of Tree LL128
    // from (37748736, 32) to (117440512, 64) is at 77594624 bytes, or at 73.3 million.
    EXPECT_EQ(ChoiceOf("EFA-p5", 75'000'000, 6), "Tree LL128");
    EXPECT_EQ(ChoiceOf("EFA-p5-1.19", 75'000'000, 6), "Ring LL128");
    EXPECT_EQ(ChoiceOf("EFA-p6-b200", 8, 4), "Tree LL");
    EXPECT_EQ(NetworkTable::GetBuiltIn().Find("RoCE")->tuner, nullptr);
}

TEST(TunerTable, AUsersTableReplacesThatOfTheNetwork)
{
    NcclOptions options;
    options.SetNetworkKind("EFA-p5", "test", "kind");
    ASSERT_NE(options.GetTuner(), nullptr);
    EXPECT_EQ(options.GetTuner()->GetName(), "aws-ofi-nccl 1.14 on p5");
    options.release = NcclRelease::V2_20;
    EXPECT_EQ(options.GetTuner(), nullptr) << "NCCL finds such tuners from 2.21 on";
    options.release = NcclRelease::V2_30;
    options.usesKindsTuner = false;
    EXPECT_EQ(options.GetTuner(), nullptr);
    options.tunerFile =
        std::make_shared<const TunerTable>(TableOf("allreduce,0,-1,ring,ll,-1,-1,-1"));
    EXPECT_EQ(options.GetTuner()->GetName(), "tuner.conf");
}

} // namespace AstraSim
