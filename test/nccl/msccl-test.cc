/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/msccl/msccl-algorithms.h"
#include "collectives/model/msccl/msccl-estimate.h"
#include "collectives/model/msccl/msccl-graph.h"
#include "collectives/model/msccl/msccl-program.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include "ns3/block-times.h"
#include "ns3/input-error.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>

namespace AstraSim
{

namespace
{

using testing::HasSubstr;

std::string
Step(uint32_t s,
     const std::string& type,
     const std::string& from,
     const std::string& to,
     const std::string& waits = "depid=\"-1\" deps=\"-1\"")
{
    const auto place = [](const char* name, const std::string& text) {
        return fmt::format("{0}buf=\"{1}\" {0}off=\"{2}\" ",
                           name,
                           text.substr(0, 1),
                           text.substr(1));
    };
    return fmt::format("<step s=\"{}\" type=\"{}\" {}{}cnt=\"1\" {} hasdep=\"0\"/>\n",
                       s,
                       type,
                       place("src", from),
                       place("dst", to),
                       waits);
}

std::string
Waits(uint32_t block, uint32_t step)
{
    return fmt::format("depid=\"{}\" deps=\"{}\"", block, step);
}

std::string
Algo(const std::string& coll,
     uint32_t gpus,
     uint32_t chunks,
     const std::string& body,
     const std::string& proto = "Simple")
{
    return fmt::format(
        "<algo name=\"test\" proto=\"{}\" nchannels=\"1\" nchunksperloop=\"{}\" "
        "ngpus=\"{}\" coll=\"{}\" inplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n{}</algo>\n",
        proto,
        chunks,
        gpus,
        coll,
        body);
}

/// AllGather along a ring.
std::string
RingFile(uint32_t gpus)
{
    std::string body;
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        body += fmt::format("<gpu id=\"{}\" i_chunks=\"1\" o_chunks=\"{}\" s_chunks=\"0\">\n",
                            gpu,
                            gpus);
        body += fmt::format("<tb id=\"0\" send=\"{}\" recv=\"{}\" chan=\"0\">\n",
                            (gpu + 1) % gpus,
                            (gpu + gpus - 1) % gpus);
        body += Step(0, "s", "i0", "o0");
        for (uint32_t s = 1; s < gpus; ++s)
        {
            const std::string place = fmt::format("o{}", (gpu + gpus - s) % gpus);
            body += Step(s, s + 1 < gpus ? "rcs" : "r", place, place);
        }
        body += "</tb>\n<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n";
        body += Step(0, "cpy", "i0", fmt::format("o{}", gpu)) + "</tb>\n</gpu>\n";
    }
    return Algo("allgather", gpus, gpus, body);
}

/// AllReduce in two steps between all pairs; a block of its own adds.
std::string
AllPairsFile(uint32_t gpus)
{
    std::string body;
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        body += fmt::format("<gpu id=\"{0}\" i_chunks=\"{1}\" o_chunks=\"{1}\" s_chunks=\"{1}\">\n",
                            gpu,
                            gpus);
        const std::string own = fmt::format("o{}", gpu);
        for (uint32_t k = 0; k + 1 < gpus; ++k)
        {
            const uint32_t peer = (gpu + k + 1) % gpus;
            body += fmt::format("<tb id=\"{0}\" send=\"{1}\" recv=\"{1}\" chan=\"0\">\n", k, peer);
            body += Step(0, "s", fmt::format("i{}", peer), "o0");
            body += Step(1, "r", "i0", fmt::format("s{}", k));
            body += Step(2, "s", own, "o0", Waits(gpus - 1, gpus - 1));
            body += Step(3, "r", "i0", fmt::format("o{}", peer)) + "</tb>\n";
        }
        body += fmt::format("<tb id=\"{}\" send=\"-1\" recv=\"-1\" chan=\"0\">\n", gpus - 1);
        body += Step(0, "cpy", fmt::format("i{}", gpu), own);
        for (uint32_t k = 0; k + 1 < gpus; ++k)
        {
            body += Step(k + 1, "re", fmt::format("s{}", k), own, Waits(k, 1));
        }
        body += "</tb>\n</gpu>\n";
    }
    return Algo("allreduce", gpus, gpus, body);
}

MscclProgram
ProgramOf(const std::string& text)
{
    std::istringstream stream(text);
    return MscclProgram::Read(stream, "a.xml");
}

