/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_CONFIG_H
#define SERVING_CONFIG_H

#include "autoscale-config.h"
#include "operator-times.h"
#include "request-class.h"

#include "ns3/collective-types.h"
#include "ns3/rank-network.h"
#include "ns3/serving-policy.h"
#include "ns3/serving-request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <istream>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// The requests of a trace. Those without a prompt or without output, such as calls that failed,
/// are counted and left out: no server would have answered them.
struct RequestTrace
{
    std::vector<ServingRequest> requests;
    uint64_t withoutOutput{0}; ///< left out: no tokens of output
    uint64_t withoutPrompt{0}; ///< left out: output, but no tokens of a prompt
    TimePs origin{INT64_MAX};  ///< the earliest arrival, of other models' requests, too

    uint64_t CountLeftOut() const
    {
        return withoutOutput + withoutPrompt;
    }

    /// Keep @p request, or count it where it is to be left out.
    /// @param isWanted false: it is another model's, and counts for the origin alone
    void Add(ServingRequest request, bool isWanted = true)
    {
        if (request.outputTokens > 0 && request.promptTokens > 0)
        {
            origin = std::min(origin, request.arrival);
        }
        if (!isWanted)
        {
            return;
        }
        withoutOutput += request.outputTokens == 0;
        withoutPrompt += request.outputTokens > 0 && request.promptTokens == 0;
        if (request.outputTokens > 0 && request.promptTokens > 0)
        {
            requests.push_back(std::move(request));
        }
    }
};

/// Kinds of operators; each has figures that determine its time.
enum class OperatorKind : uint8_t
{
    Matmul,       ///< figures: n, k, how many products
    Experts,      ///< figures: n, k, experts of the rank, tokens it gets per token of the instance
    Memory,       ///< figures: bytes per token
    ExpertMemory, ///< figures: bytes per token it gets, tokens it gets per token of the instance
    Attention,    ///< figures: operations per score, bytes per cached token, bytes per new token
    WindowedAttention, ///< the same, of tokens in the pool's window
    Linear, ///< figures: ns per step, per prompt token, per decoding sequence, per cached token
};

/// Types of the factors of products.
enum class FactorType : uint8_t
{
    Bfloat16,
    Fp8,   ///< 8-bit floats
    Nvfp4, ///< 4-bit floats, 16 of which share an 8-bit scale
};

/// Place of an operator in the model.
enum class OperatorPlace : uint8_t
{
    First,  ///< before the layers, on the first pipeline stage
    Layers, ///< in a range of layers
    Last,   ///< after the layers, on the last stage, and only for tokens that are sampled
};

/// An operator of one rank, and the collective after it.
struct OperatorRow
{
    std::string name;
    OperatorKind kind{OperatorKind::Linear};
    OperatorPlace place{OperatorPlace::Layers};
    uint32_t firstLayer{0};
    uint32_t lastLayer{0};
    std::array<double, 4> figures{};
    CollectiveOp op{CollectiveOp::None};
    GroupKind group{GroupKind::Tp};
    double bytesPerToken{0}; ///< of the collective, as CollectiveRequest counts them
    FactorType factors{FactorType::Bfloat16}; ///< of its products
    /// Measured times instead of a roofline, where there are any: by new tokens (of the instance,
    /// for experts) as the second coordinate; of attention, by new tokens in prompts and the mean
    /// number that each attends to.
    OperatorTimes times;
    OperatorTimes decodingTimes; ///< of attention: by sequences and the mean tokens of their caches
    OperatorTimes mixedTimes; ///< the same in steps that have prompts, if that makes a difference
};

/// A GPU's peaks, and the fractions of them that kernels reach (python/clustersim/gpus.yaml).
struct GpuRoofline
{
    double tflops{0};
    double matmul{1};
    double attention{1};
    double memoryGBps{0};
    double stream{1};
    uint32_t sms{1};
    double eightBitTflops{0}; ///< of products of 8-bit floats; 0: it has none
    double eightBitMatmul{1};
    double fourBitTflops{0}; ///< of products of 4-bit floats; 0: it has none
    double fourBitMatmul{1};
};

/// A draft proposes tokens for each decoding sequence, and the model verifies them in one step.
struct Speculation
{
    uint32_t tokens{0};   ///< of a draft; 0: none
    double acceptance{0}; ///< probability that a token is accepted if those before it are
    double draftShare{0}; ///< time of a draft's token, as a share of the layers' for one

