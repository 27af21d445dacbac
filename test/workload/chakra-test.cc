/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/others-files.h"
#include "../system/job-fixture.h"
#include "astra-frontend/model/chakra/chakra-trace.h"
#include "astra-frontend/model/chakra/chakra-window.h"
#include "astra-frontend/model/workload/chakra-workload.h"
#include "chakra-file.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace AstraSim;
using ::testing::Contains;
using ::testing::HasSubstr;

namespace
{

class Chakra : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        m_folder = std::filesystem::path(::testing::TempDir()) /
                   (std::string("chakra-") +
                    ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(m_folder);
        std::filesystem::create_directories(m_folder);
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_folder);
    }

    std::string Path(int rank) const
    {
        return Prefix() + "." + std::to_string(rank) + ".et";
    }

    std::string Prefix() const
    {
        return (m_folder / "t").string();
    }

    /// Runs the files written so far on @p ranks ranks. @return the error's text, if any
    std::string Run(int ranks,
                    const SystemConfig& config,
                    double bandwidth = 50e9,
                    std::vector<uint32_t> dimensions = {})
    {
        try
        {
            workload = std::make_unique<ChakraWorkload>(Prefix(), communicators, memory);
            run = std::make_unique<JobRun>(*workload,
                                           ranks,
                                           config,
                                           std::move(dimensions),
                                           0,
                                           bandwidth);
            run->Run();
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return "";
    }

    std::filesystem::path m_folder;
    std::string communicators;
    RemoteMemoryConfig memory;
    std::unique_ptr<ChakraWorkload> workload;
    std::unique_ptr<JobRun> run;
};

} // namespace

TEST_F(Chakra, ReadsEveryIntegerTypeOfAnAttribute)
{
    ChakraFile file;
    auto node = file.Node(300, ChakraProtoMsg::COMM_COLL_NODE);
    const auto add = [&node](const char* name) {
        node.add_attr()->set_name(name);
        return node.mutable_attr(node.attr_size() - 1);
    };
    add("comm_type")->set_sint32_val(ChakraProtoMsg::ALL_TO_ALL);
    add("comm_size")->set_fixed64_val(1ULL << 40);
    add("comm_priority")->set_sfixed32_val(-3);
    add("comm_tag")->set_uint32_val(7);
    add("is_cpu_op")->set_bool_val(true);
    add("num_ops")->set_sint64_val(5);
    add("tensor_size")->set_uint64_val(6);
    add("unknown")->set_string_val("x");
    node.add_ctrl_deps(2);
    node.add_data_deps(2);
    node.add_data_deps(1);
    file.Add(node).WriteCompressed(Path(0));

    ChakraTrace trace(Path(0));
    ChakraNode read;
    ASSERT_TRUE(trace.Next(read));
    EXPECT_EQ(read.id, 300);
    EXPECT_EQ(read.op, CollectiveOp::AllToAll);
    EXPECT_EQ(read.commBytes, 1ULL << 40);
    EXPECT_EQ(read.priority, -3);
    EXPECT_EQ(read.tag, 7);
    EXPECT_TRUE(read.isCpuOp);
    EXPECT_EQ(read.operations, 5);
    EXPECT_EQ(read.tensorBytes, 6);
    EXPECT_THAT(read.dependencies, ::testing::ElementsAre(1, 2));
    EXPECT_FALSE(trace.Next(read));
}

