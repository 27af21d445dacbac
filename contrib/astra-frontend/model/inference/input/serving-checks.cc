/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-checks.h"

#include "ns3/input-error.h"
#include "ns3/preemption.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

namespace AstraSim
{

namespace
{

[[noreturn]] void
Fail(const ServingConfig& config,
     std::size_t line,
     const std::string& what,
     const std::string& expected)
{
    throw ns3::InputError(config.file, line, what, expected);
}

void
CheckRoles(const ServingConfig& config)
{
    const auto* colocated = config.Find(InstanceRole::Colocated);
    const auto* prefill = config.Find(InstanceRole::Prefill);
    const auto* decode = config.Find(InstanceRole::Decode);
    if (colocated ? (prefill || decode) : (!prefill || !decode))
    {
        Fail(config,
             0,
             "the instances cannot serve requests",
             "colocated instances, or prefill and decode");
    }
    if (prefill && config.kvBytes == 0)
    {
        Fail(config,
             prefill->line,
             "kv_bytes is missing",
             "bytes of keys and values of a token, layer and head");
    }
    // A bound that keeps the bytes of 2^24 tokens within 64 bits.
    constexpr double MOST_BYTES = 1e12;
    if (static_cast<double>(config.kvBytes) * config.layers * config.kvHeads > MOST_BYTES)
    {
        Fail(config,
             0,
             "the cache of a token has more than 1e12 bytes",
             "kv_bytes of a layer and a head");
    }
}

bool
Swaps(const InstancePool& pool)
{
    return PolicyKind<Preemption>::Create(pool.preemption)->Swaps();
}

template <typename Pool>
void
CheckWindow(const ServingConfig& config, const Pool& pool)
{
    if ((pool.window > 0) != (pool.windowLayers > 0) || pool.windowLayers > config.layers)
    {
        Fail(config,
             pool.line,
             "a window of " + std::to_string(pool.window) + " tokens in " +
                 std::to_string(pool.windowLayers) + " layers",
             "window and window_layers, at most " + std::to_string(config.layers));
    }
    if (pool.window > 0 && pool.prefixCaching)
    {
        Fail(config,
             pool.line,
             "prefix caching is not modelled for layers with a window",
             "enable_prefix_caching 0");
    }
    if (pool.window > 0 && Swaps(pool))
    {
        Fail(config,
             pool.line,
             "swapping is not modelled for layers with a window",
             "preemption_mode recompute");
    }
    if (pool.window > 0 && pool.role != InstanceRole::Colocated)
    {
        Fail(config,
             pool.line,
             "transfers of caches are not modelled for layers with a window",
             "colocated instances");
    }
}

template <typename Pool>
void
CheckPool(const ServingConfig& config, const Pool& pool)
{
    if (pool.pp > config.layers)
    {
        Fail(config,
             pool.line,
             std::to_string(pool.pp) + " pipeline stages for " + std::to_string(config.layers) +
                 " layers",
             "a layer for every stage");
    }
    if (Swaps(pool) && config.kvBytes == 0)
    {
        Fail(config, pool.line, "kv_bytes is missing", "bytes of keys and values, to swap them");
    }
    CheckWindow(config, pool);
    if (pool.speculation.tokens >= pool.maxBatchTokens)
    {
        Fail(config,
             pool.line,
             "a step of " + std::to_string(pool.maxBatchTokens) + " tokens has no room for " +
                 std::to_string(pool.speculation.tokens) + " of a draft",
             "max_num_batched_tokens above the tokens of a draft");
    }
    if (pool.rows.empty())
    {
        Fail(config, pool.line, "the instances have no rows", "lines that begin with row");
    }
    if (pool.pp > 1 && pool.pipelineBytesPerToken == 0)
    {
        Fail(config, pool.line, "pp_comm is missing", "bytes per token that stages send");
    }
    if (std::max(pool.tp, config.kvHeads) % std::min(pool.tp, config.kvHeads) != 0)
    {
        Fail(config,
             pool.line,
             "TP " + std::to_string(pool.tp) + " and " + std::to_string(config.kvHeads) +
                 " key-value heads do not divide one another",
             "a divisor or a multiple");
    }
}

template <typename Pool, typename Row>
void
CheckRow(const ServingConfig& config, const Pool& pool, const Row& row)
{
    if (row.kind != OperatorKind::Linear && !pool.gpu)
    {
        Fail(config, pool.line, "row " + row.name + " needs a GPU", "a line that begins with gpu");
    }
    if (row.kind == OperatorKind::WindowedAttention && pool.window == 0)
    {
        Fail(config,
             pool.line,
             "row " + row.name + " needs a window",
             "a line that begins with window");
    }
    const bool isFourBit = row.factors == FactorType::Nvfp4;
    if (row.factors != FactorType::Bfloat16 &&
        (isFourBit ? pool.gpu->fourBitTflops : pool.gpu->eightBitTflops) == 0)
    {
        const std::string bits = isFourBit ? "4" : "8";
        Fail(config,
             pool.line,
             "row " + row.name + " needs products of " + bits + "-bit floats",
             "fp" + bits + "_tflops: in the line that begins with gpu");
    }
    if (row.place == OperatorPlace::Layers && row.lastLayer != UINT32_MAX &&
        row.lastLayer >= config.layers)
    {
        Fail(config,
             pool.line,
             "row " + row.name + " is in layer " + std::to_string(row.lastLayer),
             "layers below " + std::to_string(config.layers));
    }
}

/// Caches outside the GPUs.
void
CheckTiers(const ServingConfig& config, const std::set<uint32_t>& serving)
{
    const InstancePool& pool = *config.FindPrompting();
    const RemoteCacheConfig& remote = config.remoteCache;
    if (!config.HasTiers())
    {
        return;
    }
    if (config.kvBytes == 0)
    {
        Fail(config, pool.line, "kv_bytes is missing", "bytes of keys and values, to move blocks");
    }
    if (!pool.prefixCaching)
    {
        Fail(config,
             pool.line,
             "caches outside the GPUs keep blocks that prompts share",
             "enable_prefix_caching 1");
    }
    if (remote.ranks.empty())
    {
        return;
    }
    if (remote.blocks == 0)
    {
        Fail(config, 0, "remote_cache_blocks is missing", "the number of blocks of the pool");
    }
    for (const uint32_t rank : remote.ranks)
    {
        if (serving.contains(rank))
        {
            Fail(config,
                 0,
                 "rank " + std::to_string(rank) + " serves, and holds the remote cache",
                 "ranks that serve nothing");
        }
    }
}

void
CheckFailures(const ServingConfig& config)
{
    if (config.failures.empty())
    {
        return;
    }
    if (config.IsDisaggregated())
    {
        Fail(config, 0, "fail_instance with instances decode", "colocated instances");
    }
    const uint32_t count = config.pools.front().CountInstances();
    std::set<uint32_t> failing;
    for (const InstanceFailure& failure : config.failures)
    {
        if (failure.instance >= count || !failing.insert(failure.instance).second)
        {
            Fail(config,
                 0,
                 "fail_instance " + std::to_string(failure.instance) + " of " +
                     std::to_string(count) + " instances",
                 "each one that exists once");
        }
    }
    if (failing.size() == count)
    {
        Fail(config, 0, "all instances fail", "one that is left for the requests");
    }
}

void
CheckAutoscale(const ServingConfig& config, const std::set<uint32_t>& serving)
{
    const InstancePool& pool = config.pools.front();
    const AutoscaleConfig& its = pool.autoscale;
    if ((its.weightBytes > 0) != !config.weightsStore.empty())
    {
        Fail(config,
             pool.line,
             "one of weights_bytes and weights_store is missing",
             "both, with autoscale, or neither");
    }
    if (!its.IsGiven())
    {
        return;
    }
    if (pool.role != InstanceRole::Colocated || !config.failures.empty())
    {
        Fail(config,
             pool.line,
             "autoscale is not modelled for instances that prefill or decode, or that fail",
             "colocated instances, without fail_instance");
    }
    if (its.least > pool.CountInstances())
    {
        Fail(config,
             pool.line,
             "min_instances " + std::to_string(its.least) + " of " +
                 std::to_string(pool.CountInstances()) + " instances",
             "at most those that there are");
    }
    if (its.metric == AutoscaleConfig::Metric::KvUse && pool.blocks == UINT32_MAX)
    {
        Fail(config, pool.line, "autoscale kv_use without a limit of blocks", "num_gpu_blocks");
    }
    for (const uint32_t rank : config.weightsStore)
    {
        if (serving.contains(rank))
        {
            Fail(config,
                 0,
                 "rank " + std::to_string(rank) + " serves, and stores weights",
                 "ranks that serve nothing");
        }
    }
}

/// Why a request cannot be served.
struct Misfit
{
    std::size_t line;
    std::string what;
    std::string expected;
};

std::optional<Misfit>
MisfitOf(const ServingConfig& config, const ServingRequest& request)
{
    const uint64_t all = uint64_t{request.promptTokens} + request.outputTokens;
    const std::string name = "request " + std::to_string(request.number) + " has ";
    if (all > config.maxModelLen)
    {
        return Misfit{0,
                      name + std::to_string(all) + " tokens",
                      "at most max_model_len, " + std::to_string(config.maxModelLen)};
    }
    for (const auto& pool : config.pools)
    {
        const uint64_t tokens = pool.role == InstanceRole::Prefill ? request.promptTokens : all - 1;
        if (pool.BlocksOf(tokens) > pool.blocks)
        {
            return Misfit{pool.line,
                          name + std::to_string(tokens) + " tokens to keep, " +
                              std::to_string(pool.BlocksOf(tokens)) + " blocks",
                          "at most num_gpu_blocks, " + std::to_string(pool.blocks)};
        }
    }
    return std::nullopt;
}

} // namespace

void
CheckServingPools(const ServingConfig& config)
{
    CheckRoles(config);
    std::set<uint32_t> seen;
    for (const auto& pool : config.pools)
    {
        for (const uint32_t rank : pool.ranks)
        {
            if (!seen.insert(rank).second)
            {
                Fail(config,
                     pool.line,
                     "rank " + std::to_string(rank) + " is in two pools",
                     "each rank once");
            }
        }
        CheckPool(config, pool);
        for (const auto& row : pool.rows)
        {
            CheckRow(config, pool, row);
        }
    }
    CheckTiers(config, seen);
    CheckFailures(config);
    CheckAutoscale(config, seen);
}

void
RefuseLongRequests(ServingConfig& config)
{
    for (std::size_t i = 0; i < config.requests.size(); ++i)
    {
        config.requests[i].number = static_cast<uint32_t>(i);
    }
    std::optional<Misfit> first;
    config.refused = std::erase_if(config.requests, [&](const ServingRequest& request) {
        const auto misfit = MisfitOf(config, request);
        first = first ? first : misfit;
        config.classes[request.requestClass].tooLong += misfit.has_value();
        return misfit.has_value();
    });
    if (first && config.requests.empty())
    {
        Fail(config, first->line, first->what, first->expected);
    }
    config.firstRefused = first ? first->what + "; expected " + first->expected : "";
}

std::string
DescribeLeftOut(const RequestTrace& trace, const std::string& file)
{
    if (trace.CountLeftOut() == 0)
    {
        return "";
    }
    const std::string total = std::to_string(trace.requests.size() + trace.CountLeftOut());
    const std::string output =
        std::to_string(trace.withoutOutput) + " of " + total + " requests have no output";
    const std::string prompt =
        std::to_string(trace.withoutPrompt) + " of " + total + " requests have no prompt";
    return file + ": " +
           (trace.withoutPrompt == 0   ? output
            : trace.withoutOutput == 0 ? prompt
                                       : output + " and " + prompt) +
           "; they are left out";
}

} // namespace AstraSim
