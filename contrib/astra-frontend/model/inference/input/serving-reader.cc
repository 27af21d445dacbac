/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-reader.h"

#include "astra-frontend/model/system/rank-list.h"
#include "operator-rows.h"
#include "serving-checks.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr int64_t PS_PER_NS = 1000;
constexpr uint64_t MOST_REQUESTS = 10'000'000;

/// Keys of caches that move from one instance to another.
const std::set<std::string> MOVING_KEYS = {"decode_router",
                                           "kv_transfer",
                                           "kv_layers_per_message",
                                           "first_token"};

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
                                       "first_token",
                                       "max_model_len",
                                       "instances",
                                       "num_gpu_blocks",
                                       "block_size",
                                       "window",
                                       "window_layers",
                                       "max_num_seqs",
                                       "max_num_batched_tokens",
                                       "enable_chunked_prefill",
                                       "enable_prefix_caching",
                                       "preemption_mode",
                                       "swap_gbps",
                                       "capacity_scheduler_policy",
                                       "launch_ns",
                                       "cudagraph_capture_sizes",
                                       "step_overhead_ns",
                                       "pp_comm",
                                       "gpu",
                                       "row",
                                       "times"};

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
      m_values(lines),
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
    for (auto& pool : m_config.pools)
    {
        pool.layers = m_config.layers;
    }
    CheckServingPools(m_config);
    RefuseIdleKeys();
    MakeRequests();
    RefuseLongRequests(m_config);
    return std::move(m_config);
}