TEST_F(Chakra, ReadsGroupsAndDimensionsOfEveryTypeOfNumber)
{
    using Attribute = ChakraProtoMsg::AttributeProto;
    const auto read = [this](const char* name, const std::function<void(Attribute&)>& set) {
        ChakraFile file;
        auto node = file.Node(1, ChakraProtoMsg::COMM_COLL_NODE);
        ChakraFile::SetNumber(node, "comm_type", ChakraProtoMsg::ALL_REDUCE);
        ChakraFile::SetNumber(node, "comm_size", 8);
        auto* attribute = node.add_attr();
        attribute->set_name(name);
        set(*attribute);
        file.Add(node).Write(Path(0));
        ChakraTrace trace(Path(0));
        ChakraNode found;
        EXPECT_TRUE(trace.Next(found));
        return found;
    };
    const std::vector<std::function<void(Attribute&)>> names{
        [](Attribute& a) { a.set_string_val("7"); },
        [](Attribute& a) { a.set_bytes_val("7"); },
        [](Attribute& a) { a.set_int32_val(7); },
        [](Attribute& a) { a.set_int64_val(7); },
        [](Attribute& a) { a.set_uint64_val(7); },
        [](Attribute& a) { a.set_sfixed32_val(7); }};
    for (const auto& set : names)
    {
        EXPECT_EQ(read("pg_name", set).group, "7");
    }
    const std::vector<std::function<void(Attribute&)>> lists{
        [](Attribute& a) { a.mutable_bool_list()->add_values(true); },
        [](Attribute& a) { a.mutable_int32_list()->add_values(1); },
        [](Attribute& a) { a.mutable_uint64_list()->add_values(1); },
        [](Attribute& a) { a.mutable_sint32_list()->add_values(1); },
        [](Attribute& a) { a.mutable_sint64_list()->add_values(1); },
        [](Attribute& a) { a.mutable_fixed32_list()->add_values(1); },
        [](Attribute& a) { a.mutable_sfixed64_list()->add_values(1); },
        [](Attribute& a) { a.set_int64_val(1); }};
    for (const auto& set : lists)
    {
        EXPECT_EQ(read("involved_dim", set).involvedDimensions, std::vector<bool>{true});
    }
    for (const char* name : {"pg_name", "involved_dim"})
    {
        try
        {
            read(name, [](Attribute& a) { a.mutable_string_list()->add_values("x"); });
            ADD_FAILURE() << name;
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(name + std::string(" of another type; expected")));
        }
    }
}

TEST_F(Chakra, RefusesDamagedFiles)
{
    ChakraFile file;
    file.Compute(0, 1, {});
    for (std::size_t length = 1; length < file.Data().size(); ++length)
    {
        std::ofstream(Path(0), std::ios::binary) << file.Data().substr(0, length);
        const auto readAll = [this]() {
            ChakraTrace trace(Path(0));
            ChakraNode node;
            uint32_t count = 0;
            while (trace.Next(node))
            {
                ++count;
            }
            return count;
        };
        try
        {
            EXPECT_EQ(readAll(), 0) << length; // cut between two messages
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(Path(0)));
        }
    }
    EXPECT_THROW(ChakraTrace(Path(1)), ns3::InputError);
}

TEST_F(Chakra, NodesThatMoveBytesSayHowManyAndWhere)
{
    using Type = ChakraProtoMsg::NodeType;
    using Case = std::pair<Type, std::vector<std::string>>;
    const std::vector<Case> cases = {{Type::COMM_COLL_NODE, {"comm_type", "comm_size"}},
                                     {Type::COMM_SEND_NODE, {"comm_size", "comm_dst"}},
                                     {Type::COMM_RECV_NODE, {"comm_size", "comm_src"}},
                                     {Type::MEM_LOAD_NODE, {"tensor_size"}},
                                     {Type::MEM_STORE_NODE, {"tensor_size"}}};
    for (const auto& [type, needed] : cases)
    {
        for (const std::string& missing : needed)
        {
            ChakraFile file;
            auto node = file.Node(7, type);
            for (const std::string& name : needed)
            {
                if (name != missing)
                {
                    ChakraFile::SetNumber(node, name, 0);
                }
            }
            auto* text = node.add_attr(); // of no number
            text->set_name(missing);
            text->set_string_val("1000");
            file.Add(node).Write(Path(0));
            ChakraTrace trace(Path(0));
            ChakraNode read;
            try
            {
                trace.Next(read);
                ADD_FAILURE() << missing;
            }
            catch (const ns3::InputError& error)
            {
                EXPECT_THAT(error.what(), HasSubstr("node 7 has no " + missing + "; expected "));
            }
        }
    }
}

