/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-reader.h"

#include "serving-checks.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/nearest-name.h"
#include "ns3/rank-list.h"
#include "ns3/units.h"

#include <filesystem>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr int64_t PS_PER_NS = 1000;
constexpr int64_t PS_PER_MS = 1'000'000'000;
constexpr uint64_t MOST_REQUESTS = 10'000'000;
constexpr uint64_t MOST_TOKENS = 1U << 24;
constexpr double MOST_BYTES = 1e9;

const std::vector<std::string> KEYS = {"requests",
                                       "rate",
                                       "prompt_tokens",
                                       "output_tokens",
                                       "shared_prefix_tokens",
                                       "shared_prefixes",
                                       "seed",
                                       "trace",
                                       "time_scale",
                                       "router",
                                       "decode_router",
                                       "ttft_limit_ms",
                                       "tpot_limit_ms",
                                       "e2e_limit_ms",
                                       "layers",
                                       "kv_heads",
                                       "kv_bytes",
                                       "kv_transfer",
                                       "kv_layers_per_message",
                                       "instances",
                                       "num_gpu_blocks",
                                       "block_size",
                                       "max_num_seqs",
                                       "max_num_batched_tokens",
                                       "enable_chunked_prefill",
                                       "enable_prefix_caching",
                                       "preemption_mode",
                                       "swap_gbps",
                                       "step_overhead_ns",
                                       "pp_comm",
                                       "gpu",
                                       "row"};

/// How many figures each kind of operator has.
struct KindOfOperator
{
    OperatorKind kind;
    std::size_t figures;
};

const std::map<std::string_view, KindOfOperator> KINDS = {
    {"matmul", {OperatorKind::Matmul, 3}},
    {"matmul_fp8", {OperatorKind::Matmul, 3}},
    {"experts", {OperatorKind::Experts, 4}},
    {"experts_fp8", {OperatorKind::Experts, 4}},
    {"memory", {OperatorKind::Memory, 1}},
    {"expert_memory", {OperatorKind::ExpertMemory, 2}},
    {"attention", {OperatorKind::Attention, 3}},
    {"linear", {OperatorKind::Linear, 4}},
};

const std::map<std::string_view, CollectiveOp> OPERATIONS = {
    {"NONE", CollectiveOp::None},
    {"ALLREDUCE", CollectiveOp::AllReduce},
    {"ALLGATHER", CollectiveOp::AllGather},
    {"REDUCESCATTER", CollectiveOp::ReduceScatter},
    {"ALLTOALL", CollectiveOp::AllToAll},
};

} // namespace

const char*
ToString(InstanceRole role)
{
    switch (role)
    {
    case InstanceRole::Colocated:
        return "colocated";
    case InstanceRole::Prefill:
        return "prefill";
    case InstanceRole::Decode:
        return "decode";
    }
    return "";
}

std::optional<uint64_t>
ServingRequest::ContentOf(uint64_t block, uint32_t blockTokens) const
{
    const uint64_t end = (block + 1) * blockTokens;
    const uint64_t part = prefixTokens > 0 ? (end - 1) / prefixTokens : prefix.size();
    if (part >= prefix.size() || end > promptTokens)
    {
        return std::nullopt;
    }
    constexpr unsigned BLOCK_BITS = 25;
    return prefix[part] << BLOCK_BITS | block;
}

ServingReader::ServingReader(ns3::InputLines& lines)
    : m_lines(lines),
      m_pool(&m_defaults)
{
    m_config.file = lines.Name();
}

ServingConfig
ServingReader::Read()
{
    if (!m_lines.Next() || m_lines.Fields()[0] != "INFERENCE")
    {
        m_lines.Fail("the file does not begin with INFERENCE", "INFERENCE");
    }
    m_config.pools.reserve(3); // m_pool points into it
    while (m_lines.Next())
    {
        ReadKey();
    }
    CheckServingPools(m_config);
    MakeRequests();
    CheckServingRequests(m_config);
    return std::move(m_config);
}