void
ServingReader::ReadKey()
{
    const std::string key(m_lines.Fields()[0]);
    const InstancePool* pool = ReadRequestKey(key) || ReadModelKey(key) ? nullptr : m_pool;
    if (pool && !ReadPoolKey(key))
    {
        m_lines.Fail("unknown key '" + key + "'", "a key such as " + ns3::NearestName(key, KEYS));
    }
    const bool repeats =
        key == "row" || key == "times" || key == "instances"; // each role once: ReadInstances()
    if (!repeats && !m_seen.emplace(std::pair(pool, key), m_lines.Line()).second)
    {
        m_lines.Fail("the key '" + key + "' occurs twice", "each key once, or once for instances");
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
    m_values.ExpectValues(1);
    found->second();
    return true;
}

bool
ServingReader::ReadRequestKey(std::string_view key)
{
    if (key == "prompt_tokens" || key == "output_tokens")
    {
        (key == "prompt_tokens" ? m_poisson.prompt : m_poisson.output) = m_values.Tokens();
        return true;
    }
    const Readers keys = {
        {"requests", [this] { m_poisson.count = m_values.Whole(1, 1, MOST_REQUESTS); }},
        {"rate", [this] { m_poisson.perSecond = m_values.PositiveReal(1); }},
        {"seed", [this] { m_poisson.seed = m_values.Whole(1, 0, UINT64_MAX / 2); }},
        {"shared_prefix_tokens",
         [this] {
             m_poisson.sharedTokens =
                 static_cast<uint32_t>(m_values.Whole(1, 1, ServingValues::MOST_TOKENS));
         }},
        {"shared_prefixes",
         [this] {
             m_poisson.sharedPrefixes = static_cast<uint32_t>(m_values.Whole(1, 1, UINT32_MAX));
         }},
        {"time_scale", [this] { m_timeScale = m_values.PositiveReal(1); }},
        {"trace",
         [this] {
             m_trace = m_lines.Fields()[1];
             m_traceLine = m_lines.Line();
         }},
        {"router", [this] { m_config.prefillRouter = m_config.decodeRouter = ReadRouter(); }},
        {"decode_router", [this] { m_config.decodeRouter = ReadRouter(); }},
        {"ttft_limit_ms", [this] { m_config.limits.firstToken = m_values.Milliseconds(); }},
        {"tpot_limit_ms", [this] { m_config.limits.perToken = m_values.Milliseconds(); }},
        {"e2e_limit_ms", [this] { m_config.limits.endToEnd = m_values.Milliseconds(); }},
    };
    return ReadOneOf(keys, key);
}

bool
ServingReader::ReadModelKey(std::string_view key)
{
    const Readers keys = {
        {"layers",
         [this] { m_config.layers = static_cast<uint32_t>(m_values.Whole(1, 1, 100'000)); }},
        {"kv_heads",
         [this] { m_config.kvHeads = static_cast<uint32_t>(m_values.Whole(1, 1, 100'000)); }},
        {"kv_bytes", [this] { m_config.kvBytes = m_values.Whole(1, 1, UINT32_MAX); }},
        {"kv_layers_per_message",
         [this] {
             m_config.layersPerMessage = static_cast<uint32_t>(m_values.Whole(1, 1, 100'000));
         }},
        {"max_model_len",
         [this] { m_config.maxModelLen = m_values.Whole(1, 2, 2 * ServingValues::MOST_TOKENS); }},
        {"first_token",
         [this] {
             const auto value = m_lines.Fields()[1];
             if (value != "prefill" && value != "decode")
             {
                 m_values.Refuse(value, "first_token", "prefill or decode");
             }
             m_config.firstTokenAtDecode = value == "decode";
         }},
        {"kv_transfer",
         [this] {
             const auto value = m_lines.Fields()[1];
             if (value != "layers" && value != "whole")
             {
                 m_values.Refuse(value, "kv_transfer", "layers or whole");
             }
             m_config.layerByLayer = value == "layers";
         }},
    };
    return ReadOneOf(keys, key);
}

bool
ServingReader::ReadPoolKey(std::string_view key)
{
    const auto number = [this](uint64_t most) {
        return static_cast<uint32_t>(m_values.Whole(1, 1, most));
    };
    const Readers keys = {
        {"num_gpu_blocks", [&] { m_pool->blocks = m_values.Whole(1, 1, UINT32_MAX - 1); }},
        {"block_size", [&] { m_pool->blockTokens = number(ServingValues::MOST_TOKENS); }},
        {"window", [&] { m_pool->window = number(ServingValues::MOST_TOKENS); }},
        {"window_layers", [&] { m_pool->windowLayers = number(100'000); }},
        {"max_num_seqs", [&] { m_pool->maxSequences = number(UINT32_MAX); }},
        {"max_num_batched_tokens",
         [&] { m_pool->maxBatchTokens = number(ServingValues::MOST_TOKENS); }},
        {"enable_chunked_prefill", [&] { m_pool->chunkedPrefill = m_values.Whole(1, 0, 1) == 1; }},
        {"enable_prefix_caching", [&] { m_pool->prefixCaching = m_values.Whole(1, 0, 1) == 1; }},
        {"preemption_mode",
         [&] {
             const auto value = m_lines.Fields()[1];
             if (value != "recompute" && value != "swap")
             {
                 m_values.Refuse(value, "preemption_mode", "recompute or swap");
             }
             m_pool->preemption =
                 value == "swap" ? PreemptionMode::Swap : PreemptionMode::Recompute;
         }},
        {"swap_gbps", [&] { m_pool->swapGBps = m_values.PositiveReal(1); }},
        {"capacity_scheduler_policy",
         [&] {
             const auto value = m_lines.Fields()[1];
             if (value != "max_utilization" && value != "guaranteed_no_evict")
             {
                 m_values.Refuse(value,
                                 "capacity_scheduler_policy",
                                 "max_utilization or guaranteed_no_evict");
             }
             m_pool->capacityPolicy = value == "max_utilization"
                                          ? CapacityPolicy::MaxUtilization
                                          : CapacityPolicy::GuaranteedNoEvict;
         }},
        {"step_overhead_ns", [&] { m_pool->stepOverhead = ReadNanoseconds(); }},
        {"launch_ns", [&] { m_pool->launch = ReadNanoseconds(); }},
        {"pp_comm", [&] { m_pool->pipelineBytesPerToken = m_values.Whole(1, 1, UINT32_MAX); }},
    };
    if (key == "instances")
    {
        ReadInstances();
        return true;
    }
    if (key == "gpu")
    {
        m_pool->gpu = ReadGpuRoofline(m_values);
        return true;
    }
    if (key == "row")
    {
        m_pool->rows.push_back(ReadOperatorRow(m_values));
        return true;
    }
    if (key == "times")
    {
        if (m_pool->rows.empty())
        {
            m_lines.Fail("no row comes before these times", "times after the row that they are of");
        }
        ReadOperatorTimes(m_values, m_pool->rows.back());
        return true;
    }
    if (key == "cudagraph_capture_sizes")
    {
        ReadCaptureSizes();
        return true;
    }
    return ReadOneOf(keys, key);
}

TimePs
ServingReader::ReadNanoseconds() const
{
    const auto time = ns3::ParseScaled(m_lines.Fields()[1], PS_PER_NS);
    if (!time)
    {
        m_values.Refuse(m_lines.Fields()[1], "time", "nanoseconds");
    }
    return *time;
}

void
ServingReader::ReadCaptureSizes()
{
    auto& sizes = m_pool->captureSizes;
    sizes.clear();
    for (std::size_t i = 1; i < m_lines.Fields().size(); ++i)
    {
        sizes.push_back(static_cast<uint32_t>(m_values.Whole(i, 1, UINT32_MAX)));
        if (i > 1 && sizes[i - 1] <= sizes[i - 2])
        {
            m_values.Refuse(m_lines.Fields()[i], "next size", "sizes in ascending order");
        }
    }
    if (sizes.empty())
    {
        m_lines.Fail("there are no sizes", "numbers of decoding sequences, ascending");
    }
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
        m_values.Refuse(role, "role of instances", "colocated, prefill or decode");
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
        m_values.Refuse(fields[2], "list of ranks", "ranks and ranges, such as 0,2,4-7");
    }
    pool.ranks = *ranks;
    std::set<const uint32_t*> sizes;
    for (std::size_t i = 3; i < fields.size(); i += 2)
    {
        const auto name = fields[i];
        uint32_t* size = name == "tp:" || name == "model_parallel_NPU_group:" ? &pool.tp
                         : name == "pp:"                                      ? &pool.pp
                         : name == "ep:"                                      ? &pool.ep
                                                                              : nullptr;
        if (!size)
        {
            m_values.Refuse(name, "size of instances", "tp:, pp: or ep:");
        }
        if (!sizes.insert(size).second)
        {
            m_lines.Fail("'" + std::string(name) + "' occurs twice", "each size once");
        }
        *size = static_cast<uint32_t>(m_values.Whole(i + 1, 1, 4096));
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
        m_values.Refuse(value, "router", "round_robin, least_loaded or kv_aware");
    }
    return RouterPolicy::KvAware;
}

void
ServingReader::RefuseIdleKeys() const
{
    // A key is of one kind of instances, or of all of them where it stands before the first.
    const auto has = [this](const InstancePool* some, const auto& predicate) {
        return std::ranges::any_of(m_config.pools, [&](const InstancePool& pool) {
            return (some == &pool || some == &m_defaults) && predicate(pool);
        });
    };
    const auto swaps = [](const InstancePool& pool) {
        return pool.preemption == PreemptionMode::Swap;
    };
    const bool moves = m_config.IsDisaggregated();
    for (const auto& [place, line] : m_seen)
    {
        const auto& [pool, key] = place;
        const char* needed =
            key == "time_scale" && m_trace.empty()                     ? "trace"
            : key == "shared_prefixes" && m_poisson.sharedTokens == 0  ? "shared_prefix_tokens"
            : key == "seed" && !m_trace.empty()                        ? "rate"
            : key == "swap_gbps" && !has(pool, swaps)                  ? "preemption_mode swap"
            : MOVING_KEYS.contains(key) && !moves                      ? "instances decode"
            : key == "kv_layers_per_message" && !m_config.layerByLayer ? "kv_transfer layers"
                                                                       : nullptr;
        if (needed)
        {
            throw ns3::InputError(m_config.file,
                                  line,
                                  key + " has no effect without " + needed,
                                  "both or neither");
        }
    }
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
    RequestTrace trace = ReadRequestTrace(*text,
                                          path,
                                          m_poisson.count > 0 ? m_poisson.count : MOST_REQUESTS,
                                          m_timeScale);
    m_config.leftOut = trace.CountLeftOut();
    m_config.whyLeftOut = DescribeLeftOut(trace, path);
    m_config.requests = std::move(trace.requests);
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
