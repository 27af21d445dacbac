/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operator-rows.h"

#include "ns3/rows.h"
#include "ns3/units.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr double MOST_BYTES = 1e9;

/// Number of figures of each kind of operator.
struct KindOfOperator
{
    OperatorKind kind;
    std::size_t figures;
};

const std::map<std::string_view, KindOfOperator> KINDS = {
    {"matmul", {OperatorKind::Matmul, 3}},
    {"matmul_fp8", {OperatorKind::Matmul, 3}},
    {"matmul_nvfp4", {OperatorKind::Matmul, 3}},
    {"experts", {OperatorKind::Experts, 4}},
    {"experts_fp8", {OperatorKind::Experts, 4}},
    {"experts_nvfp4", {OperatorKind::Experts, 4}},
    {"memory", {OperatorKind::Memory, 1}},
    {"expert_memory", {OperatorKind::ExpertMemory, 2}},
    {"attention", {OperatorKind::Attention, 3}},
    {"attention_window", {OperatorKind::WindowedAttention, 3}},
    {"linear", {OperatorKind::Linear, 4}},
};

const std::map<std::string_view, CollectiveOp> OPERATIONS = {
    {"NONE", CollectiveOp::None},
    {"ALLREDUCE", CollectiveOp::AllReduce},
    {"ALLGATHER", CollectiveOp::AllGather},
    {"REDUCESCATTER", CollectiveOp::ReduceScatter},
    {"ALLTOALL", CollectiveOp::AllToAll},
};

/// Read the layers that a row is for.
void
ReadPlace(const ServingValues& values, std::string_view text, OperatorRow& row)
{
    row.lastLayer = UINT32_MAX;
    if (text == "all")
    {
        return;
    }
    if (text == "first" || text == "last")
    {
        row.place = text == "first" ? OperatorPlace::First : OperatorPlace::Last;
        return;
    }
    const auto dash = text.find('-');
    const auto first = ns3::ParseUnsigned(text.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : ns3::ParseUnsigned(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= UINT32_MAX)
    {
        values.Refuse(text,
                      "range of layers",
                      "all, first, last, a number, or a range such as 3-60");
    }
    row.firstLayer = static_cast<uint32_t>(*first);
    row.lastLayer = static_cast<uint32_t>(*last);
}

/// Read the collective after a row.
void
ReadCollective(const ServingValues& values, std::string_view text, OperatorRow& row)
{
    const auto underscore = text.find('_');
    const auto operation = OPERATIONS.find(text.substr(0, underscore));
    const std::string_view group =
        underscore == std::string_view::npos ? "TP" : text.substr(underscore + 1);
    if (operation == OPERATIONS.end() || (group != "TP" && group != "EP"))
    {
        values.Refuse(text,
                      "collective",
                      "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _TP or _EP");
    }
    row.op = operation->second;
    row.group = group == "TP" ? GroupKind::Tp : GroupKind::Ep;
}

} // namespace

GpuRoofline
ReadGpuRoofline(const ServingValues& values)
{
    const auto& fields = values.GetLine().Fields();
    GpuRoofline gpu;
    double sms = 0;
    const auto real = [](double& target) { return ns3::Real(target, 1e-9, 1e18); };
    ns3::Rows rows(values.GetLine().Name(),
                   {{"tflops:", real(gpu.tflops), ""},
                    {"matmul:", real(gpu.matmul), ""},
                    {"fp8_tflops:", real(gpu.eightBitTflops), ""},
                    {"fp8_matmul:", real(gpu.eightBitMatmul), ""},
                    {"fp4_tflops:", real(gpu.fourBitTflops), ""},
                    {"fp4_matmul:", real(gpu.fourBitMatmul), ""},
                    {"attention:", real(gpu.attention), ""},
                    {"memory_gbps:", real(gpu.memoryGBps), ""},
                    {"stream:", real(gpu.stream), ""},
                    {"sms:", real(sms), ""}});
    rows.ReadPairs(std::span(fields).subspan(1), values.GetLine().Line());
    if (gpu.tflops == 0 || gpu.memoryGBps == 0 || sms < 1 || sms > 1e6)
    {
        values.GetLine().Fail("the GPU lacks a property",
                              "at least tflops:, memory_gbps: and sms:");
    }
    gpu.sms = static_cast<uint32_t>(sms);
    return gpu;
}