TEST_F(Chakra, ABarrierHasNoSize)
{
    ChakraFile file;
    auto node = file.Node(7, ChakraProtoMsg::COMM_COLL_NODE);
    ChakraFile::SetNumber(node, "comm_type", ChakraProtoMsg::BARRIER);
    file.Add(node).Write(Path(0));
    ChakraTrace trace(Path(0));
    ChakraNode read;
    EXPECT_TRUE(trace.Next(read));
    EXPECT_EQ(read.op, CollectiveOp::Barrier);
}

TEST_F(Chakra, WindowHoldsNoMoreThanItsLimit)
{
    ChakraFile file;
    constexpr uint64_t NODES = 20000;
    file.Compute(0, 1, {});
    for (uint64_t id = 1; id < NODES; ++id)
    {
        file.Compute(id, 1, {id - 1});
    }
    file.Write(Path(0));
    ChakraWindow window(Path(0), 100);
    uint64_t expected = 0;
    while (const ChakraNode* node = window.Next())
    {
        EXPECT_EQ(node->id, expected++);
        EXPECT_LE(window.GetSize(), 100);
        window.Finish(node->id);
    }
    EXPECT_EQ(expected, NODES);
    EXPECT_TRUE(window.Done());
}

TEST_F(Chakra, WindowReadsOnWhenAllItHoldsWaitsForALaterNode)
{
    ChakraFile file;
    for (uint64_t id = 0; id < 50; ++id)
    {
        file.Compute(id, 1, {50});
    }
    file.Compute(50, 1, {}).Write(Path(0));
    ChakraWindow window(Path(0), 10);
    const ChakraNode* first = window.Next();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->id, 50);
    EXPECT_EQ(window.Next(), nullptr);
    window.Finish(50);
    EXPECT_EQ(window.Next()->id, 0);
}

TEST_F(Chakra, NamesCyclesAndMissingDependencies)
{
    const auto error = [this](ChakraFile& file) {
        file.Write(Path(0));
        ChakraFile().Compute(0, 1, {}).Write(Path(1));
        return Run(2, NativeConfig("ring"));
    };
    ChakraFile cycle;
    EXPECT_THAT(error(cycle.Compute(1, 1, {3}).Compute(2, 1, {1}).Compute(3, 1, {2})),
                HasSubstr("depends on itself: 1 -> 3 -> 2 -> 1"));
    ChakraFile self;
    EXPECT_THAT(error(self.Compute(4, 1, {4})), HasSubstr("node 4 depends on itself"));
    ChakraFile missing;
    EXPECT_THAT(error(missing.Compute(4, 1, {9})),
                HasSubstr("node 4 depends on node 9, which is not in the trace"));
    ChakraFile twice;
    EXPECT_THAT(error(twice.Compute(4, 1, {}).Compute(4, 1, {})), HasSubstr("node 4 occurs twice"));
}

TEST_F(Chakra, NamesAMissingRankFile)
{
    ChakraFile().Compute(0, 1, {}).Write(Path(0));
    ChakraFile().Compute(0, 1, {}).Write(Path(2));
    EXPECT_THAT(Run(3, NativeConfig("ring")), HasSubstr("t.1.et: does not exist"));
    std::filesystem::rename(Path(2), Path(12));
    EXPECT_THAT(Run(3, NativeConfig("ring")), HasSubstr("t.1.et: does not exist"));
    std::filesystem::remove(Path(12));
    EXPECT_EQ(Run(1, NativeConfig("ring")), "");
}

TEST_F(Chakra, ComputesOneAtATimeAndBesideCommunication)
{
    for (int rank = 0; rank < 2; ++rank)
    {
        // Two kernels of 10 us, a collective of 20 us beside them.
        ChakraFile()
            .Compute(0, 10, {})
            .Compute(1, 10, {})
            .Collective(2, ChakraProtoMsg::ALL_REDUCE, 1'000'000, "", {})
            .Compute(3, 5, {0, 1, 2})
            .Write(Path(rank));
    }
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    ASSERT_TRUE(run->job.Finished());
    EXPECT_EQ(run->recorder.finished, 25'000'000);
    EXPECT_EQ(run->recorder.compute, 2 * 25'000'000);
    EXPECT_EQ(run->recorder.exposed, 0);
}

