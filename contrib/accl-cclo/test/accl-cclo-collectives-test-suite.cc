/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every operation on real data, compared bit by bit with a reference.
 */
#include "accl-cases.h"

#include "ns3/boolean.h"
#include "ns3/test.h"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

using namespace ns3;
using namespace ns3::accl;

namespace
{

void
MoreSpare(CcloHelper& helper)
{
    helper.SetDriverAttribute("MaxRendezvousSize", UintegerValue(1 << 20));
}

} // namespace

/// All operations for a number of ranks.
class AllOperationsTestCase : public TestCase
{
  public:
    explicit AllOperationsTestCase(uint32_t ranks)
        : TestCase(fmt::format("{} ranks: every operation, type and function, any root, odd sizes",
                               ranks)),
          m_ranks(ranks)
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(m_ranks, MoreSpare);
        uint32_t turn = m_ranks;
        for (const CcloOperation operation : COLLECTIVES)
        {
            // One, odd, the largest eager size of the widest type and one more, and large; of many
            // ranks some of them.
            for (const uint32_t count : {1U, 7U, 128U, 129U, 257U, 3001U})
            {
                if (++turn % 3 != 0 && m_ranks > 9)
                {
                    continue;
                }
                const Case c{.operation = operation,
                             .count = count,
                             .type = TYPES[turn % TYPES.size()],
                             .root = turn * 5 % m_ranks,
                             .function =
                                 turn % 2 ? CcloReduceFunction::Sum : CcloReduceFunction::Max};
                const std::string wrong = Check(star, c);
                NS_TEST_EXPECT_MSG_EQ(wrong, "", "reference");
            }
            if (operation == CcloOperation::AllToAll)
            {
                continue; // ACCL has no compressed one
            }
            for (const uint32_t count : {1U, 5U, 256U})
            {
                if (++turn % 3 != 0 && m_ranks > 9)
                {
                    continue;
                }
                const Case c{.operation = operation,
                             .count = count,
                             .root = turn * 5 % m_ranks,
                             .function =
                                 turn % 2 ? CcloReduceFunction::Sum : CcloReduceFunction::Max,
                             .wire = CcloDataType::Float16};
                const std::string wrong = Check(star, c);
                NS_TEST_EXPECT_MSG_EQ(wrong, "", "compressed on the wire");
            }
        }
    }

    uint32_t m_ranks;
};

/// The cases of ACCL's own test program (test/host/xrt/src/test.cpp), by its names.
class HostProgramTestCase : public TestCase
{
  public:
    HostProgramTestCase()
        : TestCase("The cases of ACCL's test program, each by its name")
    {
    }

  private:
    static constexpr uint32_t RANKS = 4;

    static void Loopback(CcloHelper& helper)
    {
        MoreSpare(helper);
        // The program's default: its sends come before its receives, and must not wait for them.
        helper.SetDriverAttribute("MaxEagerSize", UintegerValue(3 * 1024));
        helper.SetEngineAttribute("StreamLoopback", BooleanValue(true));
    }

    /// Compare a buffer with an operand.
    void ExpectOperand(AcclStar& star,
                       uint32_t rank,
                       const CcloBuffer& buffer,
                       uint32_t source,
                       const std::string& name)
    {
        const uint64_t differences =
            star.Differences(rank, buffer, [source](uint64_t i) { return Operand(source, i); });
        NS_TEST_EXPECT_MSG_EQ(differences, 0, name << ", rank " << rank);
    }

    CcloBuffer Filled(AcclStar& star,
                      uint32_t rank,
                      uint32_t count,
                      CcloMemoryKind kind = CcloMemoryKind::Hbm)
    {
        const CcloBuffer buffer = star.drivers[rank]->Allocate(count, CcloDataType::Float32, kind);
        star.Fill(rank, buffer, [rank](uint64_t i) { return Operand(rank, i); });
        return buffer;
    }

