/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ACCL_CASES_H
#define ACCL_CASES_H

#include "accl-star.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ns3::accl
{

/// Request of a collective.
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
inline double
Operand(uint32_t rank, uint64_t i)
{
    return static_cast<double>((rank * 7 + i * 3 + rank * i) % 13) - 4;
}

/// @return element @p i of all operands, combined
inline double
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
inline std::pair<uint32_t, uint32_t>
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
inline double
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
inline bool
HasResult(const Case& c, uint32_t rank)
{
    return (c.operation != CcloOperation::Gather && c.operation != CcloOperation::Reduce) ||
           rank == c.root;
}

/// Carry out a collective on all ranks. @return what is wrong; "" if nothing
inline std::string
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

inline constexpr std::array<CcloOperation, 8> COLLECTIVES = {CcloOperation::Bcast,
                                                             CcloOperation::Scatter,
                                                             CcloOperation::Gather,
                                                             CcloOperation::Reduce,
                                                             CcloOperation::AllGather,
                                                             CcloOperation::AllReduce,
                                                             CcloOperation::ReduceScatter,
                                                             CcloOperation::AllToAll};

inline constexpr std::array<CcloDataType, 5> TYPES = {CcloDataType::Float16,
                                                      CcloDataType::Float32,
                                                      CcloDataType::Float64,
                                                      CcloDataType::Int32,
                                                      CcloDataType::Int64};

} // namespace ns3::accl

#endif /* ACCL_CASES_H */