TEST_F(Chakra, RooflineTakesTheSlowerOfMathAndMemory)
{
    ChakraFile file;
    const auto kernel = [&file](uint64_t id, int64_t operations, int64_t bytes) {
        auto node = file.Node(id, ChakraProtoMsg::COMP_NODE);
        ChakraFile::SetNumber(node, "num_ops", operations);
        ChakraFile::SetNumber(node, "tensor_size", bytes);
        file.Add(node);
    };
    kernel(0, 2'000'000'000, 1000); // 2 GFLOP at 1 TFLOP/s: 2 ms
    kernel(1, 1000, 3'000'000'000); // 3 GB at 1000 GB/s: 3 ms
    file.Write(Path(0));
    ChakraFile().Compute(0, 1, {}).Write(Path(1));
    auto config = NativeConfig("ring");
    config.rooflineEnabled = true;
    config.peakPerf = 1;
    config.memoryBus.localMemBandwidth = 1000;
    ASSERT_EQ(Run(2, config), "");
    EXPECT_EQ(run->recorder.finished, 5'000'000'000);
}

TEST_F(Chakra, MessagesMatchByTagAndOrder)
{
    ChakraFile().Send(0, 1, 500'000, {}).Send(1, 1, 500'000, {0}).Write(Path(0));
    ChakraFile()
        .Receive(0, 0, 500'000, {})
        .Receive(1, 0, 500'000, {0})
        .Compute(2, 1, {1})
        .Write(Path(1));
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    ASSERT_TRUE(run->job.Finished());
    EXPECT_EQ(run->recorder.finished, 21'000'000);
    EXPECT_EQ(run->recorder.collectives.size(), 2);
}

TEST_F(Chakra, ReceiveWithoutSendIsNamedWhenStuck)
{
    ChakraFile().Compute(0, 1, {}).Write(Path(0));
    ChakraFile().Receive(7, 0, 500, {}).Write(Path(1));
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    EXPECT_FALSE(run->job.Finished());
    EXPECT_THAT(run->job.DescribeWaits(), Contains(HasSubstr("rank 1: node 7 (n7)")));
    EXPECT_THAT(run->job.DescribeWaits(),
                Contains(HasSubstr("rank 1: receive of 500 bytes from rank 0")));
}

TEST_F(Chakra, MessagesOfDifferentSizesAreNamed)
{
    ChakraFile().Send(0, 1, 600, {}).Write(Path(0));
    ChakraFile().Receive(7, 0, 500, {}).Write(Path(1));
    EXPECT_THAT(Run(2, NativeConfig("ring")),
                HasSubstr("rank 1 receives 500 bytes from rank 0, which sent 600"));
    ChakraFile().Send(0, 1, 400, {}).Write(Path(0));
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    EXPECT_THAT(run->job.DescribeWaits(),
                Contains(HasSubstr("a message of 400 bytes from rank 0 to rank 1")));
}

TEST_F(Chakra, RanksThatDisagreeAreNamed)
{
    ChakraFile().Collective(0, ChakraProtoMsg::ALL_REDUCE, 1000, "", {}).Write(Path(0));
    ChakraFile().Collective(0, ChakraProtoMsg::ALL_REDUCE, 2000, "", {}).Write(Path(1));
    EXPECT_THAT(Run(2, NativeConfig("ring")),
                HasSubstr("AllReduce of 2000 bytes; expected AllReduce of 1000 bytes"));
}

TEST_F(Chakra, CollectiveThatARankNeverBeginsIsNamedWhenStuck)
{
    ChakraFile().Collective(0, ChakraProtoMsg::ALL_REDUCE, 1000, "", {}).Write(Path(0));
    ChakraFile().Compute(0, 1, {}).Write(Path(1));
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    EXPECT_FALSE(run->job.Finished());
    EXPECT_THAT(run->job.DescribeWaits(),
                Contains(HasSubstr("group world): 1 of 2 ranks have begun it")));
}

TEST_F(Chakra, ProcessGroupsComeFromMetadataOrTheCommunicatorFile)
{
    for (int rank = 0; rank < 4; ++rank)
    {
        ChakraFile file;
        auto table = file.Node(0, ChakraProtoMsg::METADATA_NODE);
        table.mutable_inputs()->set_values(
            R"([{"pg_name": "even", "ranks": [0, 2]}, {"pg_name": "odd", "ranks": [1, 3]}])");
        file.Add(table);
        const std::string group = rank % 2 ? "odd" : "even";
        file.Collective(1, ChakraProtoMsg::ALL_GATHER, 500'000, group, {0}).Write(Path(rank));
    }
    ASSERT_EQ(Run(4, NativeConfig("ring")), "");
    ASSERT_TRUE(run->job.Finished());
    ASSERT_EQ(run->recorder.collectives.size(), 2);
    // A trace says what each rank brings, collectives.csv the whole buffer.
    EXPECT_EQ(run->recorder.collectives[0].bytes, 1'000'000);
    EXPECT_EQ(run->recorder.finished, 10'000'000);

    {
        ChakraFile file;
        auto table = file.Node(0, ChakraProtoMsg::METADATA_NODE);
        table.mutable_inputs()->set_values(R"([{"pg_name": "even", "ranks": [0, 2, 2]}])");
        file.Add(table)
            .Collective(1, ChakraProtoMsg::ALL_GATHER, 500'000, "even", {0})
            .Write(Path(0));
        EXPECT_THAT(Run(4, NativeConfig("ring")),
                    HasSubstr("has rank 2 twice in process group even; expected each rank once"));
    }
    communicators = (m_folder / "groups.json").string();
    std::ofstream(communicators) << R"({"0": [0, 1], "7": [2, 3]})";
    for (int rank = 0; rank < 4; ++rank)
    {
        ChakraFile()
            .Collective(1, ChakraProtoMsg::ALL_REDUCE, 1000, rank < 2 ? "0" : "7", {})
            .Write(Path(rank));
    }
    ASSERT_EQ(Run(4, NativeConfig("ring")), "");
    EXPECT_TRUE(run->job.Finished());
    ChakraFile().Collective(1, ChakraProtoMsg::ALL_REDUCE, 1000, "9", {}).Write(Path(3));
    EXPECT_THAT(Run(4, NativeConfig("ring")), HasSubstr("node 1 names the process group '9'"));
    ChakraFile().Collective(1, ChakraProtoMsg::ALL_REDUCE, 1000, "0", {}).Write(Path(3));
    EXPECT_THAT(Run(4, NativeConfig("ring")), HasSubstr("of other ranks"));
}

TEST_F(Chakra, RemoteMemoryHasFourModels)
{
    for (int rank = 0; rank < 4; ++rank)
    {
        ChakraFile file;
        auto load = file.Node(3, ChakraProtoMsg::MEM_LOAD_NODE);
        ChakraFile::SetNumber(load, "tensor_size", 1'000'000);
        file.Add(load).Write(Path(rank));
    }
    EXPECT_THAT(Run(4, NativeConfig("ring")), HasSubstr("node 3 loads from or stores to remote"));
    // 1 MB at 100 GB/s takes 10 us, plus 1 us; ranks that share a memory take turns.
    memory = {RemoteMemoryType::PerNpu, 1'000'000, 100, 2};
    ASSERT_EQ(Run(4, NativeConfig("ring")), "");
    EXPECT_EQ(run->recorder.finished, 11'000'000);
    memory.type = RemoteMemoryType::PerNode;
    ASSERT_EQ(Run(4, NativeConfig("ring")), "");
    EXPECT_EQ(run->recorder.finished, 21'000'000);
    memory.type = RemoteMemoryType::Pool;
    ASSERT_EQ(Run(4, NativeConfig("ring")), "");
    EXPECT_EQ(run->recorder.finished, 41'000'000);
}

TEST_F(Chakra, LocalMemoryHoldsTheTensorsOfRunningNodes)
{
    struct Watcher : RunObserver
    {
        void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override
        {
            changes.emplace_back(rank, bytes, now);
        }

        std::vector<std::tuple<int, uint64_t, TimePs>> changes;
    };

    ChakraFile file;
    for (const uint64_t id : {0U, 1U})
    {
        auto node = file.Node(id, ChakraProtoMsg::COMP_NODE);
        node.set_duration_micros(5);
        ChakraFile::SetNumber(node, "tensor_size", 100);
        file.Add(id == 0 ? node : ChakraFile::After(node, {0}));
    }
    file.Write(Path(0));
    auto config = NativeConfig("ring");
    config.trackLocalMemory = true;
    ChakraWorkload traces(Prefix(), "", {});
    LoopbackNetwork network(1, 0, 0);
    Watcher watcher;
    Job job({&traces,
             {0},
             config,
             {},
             nullptr,
             [&network](int rank) -> RankNetwork& { return network.At(rank); },
             &watcher});
    job.Start();
    network.Run();
    EXPECT_THAT(watcher.changes,
                ::testing::ElementsAre(std::tuple(0, 100, 0),
                                       std::tuple(0, 0, 5'000'000),
                                       std::tuple(0, 100, 5'000'000),
                                       std::tuple(0, 0, 10'000'000)));
}

TEST_F(Chakra, ReplayTakesTheRecordedTimes)
{
    for (int rank = 0; rank < 2; ++rank)
    {
        ChakraFile file;
        auto node = file.Node(0, ChakraProtoMsg::COMM_COLL_NODE);
        ChakraFile::SetNumber(node, "comm_type", 0);
        ChakraFile::SetNumber(node, "comm_size", 1'000'000);
        node.set_duration_micros(33);
        file.Add(node).Compute(1, 4, {0}).Write(Path(rank));
    }
    auto config = NativeConfig("ring");
    config.replayOnly = true;
    ASSERT_EQ(Run(2, config), "");
    EXPECT_EQ(run->recorder.finished, 37'000'000);
}

TEST_F(Chakra, RunsTheTracesOfAstraSim)
{
    NEEDS_OTHERS_FILES();
    const std::string data = OthersFile("astra-sim");
    const auto config = ReadSystemConfig(data + "/system/Ring_4chunks.json");
    const auto dimensions = ReadLogicalDimensions(data + "/network/sample_8nodes_1D.json");
    ChakraWorkload traces(data + "/workload/all_reduce_8npus_1MB/all_reduce", "", {});
    JobRun ring(traces, 8, config, dimensions, 500'000, 50e9);
    ring.Run();
    ASSERT_TRUE(ring.job.Finished());
    // Four chunks, one at a time; 14 messages of 32 KiB each, of which 7 are reduced.
    const double message = 1048576.0 / 4 / 8;
    const double wire = 500'000 + message / 50e9 * 1e12;
    const double expected = 4 * (14 * wire + 15 * 10'000 + 7 * 3 * message / 1600e9 * 1e12);
    EXPECT_NEAR(static_cast<double>(ring.recorder.finished), expected, expected * 0.001);

    // The custom algorithm is a ring too: 14 messages and 7 computations of 7 us.
    const auto custom = ReadSystemConfig(data + "/custom/custom_collective.json");
    ChakraWorkload again(data + "/workload/all_reduce_8npus_1MB/all_reduce", "", {});
    JobRun user(again, 8, custom, dimensions, 500'000, 50e9);
    user.Run();
    ASSERT_TRUE(user.job.Finished());
    const double steps = 14 * (500'000 + 131072 / 50e9 * 1e12) + 7 * 7e6;
    EXPECT_NEAR(static_cast<double>(user.recorder.finished), steps, steps * 0.001);
    EXPECT_EQ(user.recorder.collectives.at(0).flows, 8 * 14);
}

TEST_F(Chakra, InvolvedDimensionsDecideWhoTakesPart)
{
    const struct
    {
        std::vector<bool> involved;
        std::size_t groups;                           ///< collectives of this node over all ranks
        std::vector<std::pair<int, uint64_t>> phases; ///< of rank 0: queue and bytes
    } cases[] = {
        {{true, true, true}, 1, {{0, 2400}, {1, 2400}, {2, 2400}}},
        {{true, false, false}, 6, {{0, 2400}}},
        {{false, true, false, true}, 4, {{1, 2400}}}, // entries beyond the dimensions are ignored
        {{true, false, true}, 3, {{0, 2400}, {2, 2400}}},
    };

    for (const auto& [involved, groups, phases] : cases)
    {
        ChakraFile file;
        auto node = file.Node(1, ChakraProtoMsg::COMM_COLL_NODE);
        ChakraFile::SetNumber(node, "comm_type", ChakraProtoMsg::ALL_REDUCE);
        ChakraFile::SetNumber(node, "comm_size", 2400);
        auto* attribute = node.add_attr();
        attribute->set_name("involved_dim");
        for (const bool flag : involved)
        {
            attribute->mutable_bool_list()->add_values(flag);
        }
        file.Add(node);
        for (int rank = 0; rank < 12; ++rank)
        {
            file.Write(Path(rank));
        }
        ASSERT_EQ(Run(12, NativeConfig("ring"), 50e9, {2, 3, 2}), "");
        EXPECT_TRUE(run->job.Finished());
        EXPECT_EQ(run->recorder.collectives.size(), groups);
        std::vector<std::pair<int, uint64_t>> seen;
        for (const auto& phase : run->recorder.phases)
        {
            if (phase.rank == 0)
            {
                seen.emplace_back(phase.queue, phase.bytes);
            }
        }
        EXPECT_EQ(seen, phases);
    }
    EXPECT_THAT(Run(12, NativeConfig("ring"), 50e9, {2, 3, 2, 1}),
                HasSubstr("has an involved_dim of 3; expected one for each of the 4 logical "
                          "dimensions"));
}

TEST_F(Chakra, ARankWaitsForTheOthersOfACollectiveUntilTheLastOneBegins)
{
    // Rank r computes 100 (r + 1) us, so ranks 0 to 2 wait 300, 200 and 100 us for rank 3.
    constexpr int RANKS = 4;
    constexpr TimePs US = 1'000'000;
    for (const auto type : {ChakraProtoMsg::ALL_REDUCE,
                            ChakraProtoMsg::ALL_GATHER,
                            ChakraProtoMsg::REDUCE_SCATTER,
                            ChakraProtoMsg::ALL_TO_ALL})
    {
        SCOPED_TRACE(ChakraProtoMsg::CollectiveCommType_Name(type));
        for (int rank = 0; rank < RANKS; ++rank)
        {
            ChakraFile()
                .Compute(0, static_cast<uint64_t>(100 * (rank + 1)), {})
                .Collective(1, type, 1 << 20, "", {0})
                .Write(Path(rank));
        }
        ASSERT_EQ(Run(RANKS, NativeConfig("ring")), "");
        EXPECT_EQ(run->recorder.bubble, (300 + 200 + 100) * US);
        // The rest of what a rank did not compute is communication, and more than nothing.
        std::map<int, TimePs> ends;
        for (const auto& phase : run->recorder.phases)
        {
            ends[phase.rank] = std::max(ends[phase.rank], phase.end);
        }
        TimePs rest = 0;
        for (const auto& [rank, end] : ends)
        {
            rest += end - 400 * US;
            EXPECT_GE(end, 400 * US);
        }
        EXPECT_GT(rest, 0);
        EXPECT_EQ(run->recorder.exposed, rest);
    }
}

TEST_F(Chakra, AStageThatWaitsInTheTiedEmbeddingsCollectiveIsIdle)
{
    // Transfers of one byte between the stages; the second computes for 500 us after the first.
    ChakraFile()
        .Compute(0, 1000, {})
        .Send(1, 1, 1, {0})
        .Collective(2, ChakraProtoMsg::ALL_REDUCE, 1 << 20, "", {1})
        .Write(Path(0));
    ChakraFile()
        .Receive(0, 0, 1, {})
        .Compute(1, 500, {0})
        .Collective(2, ChakraProtoMsg::ALL_REDUCE, 1 << 20, "", {1})
        .Write(Path(1));
    ASSERT_EQ(Run(2, NativeConfig("ring")), "");
    // 1 MiB leaves and comes in two halves, one after the other, at 50 bytes/ns; the byte takes
    // next to nothing.
    constexpr double US = 1e6;
    EXPECT_NEAR(static_cast<double>(run->recorder.bubble), (1000 + 500) * US, 1 * US);
    const double reduce = (1 << 20) / 50e3 * US;
    EXPECT_NEAR(static_cast<double>(run->recorder.exposed), 2 * reduce, 1 * US);
}