void
ServingReader::ReadKey()
{
    const std::string_view key = m_lines.Fields()[0];
    if (!ReadRequestKey(key) && !ReadModelKey(key) && !ReadPoolKey(key))
    {
        m_lines.Fail("unknown key '" + std::string(key) + "'",
                     "a key such as " + ns3::NearestName(key, KEYS));
    }
}

bool
ServingReader::ReadOneOf(const Readers& readers, std::string_view key)
{
    const auto found = readers.find(key);
    if (found == readers.end())
    {
        return false;
    }
    ExpectValues(1);
    found->second();
    return true;
}

bool
ServingReader::ReadRequestKey(std::string_view key)
{
    if (key == "prompt_tokens" || key == "output_tokens")
    {
        ReadTokenCount(key == "prompt_tokens" ? m_poisson.prompt : m_poisson.output);
        return true;
    }
    const Readers keys = {
        {"requests", [this] { m_poisson.count = Whole(1, 1, MOST_REQUESTS); }},
        {"rate", [this] { m_poisson.perSecond = PositiveReal(1); }},
        {"seed", [this] { m_poisson.seed = Whole(1, 0, UINT64_MAX / 2); }},
        {"shared_prefix_tokens",
         [this] { m_poisson.sharedTokens = static_cast<uint32_t>(Whole(1, 1, MOST_TOKENS)); }},
        {"shared_prefixes",
         [this] { m_poisson.sharedPrefixes = static_cast<uint32_t>(Whole(1, 1, UINT32_MAX)); }},
        {"time_scale", [this] { m_timeScale = PositiveReal(1); }},
        {"trace",
         [this] {
             m_trace = m_lines.Fields()[1];
             m_traceLine = m_lines.Line();
         }},
        {"router", [this] { m_config.prefillRouter = m_config.decodeRouter = ReadRouter(); }},
        {"decode_router", [this] { m_config.decodeRouter = ReadRouter(); }},
        {"ttft_limit_ms", [this] { m_config.limits.firstToken = Milliseconds(); }},
        {"tpot_limit_ms", [this] { m_config.limits.perToken = Milliseconds(); }},
        {"e2e_limit_ms", [this] { m_config.limits.endToEnd = Milliseconds(); }},
    };
    return ReadOneOf(keys, key);
}