std::string
MistakeIn(const std::string& text)
{
    try
    {
        ProgramOf(text);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "no error";
}

std::string
Changed(std::string text, const std::string& from, const std::string& to)
{
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

MscclGraph
GraphOf(const std::string& text, CollectiveOp op, uint64_t bytes)
{
    auto program = std::make_shared<const MscclProgram>(ProgramOf(text));
    CollectiveTask task;
    task.request = Request(op, bytes);
    task.servers.assign(program->gpus.size(), 0);
    task.nics = task.servers;
    task.blocks.fill({1000, 200, 900, 8});
    return {program, task};
}

/// @return bytes that all GPUs send; all messages have arrived
uint64_t
BytesMoved(const MscclGraph& graph)
{
    SymbolicGraph symbols(graph);
    EXPECT_TRUE(symbols.Run([](uint32_t from, uint32_t lane, uint64_t message) {
        return SymbolicGraph::Move{{uint64_t{from} * 100 + lane, message}, true};
    }));
    return symbols.GetBytesMoved();
}

} // namespace

TEST(MscclGraph, MovesWhatTheCollectiveHasToMove)
{
    for (const uint32_t gpus : {2, 3, 4, 8})
    {
        // One slice of each chunk, and several, the last one shorter.
        for (const uint64_t chunk : {4096, 5'000'000})
        {
            const uint64_t bytes = chunk * gpus;
            EXPECT_EQ(BytesMoved(GraphOf(RingFile(gpus), CollectiveOp::AllGather, bytes)),
                      bytes * (gpus - 1));
            EXPECT_EQ(BytesMoved(GraphOf(AllPairsFile(gpus), CollectiveOp::AllReduce, bytes)),
                      2 * bytes * (gpus - 1));
        }
    }
}

TEST(MscclGraph, AStepWaitsForWhatItsBlockAndTheBlocksItWaitsForReceive)
{
    const MscclGraph graph = GraphOf(AllPairsFile(4), CollectiveOp::AllReduce, 4 * 5'000'000);
    // Of three slices: the first message of a slice waits for the two that came to its block in the
    // slice before, and, over the adding block, for the first of each other; the second for the
    // first of all.
    for (uint32_t inbound = 0; inbound < 3; ++inbound)
    {
        const bool own = inbound == 1;
        EXPECT_EQ(graph.GetNeeds(0, 1, 0, inbound), 0U);
        EXPECT_EQ(graph.GetNeeds(0, 1, 1, inbound), 1U);
        EXPECT_EQ(graph.GetNeeds(0, 1, 2, inbound), own ? 2U : 1U);
        EXPECT_EQ(graph.GetNeeds(0, 1, 3, inbound), 3U);
    }
    EXPECT_EQ(graph.GetOutbound(0, 1).messages, 6U);
    EXPECT_EQ(graph.GetBytes(0, 1, 0), 2'097'152U);
    EXPECT_EQ(graph.GetBytes(0, 1, 5), 5'000'000U - 2 * 2'097'152U);
}

TEST(MscclGraph, LanesHaveTheTimesOfBlocksInAServerAndOfTheNetworkBetweenServers)
{
    auto program = std::make_shared<const MscclProgram>(ProgramOf(RingFile(4)));
    CollectiveTask task;
    task.request = Request(CollectiveOp::AllGather, 4096);
    task.servers = {0, 0, 1, 1};
    task.blocks.fill({1000, 200, 900, 8});
    const auto lanes = [&]() {
        return TimedLanes({std::make_shared<MscclGraph>(program, task),
                           std::make_shared<BlockTimes>(task, task.blocks[0])});
    };
    EXPECT_EQ(lanes().Out(0, 0).latency, 200);
    EXPECT_EQ(lanes().Out(0, 0).rateCapBps, 64'000'000'000U);
    EXPECT_EQ(lanes().Out(1, 0).latency, 900);
    EXPECT_EQ(lanes().Out(1, 0).rateCapBps, 0U);
    task.sendLatency = 7;
    EXPECT_EQ(lanes().Out(1, 0).latency, 7);
}

TEST(MscclEstimate, IsTheEndOfTheLastStep)
{
    const MscclProgram ring = ProgramOf(RingFile(4));
    CollectiveTask task;
    task.request = Request(CollectiveOp::AllGather, 4 * 4000);
    task.servers = {0, 0, 0, 0};
    task.nics = {0, 1, 2, 3};
    task.blocks.fill({1000, 200, 900, 8});
    EXPECT_EQ(EstimateMscclTime(ring, task), 1000 + 3 * 500'200) << "three hops of 4000 bytes";
    task.nvlinkGBps = 1;
    EXPECT_EQ(EstimateMscclTime(ring, task), 1000 + 12'000'000) << "a GPU sends 12,000 bytes";
    task.nvlinkGBps = 0;

    task.servers = {0, 0, 1, 1};
    task.nicGBps = 4;
    EXPECT_EQ(EstimateMscclTime(ring, task), 1000 + 3 * 1'000'900)
        << "GPU 1 sends to another server";
    task.sendLatency = 7;
    EXPECT_EQ(EstimateMscclTime(ring, task), 3 * 1'000'007) << "the user's latency stands for all";

    const MscclProgram pairs = ProgramOf(AllPairsFile(4));
    task = CollectiveTask();
    task.request = Request(CollectiveOp::AllReduce, 4 * 4000);
    task.servers = {0, 0, 0, 0};
    task.nics = {0, 1, 2, 3};
    task.blocks.fill({1000, 200, 900, 8});
    EXPECT_EQ(EstimateMscclTime(pairs, task), 1000 + 2 * 500'200) << "two steps";
    task.servers = {0, 0, 1, 1};
    task.nicGBps = 1;
    EXPECT_EQ(EstimateMscclTime(pairs, task), 1000 + 2 * 2 * 4'000'000)
        << "a block for each of two GPUs in the other server, in both steps";
    const TimePs alone = EstimateMscclTime(pairs, task);
    task.nics = {0, 0, 1, 1};
    EXPECT_EQ(EstimateMscclTime(pairs, task) - 1000, 2 * (alone - 1000)) << "over one NIC";
}

TEST(MscclEstimate, FurtherSlicesTakeAsLongAsTheLastOneThatIsCarriedOut)
{
    const MscclProgram ring = ProgramOf(RingFile(4));
    CollectiveTask task;
    const uint64_t slice = MscclGraph::SliceBytes(NcclProtocol::Simple);
    constexpr uint64_t SLICES = 40;
    task.request = Request(CollectiveOp::AllGather, 4 * SLICES * slice);
    task.servers = {0, 0, 0, 0};
    task.nics = {0, 1, 2, 3};
    task.blocks.fill({1000, 200, 900, 8});
    const auto hop = static_cast<TimePs>(200 + slice * 1000 / 8);
    EXPECT_NEAR(static_cast<double>(EstimateMscclTime(ring, task)),
                static_cast<double>(1000 + 3 * SLICES * hop),
                1);
}

TEST(MscclProgram, MistakesNameTheirLine)
{
    const std::string ring = RingFile(3);
    const std::string pairs = AllPairsFile(3);
    EXPECT_EQ(MistakeIn(ring), "no error");
    EXPECT_EQ(MistakeIn(pairs), "no error");
    EXPECT_THAT(MistakeIn("<algo"), HasSubstr("a.xml:1: "));
    EXPECT_THAT(MistakeIn("<!-- one\ntwo -->\n" + Changed(ring, "\"rcs\"", "\"rxs\"")),
                HasSubstr("a.xml:7: type is 'rxs'; expected one of cpy, nop, r, rcs"));
    EXPECT_THAT(MistakeIn(Changed(ring, "allgather", "custom")),
                HasSubstr("a.xml:1: coll is 'custom'; expected one of allgather, allreduce"));
    EXPECT_THAT(MistakeIn(Changed(ring, "ngpus=\"3\"", "ngpus=\"4\"")),
                HasSubstr("a.xml:1: ngpus is 4, and there are 3; expected a <gpu> for each"));
    EXPECT_THAT(MistakeIn(Changed(ring, "send=\"1\"", "send=\"3\"")),
                HasSubstr("a.xml:3: the peer is GPU 3; expected another GPU"));
    EXPECT_THAT(MistakeIn(Changed(ring, "recv=\"2\" chan=\"0\"", "recv=\"2\" chan=\"1\"")),
                HasSubstr("nobody receives from the thread block"));
    EXPECT_THAT(MistakeIn(Changed(pairs, "depid=\"2\" deps=\"2\"", "depid=\"2\" deps=\"9\"")),
                HasSubstr("a.xml:6: the step waits for one that does not exist"));
    EXPECT_THAT(MistakeIn(Changed(ring, "cnt=\"1\"", "cnt=\"x\"")),
                HasSubstr("a.xml:4: cnt is 'x'; expected a number from 0 to"));
    EXPECT_THAT(MistakeIn(Changed(ring, " chan=\"0\"", "")),
                HasSubstr("a.xml:3: <tb> has no chan"));
    EXPECT_THAT(MistakeIn(Changed(ring, "<step", "<stop")),
                HasSubstr("a.xml:4: <stop> is not known here"));
}

TEST(MscclProgram, StepsThatWaitForEachOtherAreRefused)
{
    // The first send of GPU 0 waits for the sum that needs what its own block receives afterwards.
    const std::string text =
        Changed(AllPairsFile(3), "depid=\"-1\" deps=\"-1\"", "depid=\"2\" deps=\"2\"");
    EXPECT_THAT(MistakeIn(text), HasSubstr("waits for ever"));
}

TEST(MscclProgram, AProgramThatDoesNotMakeTheResultIsRefused)
{
    // GPU 0 adds its first peer's part twice, and not the second's.
    EXPECT_THAT(MistakeIn(Changed(AllPairsFile(3),
                                  "type=\"re\" srcbuf=\"s\" srcoff=\"1\"",
                                  "type=\"re\" srcbuf=\"s\" srcoff=\"0\"")),
                HasSubstr("is not the result"));
    // The last GPU keeps no own part.
    std::string text = RingFile(3);
    const auto at = text.rfind("type=\"cpy\"");
    EXPECT_THAT(MistakeIn(text.replace(at, 10, "type=\"nop\"")),
                HasSubstr("chunk 2 of the output of GPU 2 is not the result"));
}

TEST(MscclAlgorithms, ProgramsOfFilesAndOfADirectoryAreTakenWhereTheyFit)
{
    // 11 and 13 GPUs, which no other test has: algorithms stay for the whole process.
    const std::filesystem::path directory = testing::TempDir() + "msccl";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    const std::string file = testing::TempDir() + "ring-of-11.xml";
    std::ofstream(file) << RingFile(11);
    std::ofstream(directory / "ring-of-13.xml") << RingFile(13);
    std::ofstream(directory / "notes.txt") << "not a program";
    LoadMscclAlgorithms(file, directory.string());
    LoadMscclAlgorithms(file, directory.string()); // once more changes nothing

    const auto chosen = [](uint32_t gpus, CollectiveOp op, uint64_t bytes) {
        MachineModel machine;
        machine.gpusPerServer = gpus;
        MockNcclGroup nccl(machine, {});
        const CommGroup group = FirstRanks(gpus);
        const auto plan = nccl.Plan(group, {op, bytes});
        return plan->GetChoice().algorithm;
    };
    EXPECT_EQ(chosen(11, CollectiveOp::AllGather, 11 * 4096), "ring-of-11");
    EXPECT_EQ(chosen(13, CollectiveOp::AllGather, 13 * 4096), "ring-of-13");
    EXPECT_EQ(chosen(11, CollectiveOp::AllGather, 11 * 4096 + 1), "Ring") << "does not divide";
    EXPECT_EQ(chosen(11, CollectiveOp::ReduceScatter, 11 * 4096), "Ring");
    EXPECT_EQ(chosen(12, CollectiveOp::AllGather, 12 * 4096), "Ring");

    const auto refused = [](const std::string& files, const std::string& folder) {
        try
        {
            LoadMscclAlgorithms(files, folder);
            return std::string();
        }
        catch (const ns3::InputError& error)
        {
            return std::string(error.what());
        }
    };
    EXPECT_THAT(refused("", file), HasSubstr("expected a directory"));
    EXPECT_THAT(refused(file + ".none", ""), HasSubstr(".none"));
    std::filesystem::create_directories(directory / "again");
    const std::string again = (directory / "again" / "ring-of-11.xml").string();
    std::ofstream(again) << RingFile(11);
    EXPECT_THAT(refused(again, ""), HasSubstr("an algorithm of the name"));
}

} // namespace AstraSim