    /// @return tokens that a sequence gets in its step number @p step, from 0. A step makes
    /// (1 - a^(n + 1)) / (1 - a) on average; k steps make k times as many, rounded down
    uint32_t TokensOf(uint32_t step) const
    {
        double expected = 1;
        for (uint32_t i = 0; i < tokens; ++i)
        {
            expected = 1 + acceptance * expected;
        }
        constexpr double ROUNDING = 1e-6;
        const auto after = [expected](double steps) {
            return static_cast<uint32_t>(steps * expected + ROUNDING);
        };
        return after(step + 1.0) - after(step);
    }
};

/// The work that instances of a pool do for a request.
enum class InstanceRole : uint8_t
{
    Colocated, ///< prompts and decoding
    Prefill,
    Decode,
};

/// @return "colocated", "prefill" or "decode"
const char* ToString(InstanceRole role);

/// Memory of a host, or its NVMe drives, for blocks of the caches of its GPUs.
struct LocalTierConfig
{
    uint64_t blocks{0}; ///< of a replica; 0: there is none
    double gbps;        ///< GB/s of each GPU's link, in each direction
    TimePs latency{0};  ///< of a transfer
};

/// A pool of blocks in the memory of servers that serve nothing else.
struct RemoteCacheConfig
{
    std::vector<uint32_t> ranks; ///< of the job, whose NICs carry the blocks; empty: no pool
    uint64_t blocks{0};
    TimePs latency{0}; ///< from a request to the first byte that leaves
};

/// Instances that are alike: a set of ranks cut into groups of TP x DP x PP.
struct InstancePool
{
    InstanceRole role{InstanceRole::Colocated};
    std::size_t line{0}; ///< of the file
    std::vector<uint32_t> ranks;
    uint32_t tp{1};
    uint32_t dp{1}; ///< replicas of the attention layers that share experts
    uint32_t ep{1}; ///< ranks of a group that exchanges tokens: divides TP x DP
    uint32_t pp{1};
    uint64_t blocks{UINT32_MAX}; ///< of the cache, of each replica; UINT32_MAX: no limit
    uint32_t blockTokens{16};
    uint32_t layers{1};       ///< of the model
    uint32_t window{0};       ///< tokens that a token attends to in layers with a window; 0: none
    uint32_t windowLayers{0}; ///< layers with a window
    uint32_t maxSequences{256};
    uint32_t maxBatchTokens{8192};
    bool chunkedPrefill{true};
    bool mixedBatches{false}; ///< whether steps with whole prompts decode, too
    bool prefixCaching{true};
    LocalTierConfig hostCache{.gbps = 25};
    LocalTierConfig nvmeCache{.gbps = 7};
    bool loadsByLayer{true}; ///< a step waits for each layer of a cache, not for all of it before
    PolicyChoice order{"fcfs"};
    PolicyChoice preemption{"recompute"};
    PolicyChoice capacity{"max_utilization"};
    TimePs launch{0};                   ///< of a kernel by the CPU, outside of CUDA graphs
    std::vector<uint32_t> captureSizes; ///< of CUDA graphs, in decoding sequences, ascending
    TimePs stepOverhead{0};
    Speculation speculation;
    AutoscaleConfig autoscale;
    uint64_t pipelineBytesPerToken{0};
    std::optional<GpuRoofline> gpu;
    std::vector<OperatorRow> rows;

    uint32_t RanksPerInstance() const
    {
        return tp * dp * pp;
    }

    /// @return the distance between neighbours in a group that exchanges tokens
    uint32_t ExpertStride() const
    {
        return tp * dp / ep;
    }

    uint32_t CountInstances() const
    {
        return static_cast<uint32_t>(ranks.size()) / RanksPerInstance();
    }

    /**
     * @return blocks that hold @p tokens. Without windows, a block holds blockTokens of all layers.
     * With windows, it holds them of g layers, where g divides both the number of layers with and
     * without one; a layer with a window keeps the blocks that its window touches.
     */
    uint64_t BlocksOf(uint64_t tokens) const
    {
        const uint64_t all = (tokens + blockTokens - 1) / blockTokens;
        if (window == 0)
        {
            return all;
        }
        const uint64_t inWindow = (window + blockTokens - 1) / blockTokens + 1;
        const uint64_t others = layers - windowLayers;
        return (all * others + std::min(all, inWindow) * windowLayers) /
               std::gcd(others, uint64_t{windowLayers});
    }
};

/// An instance fails for good, and its requests go to others.
struct InstanceFailure
{
    uint32_t instance;
    TimePs time;
};