bool
ServingReader::ReadModelKey(std::string_view key)
{
    const Readers keys = {
        {"layers", [this] { m_config.layers = static_cast<uint32_t>(Whole(1, 1, 100'000)); }},
        {"kv_heads", [this] { m_config.kvHeads = static_cast<uint32_t>(Whole(1, 1, 100'000)); }},
        {"kv_bytes", [this] { m_config.kvBytes = Whole(1, 1, UINT32_MAX); }},
        {"kv_layers_per_message",
         [this] { m_config.layersPerMessage = static_cast<uint32_t>(Whole(1, 1, 100'000)); }},
        {"kv_transfer",
         [this] {
             const auto value = m_lines.Fields()[1];
             if (value != "layers" && value != "whole")
             {
                 Refuse(value, "kv_transfer", "layers or whole");
             }
             m_config.layerByLayer = value == "layers";
         }},
    };
    return ReadOneOf(keys, key);
}

bool
ServingReader::ReadPoolKey(std::string_view key)
{
    const auto number = [this](uint64_t most) { return static_cast<uint32_t>(Whole(1, 1, most)); };
    const Readers keys = {
        {"num_gpu_blocks", [&] { m_pool->blocks = Whole(1, 1, UINT32_MAX - 1); }},
        {"block_size", [&] { m_pool->blockTokens = number(MOST_TOKENS); }},
        {"max_num_seqs", [&] { m_pool->maxSequences = number(UINT32_MAX); }},
        {"max_num_batched_tokens", [&] { m_pool->maxBatchTokens = number(MOST_TOKENS); }},
        {"enable_chunked_prefill", [&] { m_pool->chunkedPrefill = Whole(1, 0, 1) == 1; }},
        {"enable_prefix_caching", [&] { m_pool->prefixCaching = Whole(1, 0, 1) == 1; }},
        {"preemption_mode",
         [&] {
             const auto value = m_lines.Fields()[1];
             if (value != "recompute" && value != "swap")
             {
                 Refuse(value, "preemption_mode", "recompute or swap");
             }
             m_pool->preemption =
                 value == "swap" ? PreemptionMode::Swap : PreemptionMode::Recompute;
         }},
        {"swap_gbps", [&] { m_pool->swapGBps = PositiveReal(1); }},
        {"step_overhead_ns",
         [&] {
             const auto time = ns3::ParseScaled(m_lines.Fields()[1], PS_PER_NS);
             if (!time)
             {
                 Refuse(m_lines.Fields()[1], "time", "nanoseconds");
             }
             m_pool->stepOverhead = *time;
         }},
        {"pp_comm", [&] { m_pool->pipelineBytesPerToken = Whole(1, 1, UINT32_MAX); }},
    };
    if (key == "instances")
    {
        ReadInstances();
        return true;
    }
    if (key == "gpu")
    {
        ReadGpu();
        return true;
    }
    if (key == "row")
    {
        ReadRow();
        return true;
    }
    return ReadOneOf(keys, key);
}

void
ServingReader::ReadInstances()
{
    const auto& fields = m_lines.Fields();
    if (fields.size() < 3 || fields.size() % 2 == 0)
    {
        m_lines.Fail("'instances' has " + std::to_string(fields.size() - 1) + " values",
                     "instances ROLE RANKS tp: 4 pp: 1 ep: 1");
    }
    InstancePool pool = m_defaults;
    pool.line = m_lines.Line();
    const auto role = fields[1];
    if (role != "colocated" && role != "prefill" && role != "decode")
    {
        Refuse(role, "role of instances", "colocated, prefill or decode");
    }
    pool.role = role == "prefill"  ? InstanceRole::Prefill
                : role == "decode" ? InstanceRole::Decode
                                   : InstanceRole::Colocated;
    if (m_config.Find(pool.role))
    {
        m_lines.Fail("there are " + std::string(role) + " instances already", "each role once");
    }
    const auto ranks = ParseRankList(fields[2]);
    if (!ranks)
    {
        Refuse(fields[2], "list of ranks", "ranks and ranges, such as 0,2,4-7");
    }
    pool.ranks = *ranks;
    for (std::size_t i = 3; i < fields.size(); i += 2)
    {
        const auto name = fields[i];
        uint32_t* size = name == "tp:" || name == "model_parallel_NPU_group:" ? &pool.tp
                         : name == "pp:"                                      ? &pool.pp
                         : name == "ep:"                                      ? &pool.ep
                                                                              : nullptr;
        if (!size)
        {
            Refuse(name, "size of instances", "tp:, pp: or ep:");
        }
        *size = static_cast<uint32_t>(Whole(i + 1, 1, 4096));
    }
    const uint64_t perInstance = uint64_t{pool.tp} * pool.pp * pool.ep;
    if (pool.ranks.size() % perInstance != 0)
    {
        m_lines.Fail(std::to_string(pool.ranks.size()) + " ranks are not whole instances of " +
                         std::to_string(perInstance),
                     "a multiple of TP x PP x EP");
    }
    m_pool = &m_config.pools.emplace_back(std::move(pool));
}

void
ServingReader::ReadGpu()
{
    const auto& fields = m_lines.Fields();
    GpuRoofline gpu;
    double sms = 0;
    const std::map<std::string_view, double*> names = {{"tflops:", &gpu.tflops},
                                                       {"matmul:", &gpu.matmul},
                                                       {"fp8_tflops:", &gpu.eightBitTflops},
                                                       {"fp8_matmul:", &gpu.eightBitMatmul},
                                                       {"attention:", &gpu.attention},
                                                       {"memory_gbps:", &gpu.memoryGBps},
                                                       {"stream:", &gpu.stream},
                                                       {"sms:", &sms}};
    for (std::size_t i = 1; i < fields.size(); i += 2)
    {
        const auto found = names.find(fields[i]);
        if (found == names.end() || i + 1 == fields.size())
        {
            Refuse(fields[i],
                   "property of a GPU and its value",
                   "tflops: matmul: fp8_tflops: fp8_matmul: attention: memory_gbps: stream: "
                   "sms:");
        }
        *found->second = PositiveReal(i + 1);
    }
    if (gpu.tflops == 0 || gpu.memoryGBps == 0 || sms < 1 || sms > 1e6)
    {
        m_lines.Fail("the GPU lacks a property", "at least tflops:, memory_gbps: and sms:");
    }
    gpu.sms = static_cast<uint32_t>(sms);
    m_pool->gpu = gpu;
}

void
ServingReader::ReadRow()
{
    const auto& fields = m_lines.Fields();
    const auto kind = fields.size() > 3 ? KINDS.find(fields[3]) : KINDS.end();
    if (kind == KINDS.end())
    {
        m_lines.Fail(
            fields.size() > 3 ? "'" + std::string(fields[3]) + "' is not a kind of operator"
                              : "this row is too short",
            "row NAME LAYERS KIND FIGURES... COLLECTIVE BYTES, with KIND matmul, matmul_fp8, "
            "experts, experts_fp8, memory, expert_memory, attention or linear");
    }
    const std::size_t figures = kind->second.figures;
    if (fields.size() != figures + 6)
    {
        m_lines.Fail("this row has " + std::to_string(fields.size()) + " fields",
                     std::to_string(figures + 6) + ": row NAME LAYERS " + std::string(fields[3]) +
                         ", " + std::to_string(figures) + " figures, COLLECTIVE, BYTES");
    }
    OperatorRow row;
    row.name = fields[1];
    if (row.name.find_first_of(",\"") != std::string::npos || row.name.size() > 64)
    {
        Refuse(fields[1], "name of a row", "at most 64 characters without commas and quotes");
    }
    row.kind = kind->second.kind;
    row.isEightBit = fields[3].ends_with("_fp8");
    ReadPlace(fields[2], row);
    for (std::size_t i = 0; i < figures; ++i)
    {
        row.figures[i] = Real(4 + i);
    }
    ReadCollective(fields[figures + 4], row);
    row.bytesPerToken = Real(figures + 5);
    if (row.bytesPerToken > MOST_BYTES)
    {
        Refuse(fields[figures + 5], "number of bytes per token", "at most 1e9");
    }
    m_pool->rows.push_back(std::move(row));
}

void
ServingReader::ReadPlace(std::string_view text, OperatorRow& row) const
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
        Refuse(text, "range of layers", "all, first, last, a number, or a range such as 3-60");
    }
    row.firstLayer = static_cast<uint32_t>(*first);
    row.lastLayer = static_cast<uint32_t>(*last);
}

void
ServingReader::ReadCollective(std::string_view text, OperatorRow& row) const
{
    const auto underscore = text.find('_');
    const auto operation = OPERATIONS.find(text.substr(0, underscore));
    const std::string_view group =
        underscore == std::string_view::npos ? "TP" : text.substr(underscore + 1);
    if (operation == OPERATIONS.end() || (group != "TP" && group != "EP"))
    {
        Refuse(text,
               "collective",
               "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _TP or _EP");
    }
    row.op = operation->second;
    row.group = group == "TP" ? GroupKind::Tp : GroupKind::Ep;
}

void
ServingReader::ReadTokenCount(TokenCount& count) const
{
    const auto& fields = m_lines.Fields();
    const auto tokens = [this](std::size_t field) {
        return static_cast<uint32_t>(Whole(field, 1, MOST_TOKENS));
    };
    if (fields.size() == 2)
    {
        count = {TokenCount::Kind::Fixed, tokens(1), 0};
        return;
    }
    if (fields.size() == 3 && fields[1] == "exponential")
    {
        count = {TokenCount::Kind::Exponential, tokens(2), 0};
        return;
    }
    if (fields.size() == 4 && fields[1] == "uniform")
    {
        count = {TokenCount::Kind::Uniform, tokens(2), tokens(3)};
        if (count.high >= count.low)
        {
            return;
        }
    }
    m_lines.Fail("'" + std::string(m_lines.RestFrom(1)) + "' is not a valid number of tokens",
                 "N, uniform LOW HIGH, or exponential MEAN");
}

RouterPolicy
ServingReader::ReadRouter() const
{
    const auto value = m_lines.Fields()[1];
    if (value == "round_robin")
    {
        return RouterPolicy::RoundRobin;
    }
    if (value == "least_loaded")
    {
        return RouterPolicy::LeastLoaded;
    }
    if (value != "kv_aware")
    {
        Refuse(value, "router", "round_robin, least_loaded or kv_aware");
    }
    return RouterPolicy::KvAware;
}

void
ServingReader::MakeRequests()
{
    if (m_trace.empty())
    {
        if (m_poisson.count == 0 || m_poisson.perSecond == 0 || m_poisson.prompt.low == 0 ||
            m_poisson.output.low == 0)
        {
            throw ns3::InputError(m_config.file,
                                  0,
                                  "the file does not say which requests come",
                                  "trace, or requests, rate, prompt_tokens and output_tokens");
        }
        m_config.requests = DrawRequests(m_poisson);
        return;
    }
    if (m_poisson.perSecond > 0 || m_poisson.prompt.low > 0 || m_poisson.output.low > 0 ||
        m_poisson.sharedTokens > 0)
    {
        throw ns3::InputError(m_config.file,
                              m_traceLine,
                              "a trace and Poisson arrivals exclude each other",
                              "trace, or rate, prompt_tokens, output_tokens and "
                              "shared_prefix_tokens");
    }
    const auto beside = std::filesystem::path(m_config.file).parent_path() / m_trace;
    const std::string path = ns3::InputExists(beside.string()) ? beside.string() : m_trace;
    const auto text = ns3::OpenInputFile(path, "a trace of requests");
    m_config.requests = ReadRequestTrace(*text,
                                         path,
                                         m_poisson.count > 0 ? m_poisson.count : MOST_REQUESTS,
                                         m_timeScale);
}

void
ServingReader::Refuse(std::string_view value,
                      std::string_view what,
                      const std::string& expected) const
{
    m_lines.Fail("'" + std::string(value) + "' is not a valid " + std::string(what), expected);
}

uint64_t
ServingReader::Whole(std::size_t field, uint64_t least, uint64_t most) const
{
    const auto text = m_lines.Fields()[field];
    const auto value = ns3::ParseUnsigned(text);
    if (!value || *value < least || *value > most)
    {
        Refuse(text,
               "value of " + std::string(m_lines.Fields()[field == 1 ? 0 : field - 1]),
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return *value;
}

double
ServingReader::Real(std::size_t field) const
{
    const auto text = m_lines.Fields()[field];
    const auto value = ns3::ParseReal(text);
    if (!value || *value < 0 || *value > 1e18)
    {
        Refuse(text, "number", "a number from 0 to 1e18");
    }
    return *value;
}

double
ServingReader::PositiveReal(std::size_t field) const
{
    const double value = Real(field);
    if (value < 1e-9)
    {
        Refuse(m_lines.Fields()[field],
               "value of " + std::string(m_lines.Fields()[field - 1]),
               "a number above 0");
    }
    return value;
}

TimePs
ServingReader::Milliseconds() const
{
    const auto time = ns3::ParseScaled(m_lines.Fields()[1], PS_PER_MS);
    if (!time || *time == 0)
    {
        Refuse(m_lines.Fields()[1], "limit", "milliseconds above 0");
    }
    return *time;
}

void
ServingReader::ExpectValues(std::size_t count) const
{
    const auto& fields = m_lines.Fields();
    if (fields.size() != count + 1)
    {
        m_lines.Fail("'" + std::string(fields[0]) + "' has " + std::to_string(fields.size() - 1) +
                         " values",
                     std::to_string(count));
    }
}

ServingConfig
ReadServingConfig(const std::string& path)
{
    ns3::InputLines lines(path);
    return ServingReader(lines).Read();
}

ServingConfig
ReadServingConfig(std::istream& text, const std::string& name)
{
    ns3::InputLines lines(text, name);
    return ServingReader(lines).Read();
}

} // namespace AstraSim