OperatorRow
ReadOperatorRow(const ServingValues& values)
{
    const auto& fields = values.GetLine().Fields();
    const auto kind = fields.size() > 3 ? KINDS.find(fields[3]) : KINDS.end();
    if (kind == KINDS.end())
    {
        values.GetLine().Fail(
            fields.size() > 3 ? "'" + std::string(fields[3]) + "' is not a kind of operator"
                              : "this row is too short",
            "row NAME LAYERS KIND FIGURES... COLLECTIVE BYTES, with KIND matmul, matmul_fp8, "
            "matmul_nvfp4, experts, experts_fp8, experts_nvfp4, memory, expert_memory, attention, "
            "attention_window or linear");
    }
    const std::size_t figures = kind->second.figures;
    if (fields.size() != figures + 6)
    {
        values.GetLine().Fail("this row has " + std::to_string(fields.size()) + " fields",
                              std::to_string(figures + 6) + ": row NAME LAYERS " +
                                  std::string(fields[3]) + ", " + std::to_string(figures) +
                                  " figures, COLLECTIVE, BYTES");
    }
    OperatorRow row;
    row.name = fields[1];
    if (row.name.find_first_of(",\"") != std::string::npos || row.name.size() > 64)
    {
        values.Refuse(fields[1],
                      "name of a row",
                      "at most 64 characters without commas and quotes");
    }
    row.kind = kind->second.kind;
    row.factors = fields[3].ends_with("_fp8")     ? FactorType::Fp8
                  : fields[3].ends_with("_nvfp4") ? FactorType::Nvfp4
                                                  : FactorType::Bfloat16;
    ReadPlace(values, fields[2], row);
    for (std::size_t i = 0; i < figures; ++i)
    {
        row.figures[i] = values.Real(4 + i);
    }
    ReadCollective(values, fields[figures + 4], row);
    row.bytesPerToken = values.Real(figures + 5);
    if (row.bytesPerToken > MOST_BYTES)
    {
        values.Refuse(fields[figures + 5], "number of bytes per token", "at most 1e9");
    }
    return row;
}

void
ReadOperatorTimes(const ServingValues& values, OperatorRow& row)
{
    const auto& fields = values.GetLine().Fields();
    const bool isAttention =
        row.kind == OperatorKind::Attention || row.kind == OperatorKind::WindowedAttention;
    const std::string_view axis = fields.size() > 1 ? fields[1] : "";
    const std::map<std::string_view, OperatorTimes*> ofAttention = {
        {"prompts", &row.times},
        {"decoding", &row.decodingTimes},
        {"mixed", &row.mixedTimes}};
    if (row.kind == OperatorKind::Linear ||
        (isAttention ? !ofAttention.contains(axis) : axis != "tokens"))
    {
        values.GetLine().Fail(
            "these are no times of the row before, " + row.name,
            "times tokens TOKENS NS... after a row of products or memory; times "
            "prompts TOKENS ATTENDED NS..., times decoding SEQUENCES CACHED NS... "
            "or times mixed SEQUENCES CACHED NS... after one of attention");
    }
    const std::size_t begin = isAttention ? 3 : 2;
    if (fields.size() < begin + 2 || (fields.size() - begin) % 2 != 0)
    {
        values.GetLine().Fail("these times have " + std::to_string(fields.size()) + " fields",
                              "pairs of a coordinate and nanoseconds");
    }
    OperatorTimes& times = isAttention ? *ofAttention.at(axis) : row.times;
    const double first = isAttention ? values.PositiveReal(2) : 1;
    if (first <= times.Last())
    {
        values.Refuse(
            fields[isAttention ? 2 : 1],
            "next line of times",
            "one line of tokens; lines of prompts, decoding and mixed in ascending order");
    }
    OperatorTimes::Curve curve;
    for (std::size_t i = begin; i < fields.size(); i += 2)
    {
        const double place = values.PositiveReal(i);
        if (!curve.empty() && place <= curve.rbegin()->first)
        {
            values.Refuse(fields[i], "next coordinate", "coordinates in ascending order");
        }
        curve[place] = values.PositiveReal(i + 1);
    }
    times.Add(first, std::move(curve));
}

} // namespace AstraSim