    void CheckCopies()
    {
        AcclStar star(1, Loopback);
        constexpr auto DEVICE = CcloMemoryKind::Hbm;
        constexpr auto HOST = CcloMemoryKind::Host;
        for (const auto& [name, from, to] : {std::tuple{"test_copy", DEVICE, DEVICE},
                                             std::tuple{"test_copy_p2p", DEVICE, DEVICE},
                                             std::tuple{"test_copy_d2h", DEVICE, HOST},
                                             std::tuple{"test_copy_h2d", HOST, DEVICE},
                                             std::tuple{"test_copy_h2h", HOST, HOST}})
        {
            const CcloBuffer a = Filled(star, 0, 16, from);
            const CcloBuffer b = star.drivers[0]->Allocate(16, CcloDataType::Float32, to);
            star.Call(0, {.operation = CcloOperation::Copy, .count = 16, .op0 = a, .result = b});
            NS_TEST_EXPECT_MSG_EQ(star.Run(), true, name);
            ExpectOperand(star, 0, b, 0, name);
        }
        const CcloBuffer a = Filled(star, 0, 16);
        const CcloBuffer b = star.drivers[0]->Allocate(16, CcloDataType::Float32);
        star.Call(0,
                  {.operation = CcloOperation::Copy,
                   .count = 16,
                   .op0 = a,
                   .streams = CcloStream::RESULT});
        star.Call(0,
                  {.operation = CcloOperation::Copy,
                   .count = 16,
                   .result = b,
                   .streams = CcloStream::OP0});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "test_copy_stream");
        ExpectOperand(star, 0, b, 0, "test_copy_stream");
        for (const auto function : {CcloReduceFunction::Sum, CcloReduceFunction::Max})
        {
            const CcloBuffer c = Filled(star, 0, 16);
            star.Call(0,
                      {.operation = CcloOperation::Combine,
                       .count = 16,
                       .function = function,
                       .op0 = a,
                       .op1 = b,
                       .result = c});
            NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "test_combine");
            const double factor = function == CcloReduceFunction::Sum ? 2 : 1;
            const uint64_t differences =
                star.Differences(0, c, [factor](uint64_t i) { return factor * Operand(0, i); });
            NS_TEST_EXPECT_MSG_EQ(differences, 0, "test_combine");
        }
    }

    /// All send to the next and receive from the one before, then back.
    void CheckExchange(const std::string& name,
                       uint32_t count,
                       std::optional<CcloDataType> wire,
                       bool throughStream)
    {
        AcclStar star(RANKS, Loopback);
        std::vector<CcloBuffer> results;
        for (uint32_t rank = 0; rank < RANKS; ++rank)
        {
            const uint32_t next = (rank + 1) % RANKS;
            const uint32_t previous = (rank + RANKS - 1) % RANKS;
            const CcloBuffer a = Filled(star, rank, count);
            const CcloBuffer b = star.drivers[rank]->Allocate(count, CcloDataType::Float32);
            results.push_back(b);
            CcloRequest send{.operation = CcloOperation::Send,
                             .count = count,
                             .peer = next,
                             .tag = 0,
                             .op0 = a,
                             .wireType = wire};
            star.Call(rank, send);
            CcloRequest receive{.operation = CcloOperation::Recv,
                                .count = count,
                                .peer = previous,
                                .tag = 0,
                                .wireType = wire};
            CcloRequest back{.operation = CcloOperation::Send,
                             .count = count,
                             .peer = previous,
                             .tag = 1,
                             .wireType = wire};
            if (throughStream)
            {
                receive.streams = CcloStream::RESULT;
                back.streams = CcloStream::OP0;
            }
            else
            {
                receive.result = b;
                back.op0 = b;
            }
            star.Call(rank, receive);
            star.Call(rank, back);
            star.Call(rank,
                      {.operation = CcloOperation::Recv,
                       .count = count,
                       .peer = next,
                       .tag = 1,
                       .result = b,
                       .wireType = wire});
        }
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, name << ": " << star.Waits());
        for (uint32_t rank = 0; rank < RANKS; ++rank)
        {
            ExpectOperand(star, rank, results[rank], rank, name);
        }
    }

    void CheckStreamPut()
    {
        AcclStar star(RANKS, Loopback);
        std::vector<CcloBuffer> results;
        for (uint32_t rank = 0; rank < RANKS; ++rank)
        {
            const uint32_t next = (rank + 1) % RANKS;
            const CcloBuffer a = Filled(star, rank, 16);
            results.push_back(star.drivers[rank]->Allocate(16, CcloDataType::Float32));
            star.Call(rank,
                      {.operation = CcloOperation::Send,
                       .count = 16,
                       .peer = next,
                       .tag = 9,
                       .op0 = a,
                       .streams = CcloStream::RESULT});
            star.Call(rank,
                      {.operation = CcloOperation::Send,
                       .count = 16,
                       .peer = (rank + RANKS - 1) % RANKS,
                       .tag = 1,
                       .streams = CcloStream::OP0});
            star.Call(rank,
                      {.operation = CcloOperation::Recv,
                       .count = 16,
                       .peer = next,
                       .tag = 1,
                       .result = results[rank]});
        }
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "test_stream_put: " << star.Waits());
        for (uint32_t rank = 0; rank < RANKS; ++rank)
        {
            ExpectOperand(star, rank, results[rank], rank, "test_stream_put");
        }
    }

    void CheckStreamedReductions()
    {
        for (const uint32_t streams :
             {CcloStream::OP0, CcloStream::RESULT, CcloStream::OP0 | CcloStream::RESULT})
        {
            AcclStar star(RANKS, Loopback);
            std::vector<CcloBuffer> results;
            for (uint32_t rank = 0; rank < RANKS; ++rank)
            {
                const CcloBuffer a = Filled(star, rank, 16);
                results.push_back(star.drivers[rank]->Allocate(16, CcloDataType::Float32));
                CcloRequest reduce{.operation = CcloOperation::Reduce,
                                   .count = 16,
                                   .peer = 2,
                                   .streams = streams};
                if (streams & CcloStream::OP0)
                {
                    star.Call(rank,
                              {.operation = CcloOperation::Copy,
                               .count = 16,
                               .op0 = a,
                               .streams = CcloStream::RESULT});
                }
                else
                {
                    reduce.op0 = a;
                }
                if (!(streams & CcloStream::RESULT))
                {
                    reduce.result = results[rank];
                }
                star.Call(rank, reduce);
                if (streams & CcloStream::RESULT && rank == 2)
                {
                    star.Call(rank,
                              {.operation = CcloOperation::Copy,
                               .count = 16,
                               .result = results[rank],
                               .streams = CcloStream::OP0});
                }
            }
            NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "test_reduce_*stream*: " << star.Waits());
            const uint64_t differences = star.Differences(2, results[2], [](uint64_t i) {
                return Combined(RANKS, i, CcloReduceFunction::Sum);
            });
            NS_TEST_EXPECT_MSG_EQ(differences, 0, "test_reduce_*stream*, streams " << streams);
        }
    }

    /// Even and odd ranks form communicators of their own, and gather at the same time.
    void CheckCommunicators()
    {
        AcclStar star(RANKS, MoreSpare);
        for (const uint32_t count : {16U, 5000U})
        {
            std::vector<CcloBuffer> results;
            for (uint32_t rank = 0; rank < RANKS; ++rank)
            {
                std::vector<CcloRank> members;
                for (uint32_t member = rank % 2; member < RANKS; member += 2)
                {
                    members.push_back(CcloHelper(star.fabric).MakeRank(member));
                }
                const uint32_t number = star.drivers[rank]->AddCommunicator(members, rank / 2);
                results.push_back(star.drivers[rank]->Allocate(2 * count, CcloDataType::Float32));
                star.Call(rank,
                          {.operation = CcloOperation::AllGather,
                           .count = count,
                           .communicator = number,
                           .op0 = Filled(star, rank, count),
                           .result = results[rank]});
            }
            NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "test_allgather_comms: " << star.Waits());
            for (uint32_t rank = 0; rank < RANKS; ++rank)
            {
                const uint64_t differences = star.Differences(rank, results[rank], [&](uint64_t i) {
                    return Operand(static_cast<uint32_t>(i / count) * 2 + rank % 2, i % count);
                });
                NS_TEST_EXPECT_MSG_EQ(differences, 0, "test_multicomm, rank " << rank);
            }
        }
    }

    void CheckOthers()
    {
        AcclStar star(RANKS, MoreSpare);
        for (const CcloOperation operation : {CcloOperation::Reduce, CcloOperation::AllReduce})
        {
            for (const uint32_t count : {16U, 3001U})
            {
                const std::string wrong = Check(star,
                                                {.operation = operation,
                                                 .count = count,
                                                 .root = 1,
                                                 .memory = CcloMemoryKind::Host});
                NS_TEST_EXPECT_MSG_EQ(wrong, "", "test_reduce_h2h, test_allreduce_h2h");
            }
        }
        // An operand that is float16 in memory, summed into float32.
        const std::string wrong = Check(star,
                                        {.operation = CcloOperation::AllReduce,
                                         .count = 300,
                                         .op0Type = CcloDataType::Float16});
        NS_TEST_EXPECT_MSG_EQ(wrong, "", "a compressed operand");

        Time left = Time::Max();
        const Time latest = Simulator::Now() + MicroSeconds(50);
        for (uint32_t rank = 0; rank < RANKS; ++rank)
        {
            const Time comes = rank == 3 ? MicroSeconds(50) : Time(0);
            Simulator::Schedule(comes, [&star, &left, rank] {
                star.drivers[rank]->Call({.operation = CcloOperation::Barrier}, [&left](uint32_t) {
                    left = std::min(left, Simulator::Now());
                });
            });
        }
        star.Run();
        NS_TEST_EXPECT_MSG_GT(left, latest, "test_barrier: nobody leaves before the last has come");
        NS_TEST_EXPECT_MSG_GT(star.drivers[0]->GetCycles(), 12500, "test_perf_counter");
        NS_TEST_EXPECT_MSG_LT(star.drivers[0]->GetCycles(), 15000, "test_perf_counter");
    }

    void DoRun() override
    {
        CheckCopies();
        CheckExchange("test_sendrcv, test_sendrcv_basic", 16, std::nullopt, false);
        for (const uint32_t count : {255U, 256U, 257U, 511U, 512U, 513U})
        {
            CheckExchange("test_sendrcv_segmentation", count, std::nullopt, false);
        }
        CheckExchange("test_sendrcv_compressed", 600, CcloDataType::Float16, false);
        CheckExchange("test_sendrcv_stream", 16, std::nullopt, true);
        CheckStreamPut();
        CheckStreamedReductions();
        CheckCommunicators();
        CheckOthers();
    }
};

/// Tests of results.
class AcclCcloCollectivesTestSuite : public TestSuite
{
  public:
    AcclCcloCollectivesTestSuite()
        : TestSuite("accl-cclo-collectives", Type::UNIT)
    {
        for (uint32_t ranks = 1; ranks <= 33; ++ranks)
        {
            AddTestCase(new AllOperationsTestCase(ranks));
        }
        AddTestCase(new HostProgramTestCase);
    }
};

static AcclCcloCollectivesTestSuite g_acclCcloCollectivesTestSuite; //!< registers the suite