/**
 * @ingroup astra-frontend
 * @brief The content of an INFERENCE file.
 *
 * A file of `key value...` lines after the word INFERENCE; docs/source/reference/workloads.rst has
 * every key. Those of instances hold for the pool that the `instances` line before them opens, or,
 * before the first, for all pools.
 *
 * @code
 * INFERENCE
 * requests 100            # Poisson arrivals...
 * rate 8                  # ...per second
 * prompt_tokens 1024
 * output_tokens 128
 * layers 32
 * kv_heads 8
 * kv_bytes 512            # of a token, layer and head: keys and values
 * instances prefill 0-3 tp: 2
 * row step all linear 0 5000 0 0 NONE 0
 * instances decode 4-7 tp: 4
 * row step all linear 20000 5000 100 0 NONE 0
 * @endcode
 */
struct ServingConfig
{
    std::string file;
    std::vector<ServingRequest> requests; ///< by arrival; those that fit
    uint64_t refused{0};                  ///< requests that do not fit
    std::string firstRefused;             ///< why the first of them does not; empty if all fit
    uint64_t leftOut{0};                  ///< requests of the trace without a prompt or output
    std::string whyLeftOut;               ///< a warning that counts them; empty if there are none
    uint64_t maxModelLen{UINT64_MAX};     ///< tokens of a request, prompt and output together
    /// The most requests or sessions under way; the next begins when one has ended.
    uint64_t maxConcurrency{UINT64_MAX};
    TimePs frontEndWork{0};    ///< time of a front end's CPU for each request
    TimePs frontEndLatency{0}; ///< further delay of each request, without a CPU
    std::string allReduce;     ///< engine with the AllReduce that ranks carry out; also for the run
    uint32_t layers{1};
    uint32_t kvHeads{1};
    uint64_t kvBytes{0}; ///< of a token, a layer and a head
    bool layerByLayer{true};
    uint32_t layersPerMessage{1};
    /// Where prefill and decode are separate: whether the decoding instance makes the first token
    /// from the cache that it receives, as vLLM does, or the prefilling instance.
    bool firstTokenAtDecode{true};
    PolicyChoice prefillRouter{"least_loaded"}; ///< of colocated instances, too
    PolicyChoice decodeRouter{"least_loaded"};
    ServingLimits limits;
    /// One without a name where the file has none; limits that a class lacks are those above.
    std::vector<RequestClass> classes;
    AdmissionLimits admission;
    RemoteCacheConfig remoteCache;
    std::vector<uint32_t> weightsStore; ///< ranks that starting instances get weights from
    TimePs reportInterval{0}; ///< of replicas to routers; 0: routers know the present state
    std::vector<InstanceFailure> failures;
    double gpuHour{0};  ///< price of a GPU for an hour; 0: not known
    double gpuWatts{0}; ///< of a GPU with its part of the rest; 0: not known
    std::vector<InstancePool> pools;

    /// @return the pool with that role, or null
    const InstancePool* Find(InstanceRole role) const
    {
        for (const auto& pool : pools)
        {
            if (pool.role == role)
            {
                return &pool;
            }
        }
        return nullptr;
    }

    /// @return the pool that computes prompts
    const InstancePool* FindPrompting() const
    {
        const InstancePool* colocated = Find(InstanceRole::Colocated);
        return colocated ? colocated : Find(InstanceRole::Prefill);
    }

    bool HasClasses() const
    {
        return !classes.front().name.empty();
    }

    /// @return whether some requests have limits on their times
    bool HasLimits() const
    {
        return std::ranges::any_of(classes,
                                   [](const RequestClass& each) { return each.limits.Any(); });
    }

    /// @return whether caches are kept outside the GPUs, too
    bool HasTiers() const
    {
        return FindPrompting()->hostCache.blocks > 0 || FindPrompting()->nvmeCache.blocks > 0 ||
               !remoteCache.ranks.empty();
    }

    bool IsDisaggregated() const
    {
        return Find(InstanceRole::Decode) != nullptr;
    }
};

/// @param path the file @return its contents @throw ns3::InputError
ServingConfig ReadServingConfig(const std::string& path);

/// @copydoc ReadServingConfig @param text the file's text @param name its name in errors
ServingConfig ReadServingConfig(std::istream& text, const std::string& name);

/// @return the keys, as Rows::ToCsv() has them
std::string DescribeServingKeys();

/// @return the policies that exist: a line for each with its key, name and meaning
std::string DescribeServingPolicies();

} // namespace AstraSim

#endif /* SERVING_CONFIG_H */
