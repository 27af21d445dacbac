/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every operation on real data, compared bit by bit with a reference.
 */
#include "accl-star.h"

#include "ns3/test.h"

#include <algorithm>
#include <fmt/format.h>

using namespace ns3;

namespace
{

/// What a collective is asked for.
struct Case
{
    CcloOperation operation;
    uint32_t count;
    CcloDataType type{CcloDataType::Float32};
    uint32_t root{0};
    CcloReduceFunction function{CcloReduceFunction::Sum};
    std::optional<CcloDataType> wire{};
    CcloDataType op0Type{type};
    CcloMemoryKind memory{CcloMemoryKind::Hbm};
};

/// @return element @p i of @p rank's operand
double
Operand(uint32_t rank, uint64_t i)
{
    return static_cast<double>((rank * 7 + i * 3 + rank * i) % 13) - 4;
}

/// @return element @p i of all operands, combined
double
Combined(uint32_t ranks, uint64_t i, CcloReduceFunction function)
{
    double value = Operand(0, i);
    for (uint32_t rank = 1; rank < ranks; ++rank)
    {
        const double other = Operand(rank, i);
        value = function == CcloReduceFunction::Sum ? value + other : std::max(value, other);
    }
    return value;
}

/// @return parts of operand and result, in units of the count
std::pair<uint32_t, uint32_t>
Parts(CcloOperation operation, uint32_t ranks)
{
    switch (operation)
    {
    case CcloOperation::Scatter:
    case CcloOperation::ReduceScatter:
        return {ranks, 1};
    case CcloOperation::Gather:
    case CcloOperation::AllGather:
        return {1, ranks};
    case CcloOperation::AllToAll:
        return {ranks, ranks};
    default:
        return {1, 1};
    }
}

/// @return element @p i of a rank's result
double
Expected(const Case& c, uint32_t ranks, uint32_t rank, uint64_t i)
{
    switch (c.operation)
    {
    case CcloOperation::Bcast:
        return Operand(c.root, i);
    case CcloOperation::Scatter:
        return Operand(c.root, uint64_t{rank} * c.count + i);
    case CcloOperation::Gather:
    case CcloOperation::AllGather:
        return Operand(static_cast<uint32_t>(i / c.count), i % c.count);
    case CcloOperation::AllToAll:
        return Operand(static_cast<uint32_t>(i / c.count), uint64_t{rank} * c.count + i % c.count);
    case CcloOperation::ReduceScatter:
        return Combined(ranks, uint64_t{rank} * c.count + i, c.function);
    default:
        return Combined(ranks, i, c.function);
    }
}

/// @return whether a rank has a result
bool
HasResult(const Case& c, uint32_t rank)
{
    return (c.operation != CcloOperation::Gather && c.operation != CcloOperation::Reduce) ||
           rank == c.root;
}

/// Carry out a collective on all ranks. @return what is wrong; "" if nothing
std::string
Check(AcclStar& star, const Case& c)
{
    const auto ranks = static_cast<uint32_t>(star.drivers.size());
    const auto [operandParts, resultParts] = Parts(c.operation, ranks);
    std::vector<CcloBuffer> operands;
    std::vector<CcloBuffer> results;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        CcloDriver& driver = *star.drivers[rank];
        operands.push_back(driver.Allocate(uint64_t{c.count} * operandParts, c.op0Type, c.memory));
        results.push_back(driver.Allocate(uint64_t{c.count} * resultParts, c.type, c.memory));
        if (c.operation != CcloOperation::Bcast || rank == c.root)
        {
            star.Fill(rank, operands[rank], [rank](uint64_t i) { return Operand(rank, i); });
        }
        CcloRequest request{.operation = c.operation,
                            .count = c.count,
                            .peer = c.root,
                            .function = c.function,
                            .op0 = operands[rank],
                            .wireType = c.wire};
        if (c.operation != CcloOperation::Bcast)
        {
            request.result = results[rank];
        }
        star.Call(rank, request);
    }
    const bool ended = star.Run();
    std::string wrong = ended ? "" : "not ended well: " + star.Waits();
    for (uint32_t rank = 0; rank < ranks && wrong.empty(); ++rank)
    {
        const CcloBuffer& result =
            c.operation == CcloOperation::Bcast ? operands[rank] : results[rank];
        const uint64_t differences =
            HasResult(c, rank)
                ? star.Differences(rank,
                                   result,
                                   [&](uint64_t i) { return Expected(c, ranks, rank, i); })
                : 0;
        if (differences > 0)
        {
            wrong =
                fmt::format("rank {}: {} of {} elements differ", rank, differences, result.count);
        }
    }
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        star.drivers[rank]->GetEngine()->GetMemory().Free(operands[rank].address);
        star.drivers[rank]->GetEngine()->GetMemory().Free(results[rank].address);
    }
    if (!star.Waits().empty())
    {
        wrong += " left over: " + star.Waits();
    }
    return wrong.empty() ? ""
                         : fmt::format("{} of {} {} elements, {} ranks, root {}, function {}: {}",
                                       CcloOperationName(c.operation),
                                       c.count,
                                       CcloDataTypeName(c.type),
                                       ranks,
                                       c.root,
                                       static_cast<uint32_t>(c.function),
                                       wrong);
}

constexpr std::array<CcloOperation, 8> COLLECTIVES = {CcloOperation::Bcast,
                                                      CcloOperation::Scatter,
                                                      CcloOperation::Gather,
                                                      CcloOperation::Reduce,
                                                      CcloOperation::AllGather,
                                                      CcloOperation::AllReduce,
                                                      CcloOperation::ReduceScatter,
                                                      CcloOperation::AllToAll};

constexpr std::array<CcloDataType, 5> TYPES = {CcloDataType::Float16,
                                               CcloDataType::Float32,
                                               CcloDataType::Float64,
                                               CcloDataType::Int32,
                                               CcloDataType::Int64};

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
    }
};

static AcclCcloCollectivesTestSuite g_acclCcloCollectivesTestSuite; //!< registers the suite
