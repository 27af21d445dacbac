/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/rank-list.h"
#include "drawn-requests.h"
#include "operator-rows.h"
#include "policy-rows.h"
#include "request-source.h"
#include "serving-checks.h"
#include "serving-config.h"
#include "serving-values.h"

#include "ns3/capacity-policy.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/input-lines.h"
#include "ns3/preemption.h"
#include "ns3/queue-order.h"
#include "ns3/request-router.h"
#include "ns3/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr int64_t PS_PER_NS = 1000;
constexpr int64_t PS_PER_MS = 1'000'000'000;
constexpr uint64_t MOST_REQUESTS = 10'000'000;
constexpr uint64_t MOST_LAYERS = 100'000;
constexpr uint64_t MOST_TOKENS = DrawnCount::MOST;
constexpr uint64_t MOST_DRAFT = 64;
constexpr uint64_t MOST_TIER_BLOCKS = uint64_t{1} << 40;
constexpr double LEAST_REAL = 1e-9;
constexpr double LEAST_BURSTINESS = 0.01;
constexpr double MOST_REAL = 1e18;

/// @return a number from @p least on, or infinity for "inf"
std::optional<double>
ParseReal(std::string_view text, double least)
{
    return text == "inf" ? std::numeric_limits<double>::infinity()
                         : ns3::RealWithin(text, least, MOST_REAL);
}

/// A number, or "inf". @param standard as users see it
ns3::RowValue
RealOrInfinite(double& target, double least, const std::string& standard = "")
{
    return ns3::Parsed(
        target,
        [least](std::string_view text) { return ParseReal(text, least); },
        ns3::RangeText("a number", least, MOST_REAL) + ", or inf",
        standard,
        ns3::RowValue::Kind::Number);
}

/// @return sizes in ascending order
std::optional<std::vector<uint32_t>>
ParseAscending(std::string_view text)
{
    const auto sizes = ns3::WholesWithin(text, 1, UINT32_MAX, 1);
    const bool ascend =
        sizes && std::ranges::adjacent_find(*sizes, std::greater_equal()) == sizes->end();
    return ascend ? sizes : std::nullopt;
}

/// @return tokens of a draft, their acceptance, and the draft's share of the layers' time
std::optional<Speculation>
ParseSpeculation(std::string_view text)
{
    std::istringstream words{std::string(text)};
    std::array<std::string, 3> each;
    words >> each[0] >> each[1] >> each[2] >> std::ws;
    const auto tokens = ns3::WholeWithin(each[0], 1, MOST_DRAFT);
    const auto acceptance = ns3::RealWithin(each[1], 0, 1);
    const auto share = ns3::RealWithin(each[2], 0, 1);
    if (!tokens || !acceptance || !share || !words.eof())
    {
        return std::nullopt;
    }
    return Speculation{static_cast<uint32_t>(*tokens), *acceptance, *share};
}

/// @return an instance and the time at which it fails
std::optional<InstanceFailure>
ParseFailure(std::string_view text)
{
    std::istringstream words{std::string(text)};
    std::array<std::string, 2> each;
    words >> each[0] >> each[1] >> std::ws;
    constexpr double MOST_SECONDS = 1e6;
    constexpr double PS_PER_SECOND = 1e12;
    const auto instance = ns3::WholeWithin(each[0], 0, UINT32_MAX);
    const auto seconds = ns3::RealWithin(each[1], 0, MOST_SECONDS);
    if (!instance || !seconds || !words.eof())
    {
        return std::nullopt;
    }
    return InstanceFailure{static_cast<uint32_t>(*instance),
                           static_cast<TimePs>(std::llround(*seconds * PS_PER_SECOND))};
}

/// @return what the number of instances follows, and the target of each instance
std::optional<std::pair<AutoscaleConfig::Metric, double>>
ParseAutoscale(std::string_view text)
{
    using enum AutoscaleConfig::Metric;
    const std::size_t blank = text.find(' ');
    const std::string_view name = text.substr(0, blank);
    const auto metric = name == "concurrency" ? Concurrency
                        : name == "queue"     ? Queue
                        : name == "kv_use"    ? KvUse
                                              : None;
    const auto target = blank == std::string_view::npos
                            ? std::nullopt
                            : ns3::RealWithin(text.substr(blank + 1), LEAST_REAL, MOST_REAL);
    return metric == None || !target ? std::nullopt : std::optional(std::pair(metric, *target));
}

/// Reads one INFERENCE file. Keys of instances belong to the pool that the last line `instances`
/// has opened, or, before the first, to the defaults of all pools.
class ServingReader
{
  public:
    explicit ServingReader(ns3::InputLines& lines)
        : m_lines(lines),
          m_values(lines),
          m_file(lines.Name(), FileRows())
    {
        m_config.file = lines.Name();
        m_config.pools.reserve(3); // rows point into it
        m_pools.emplace_back(lines.Name(), PoolRows(m_defaults));
    }

    ServingConfig Read()
    {
        if (!m_lines.Next() || m_lines.Fields()[0] != "INFERENCE")
        {
            m_lines.Fail("the file does not begin with INFERENCE", "INFERENCE");
        }
        while (m_lines.Next())
        {
            ReadKey();
        }
        for (auto& pool : m_config.pools)
        {
            pool.layers = m_config.layers;
        }
        if (!m_file.IsGiven("decode_router"))
        {
            m_config.decodeRouter.name = m_config.prefillRouter.name;
        }
        m_config.decodeRouter.keys = m_config.prefillRouter.keys;
        CheckServingPools(m_config);
        m_file.RefuseIdle();
        std::ranges::for_each(m_pools, &ns3::Rows::RefuseIdle);
        CompleteClasses();
        MakeRequests();
        RefuseLongRequests(m_config);
        return std::move(m_config);
    }

    /// @return the file's keys and those of instances, as Rows::ToCsv() has them
    std::string Describe() const
    {
        return m_file.ToCsv() + m_pools.front().ToCsv();
    }

  private:
    static ns3::RowValue Nanoseconds(TimePs& target)
    {
        return ns3::Scaled(target, PS_PER_NS, 0, "nanoseconds");
    }

    std::vector<ns3::Row> FileRows()
    {
        const auto limit = [](std::optional<TimePs>& target) {
            return ns3::Scaled(target, PS_PER_MS, 1, "milliseconds above 0");
        };
        const auto unmoved = [this] {
            return m_config.IsDisaggregated() ? "" : "without instances decode";
        };
        const auto withoutPool = [this] {
            return m_config.remoteCache.ranks.empty() ? "without remote_cache" : "";
        };
        ServingConfig& config = m_config;
        DrawnRequests& drawn = m_drawn;
        const auto count = [](DrawnCount& target) {
            return ns3::Parsed(target, DrawnCount::Parse, DrawnCount::EXPECTED);
        };
        const auto unpaced = [this] { return IsPaced() ? "" : "without a finite rate"; };
        const auto aloneInTurns = [this] { return m_drawn.turns.IsGiven() ? "" : "without turns"; };
        std::vector<ns3::Row> rows = {
            {"requests",
             ns3::Whole(drawn.count, 1, MOST_REQUESTS),
             "how many; of a trace, from its beginning"},
            {"rate",
             RealOrInfinite(drawn.perSecond, LEAST_REAL),
             "arrivals per second of a Poisson process; ``inf``: all at once, which is the default "
             "with ``max_concurrency``. With ``turns``, sessions arrive"},
            {"max_concurrency",
             ns3::Whole(config.maxConcurrency, 1, UINT32_MAX),
             "closed loop: at most so many requests are under way; others wait until one has "
             "ended, and arrive then. A session counts as one from its first request to its last "
             "(no limit)"},
            {"burstiness",
             RealOrInfinite(drawn.burstiness, LEAST_BURSTINESS, "1"),
             "gaps between arrivals are gamma distributed with this shape: 1 is a Poisson process, "
             "less is more uneven, ``inf`` has equal gaps. The coefficient of variation is "
             "1 / sqrt(burstiness)",
             false,
             unpaced},
            {"burst",
             ns3::Whole(drawn.burst, 1, MOST_REQUESTS),
             "requests (or sessions) that arrive together; ``rate`` counts each of them",
             false,
             unpaced},
            {"seed",
             ns3::Whole(drawn.seed, 0, UINT64_MAX / 2),
             "seed of what is drawn",
             false,
             [this] { return m_trace.empty() ? "" : "without rate"; }},
            {"prompt_tokens",
             count(drawn.prompt),
             "of each request; with ``turns``, of the first one of a session"},
            {"output_tokens", count(drawn.output), "of each request"},
            {"turns",
             count(drawn.turns),
             "requests of a session: each has the prompt and the output of the one before at the "
             "beginning of its prompt, and comes when that has been answered"},
            {"turn_tokens",
             count(drawn.turnTokens),
             "that each further turn adds to the conversation, such as the result of a tool (as "
             "``prompt_tokens``)",
             false,
             aloneInTurns},
            {"think_ms",
             count(drawn.thinkMs),
             "milliseconds from an answer to the user's next request (0)",
             false,
             [this] {
                 return m_drawn.turns.IsGiven() || m_config.maxConcurrency != UINT64_MAX
                            ? ""
                            : "without turns or max_concurrency";
             }},
            {"trace",
             ns3::Text(m_trace, "a file"),
             "instead of requests that are drawn: a file of requests (CSV, or Mooncake's JSON "
             "lines). Requests with 0 tokens of prompt or output, such as calls that failed, are "
             "left out; a warning and ``requests_left_out`` of ``run.json`` count them"},
            {"time_scale",
             ns3::Real(m_timeScale, LEAST_REAL, MOST_REAL),
             "factor of the trace's times",
             false,
             [this] { return m_trace.empty() ? "without trace" : ""; }},
            {"shared_prefix_tokens",
             ns3::Whole(drawn.sharedTokens, 1, MOST_TOKENS),
             "with ``prompt_tokens``: each prompt begins with a shared text of so many tokens"},
            {"shared_prefixes",
             ns3::Whole(drawn.sharedPrefixes, 1, UINT32_MAX),
             "number of shared texts, all equally likely",
             false,
             [this] { return m_drawn.sharedTokens ? "" : "without shared_prefix_tokens"; }},
            {"ttft_limit_ms",
             limit(config.limits.firstToken),
             "a request counts as within limits if its first token takes no longer; without "
             "limits, no share and no goodput is given"},
            {"tpot_limit_ms", limit(config.limits.perToken), "the same of each further token"},
            {"e2e_limit_ms", limit(config.limits.endToEnd), "the same of the whole request"},
            {"request_class",
             ns3::RowValue{"NAME PROPERTY VALUE...",
                           [this](std::string_view) {
                               ReadClass();
                               return true;
                           }},
             "a class of requests, such as chats, and what holds for it: ``share:`` of the "
             "requests that are drawn, relative to the other classes' (a trace names the class of "
             "each request in its column ``class``); ``ttft_limit_ms:``, ``tpot_limit_ms:`` and "
             "``e2e_limit_ms:`` in place of the limits above; ``priority:`` in place of the "
             "trace's; ``max_running:``, requests that instances have at a time, while others wait "
             "for one of them to end; ``max_queued:``, as the key below",
             true},
            {"max_queued",
             ns3::Whole(config.admission.maxQueued, 0, UINT32_MAX),
             "requests that wait for their first step; one that arrives while so many wait is "
             "refused, so 0 refuses all (no limit)"},
            {"max_predicted_ttft_ms",
             limit(config.admission.predictedFirstToken),
             "a request is refused if its first token is predicted to take longer: the time of "
             "the front end, and of full steps of its prompt and those before it at the instance "
             "that has it soonest. Messages count as far as steps of the instance have taken "
             "longer than their computation (no limit)"},
            {"max_wait_ms",
             limit(config.admission.wait),
             "a request that has waited so long for its first step is dropped (no limit)"},
            {"trace_model",
             ns3::Text(m_columns.model, "the name of a model"),
             "the requests of the trace with this name in their column ``model`` (or "
             "BurstGPT's ``Model``); time begins with the first request of any model",
             false,
             [this] { return m_trace.empty() ? "without trace" : ""; }},
            {"frontend_ns",
             Nanoseconds(config.frontEndWork),
             "time of a server's CPU for each request before its instance has it, such as for "
             "templates and tokens. Requests at hand take turns, so those of a burst get through "
             "together; each instance has a server"},
            {"frontend_latency_ns",
             Nanoseconds(config.frontEndLatency),
             "time of each request beside that, which keeps no CPU busy"},
            {"max_model_len",
             ns3::Whole(config.maxModelLen, 2, 2 * MOST_TOKENS),
             "most tokens of a request, prompt and output together (no limit); longer requests are "
             "refused, and so are those that the blocks of a replica cannot hold"},
            {"all_reduce",
             ns3::Text(config.allReduce, "the name of an inference engine"),
             "inference engine whose AllReduce within a server takes the place of NCCL's, unless "
             "``AS_ENGINE_ALLREDUCE`` names one; a warning says where it is not known on the GPUs"},
            {"layers", ns3::Whole(config.layers, 1, MOST_LAYERS), "of the model"},
            {"kv_heads", ns3::Whole(config.kvHeads, 1, MOST_LAYERS), "of the model"},
            {"kv_bytes",
             ns3::Whole(config.kvBytes, 1, UINT32_MAX),
             "keys and values of a token, a layer and a head"},
            {"kv_transfer",
             ns3::Word(config.layerByLayer, {{"layers", true}, {"whole", false}}),
             "whether a cache moves layer by layer or as a whole",
             false,
             unmoved},
            {"kv_layers_per_message",
             ns3::Whole(config.layersPerMessage, 1, MOST_LAYERS),
             "layers that leave together, of caches and of blocks of a ``remote_cache``",
             false,
             [this, unmoved] {
                 return !m_config.remoteCache.ranks.empty() ? ""
                        : m_config.layerByLayer             ? unmoved()
                                                            : "without kv_transfer layers";
             }},
            {"remote_cache",
             ns3::Parsed(config.remoteCache.ranks, ParseRankList, "a list such as 0,2,4-7"),
             "ranks that hold a pool of blocks for all instances (Mooncake's store, LMCache), and "
             "serve nothing else; blocks cross the network as messages of their NICs. Needs "
             "``remote_cache_blocks``"},
            {"remote_cache_blocks",
             ns3::Whole(config.remoteCache.blocks, 1, uint64_t{1} << 40),
             "blocks of the pool",
             false,
             withoutPool},
            {"remote_cache_latency_ns",
             Nanoseconds(config.remoteCache.latency),
             "time of a look-up in the pool, before its holders send",
             false,
             withoutPool},
            {"weights_store",
             ns3::Parsed(config.weightsStore, ParseRankList, "a list such as 0,2,4-7"),
             "ranks that send weights to instances that start, by turns; they serve nothing. Needs "
             "``weights_bytes``"},
            {"fail_instance",
             ns3::RowValue{"INSTANCE SECONDS",
                           [&config](std::string_view text) {
                               const auto failure = ParseFailure(text);
                               config.failures.push_back(failure.value_or(InstanceFailure{}));
                               return failure.has_value();
                           }},
             "an instance fails at that time, for good. Its requests keep the tokens that they "
             "have, and go to other instances, which compute their caches again. Colocated "
             "instances alone; a line for each",
             true},
            {"report_interval_ms",
             ns3::Scaled(config.reportInterval, PS_PER_MS, 0, "milliseconds"),
             "how often replicas report their load and free blocks to routers, which know nothing "
             "newer. Blocks in caches are known at once. 0: routers know the present state"},
            {"gpu_hour",
             ns3::Real(config.gpuHour, LEAST_REAL, MOST_REAL),
             "price of a GPU for an hour, for the cost of a million tokens"},
            {"gpu_watts",
             ns3::Real(config.gpuWatts, LEAST_REAL, MOST_REAL),
             "watts of a GPU with its part of the rest, for the energy of a million tokens"},
            {"first_token",
             ns3::Word(config.firstTokenAtDecode, {{"prefill", false}, {"decode", true}}),
             "of separate prefill and decode, the side that answers with the first token. "
             "``decode``: once it has the cache, the decoding instance computes the last token of "
             "the prompt again and makes the first token in its first step; the one that the "
             "prefilling instance made is dropped. The time to the first token has the transfer in "
             "it, as users of vLLM, SGLang and Dynamo see it. ``prefill``: the prefilling instance "
             "answers with it before the transfer, as TensorRT-LLM can",
             false,
             unmoved},
        };
        AddPolicy<RequestRouter>(rows,
                                 "router",
                                 "chooses the instance of a request",
                                 config.prefillRouter,
                                 [this](const std::string& name) {
                                     return m_config.prefillRouter.name == name ||
                                            m_config.decodeRouter.name == name;
                                 });
        rows.push_back({"decode_router",
                        PolicyName<RequestRouter>(config.decodeRouter),
                        "chooses the instance of a cache that moves, if not as ``router`` does",
                        false,
                        unmoved});
        rows.push_back(
            {"instances",
             {"ROLE RANKS SIZES",
              [this](std::string_view) {
                  ReadInstances();
                  return true;
              }},
             "``colocated``, ``prefill`` or ``decode``; ranks such as ``0-7``; then ``tp:`` (or "
             "``model_parallel_NPU_group:``), ``dp:``, ``ep:`` and ``pp:`` with their sizes (1). "
             "The ranks are cut into instances of TP x DP x PP: DP replicas of the attention "
             "layers share experts, and groups of EP of their ranks exchange tokens. If only one "
             "of ``dp:`` and ``ep:`` is given, both have it. The keys below belong to the "
             "instances of the last such line before them, or, before the first, to all",
             true});
        return rows;
    }

    std::vector<ns3::Row> PoolRows(InstancePool& pool)
    {
        const auto tokens = [](uint32_t& target) { return ns3::Whole(target, 1, MOST_TOKENS); };
        const auto line = [](const char* format, const std::function<void()>& read) {
            return ns3::RowValue{format, [read](std::string_view) {
                                     read();
                                     return true;
                                 }};
        };
        const auto decodes = [&pool] {
            return pool.role == InstanceRole::Decode ? "with instances decode" : "";
        };
        const auto unscaled = [&pool] {
            return pool.autoscale.IsGiven() ? "" : "without autoscale";
        };
        const auto without = [](const LocalTierConfig& tier, const char* why) {
            return [&tier, why] { return tier.blocks > 0 ? "" : why; };
        };
        std::vector<ns3::Row> rows = {
            {"num_gpu_blocks",
             ns3::Whole(pool.blocks, 1, UINT32_MAX - 1),
             "blocks in the cache of a replica (no limit)"},
            {"block_size", tokens(pool.blockTokens), "tokens in a block"},
            {"window",
             tokens(pool.window),
             "tokens that a token attends to in layers with a sliding window. Such layers keep the "
             "keys and values of a window only; their rows are ``attention_window``. A block then "
             "has the tokens of as many layers as divide layers with and without a window. They "
             "need ``enable_prefix_caching 0``, ``preemption_mode recompute`` and colocated "
             "instances"},
            {"window_layers",
             ns3::Whole(pool.windowLayers, 1, MOST_LAYERS),
             "layers with a window"},
            {"max_num_seqs",
             ns3::Whole(pool.maxSequences, 1, UINT32_MAX),
             "sequences that run at a time"},
            {"max_num_batched_tokens", tokens(pool.maxBatchTokens), "that a step processes"},
            {"enable_chunked_prefill",
             ns3::Flag(pool.chunkedPrefill),
             "whether a step may take a part of a prompt"},
            {"enable_mixed_batches",
             ns3::Flag(pool.mixedBatches),
             "whether a step with whole prompts decodes, too. Steps with parts of prompts do"},
            {"enable_prefix_caching",
             ns3::Flag(pool.prefixCaching),
             "whether blocks of equal prompts are shared"},
            {"host_cache_blocks",
             ns3::Whole(pool.hostCache.blocks, 1, MOST_TIER_BLOCKS),
             "blocks that the host's memory keeps for a replica, besides the GPUs' (none)",
             false,
             decodes},
            {"host_cache_gbps",
             ns3::Real(pool.hostCache.gbps, LEAST_REAL, MOST_REAL),
             "GB/s between a GPU and its host's memory, in each direction",
             false,
             without(pool.hostCache, "without host_cache_blocks")},
            {"host_cache_latency_ns",
             Nanoseconds(pool.hostCache.latency),
             "time of each transfer besides its bytes",
             false,
             without(pool.hostCache, "without host_cache_blocks")},
            {"nvme_cache_blocks",
             ns3::Whole(pool.nvmeCache.blocks, 1, MOST_TIER_BLOCKS),
             "blocks that the host's NVMe drives keep for a replica (none)",
             false,
             decodes},
            {"nvme_cache_gbps",
             ns3::Real(pool.nvmeCache.gbps, LEAST_REAL, MOST_REAL),
             "GB/s between a GPU and its drives, in each direction",
             false,
             without(pool.nvmeCache, "without nvme_cache_blocks")},
            {"nvme_cache_latency_ns",
             Nanoseconds(pool.nvmeCache.latency),
             "time of each transfer besides its bytes",
             false,
             without(pool.nvmeCache, "without nvme_cache_blocks")},
            {"cache_load",
             ns3::Word(pool.loadsByLayer, {{"layers", true}, {"whole", false}}),
             "how blocks of slower memories come to the GPUs. ``layers``: the prompt's first step "
             "begins at once, and each layer waits for its blocks. ``whole``: the prompt waits for "
             "all of its blocks, and other sequences go on",
             false,
             [this] { return m_config.HasTiers() ? "" : "without a cache outside the GPUs"; }},
            {"autoscale",
             ns3::RowValue{"concurrency, queue or kv_use, and a number above 0",
                           [&pool](std::string_view text) {
                               const auto read = ParseAutoscale(text);
                               std::tie(pool.autoscale.metric, pool.autoscale.target) =
                                   read.value_or(std::pair{AutoscaleConfig::Metric::None, 0.0});
                               return read.has_value();
                           }},
             "the number of instances follows the load, as Kubernetes' HorizontalPodAutoscaler has "
             "it: of n instances, ceil(n x mean / target) are wanted, and n while mean / target is "
             "within 0.9 to 1.1. ``concurrency``: requests of an instance; ``queue``: those of "
             "them that wait; ``kv_use``: share of its blocks in use. Colocated instances alone "
             "(all instances serve all the time)"},
            {"min_instances",
             ns3::Whole(pool.autoscale.least, 1, UINT32_MAX),
             "instances that serve from the beginning, and never stop",
             false,
             unscaled},
            {"autoscale_interval_s",
             ns3::Scaled(pool.autoscale.interval, AutoscaleConfig::SECOND, 1, "seconds above 0"),
             "time between decisions",
             false,
             unscaled},
            {"scale_down_window_s",
             ns3::Scaled(pool.autoscale.window, AutoscaleConfig::SECOND, 0, "seconds"),
             "as many instances stay as were wanted at some time in this window",
             false,
             unscaled},
            {"startup_s",
             ns3::Scaled(pool.autoscale.startup, AutoscaleConfig::SECOND, 0, "seconds"),
             "time of an instance from its start, or from the arrival of its weights, to its first "
             "request",
             false,
             unscaled},
            {"weights_bytes",
             ns3::Whole(pool.autoscale.weightBytes, 1, uint64_t{1} << 50),
             "that each rank of an instance that starts gets from the ``weights_store`` (0)",
             false,
             unscaled},
            {"step_overhead_ns", Nanoseconds(pool.stepOverhead), "time before each step"},
            {"launch_ns",
             Nanoseconds(pool.launch),
             "time of the CPU to launch a kernel. Each row is a kernel; a step takes at least as "
             "long as its launches"},
            {"cudagraph_capture_sizes",
             ns3::Parsed(pool.captureSizes, ParseAscending, "sizes in ascending order"),
             "numbers of decoding sequences (none). A step that only decodes takes the next larger "
             "size of the fullest replica: every replica computes as many tokens, and nothing else "
             "is launched"},
            {"speculative_decoding",
             ns3::Parsed(pool.speculation,
                         ParseSpeculation,
                         "tokens of a draft from 1 to 64, their acceptance from 0 to 1 and the "
                         "draft's share of the layers' time from 0 to 1"),
             "a draft proposes N tokens for each decoding sequence, and a step verifies them. A "
             "token is accepted with probability A if those before it are, so that a step makes "
             "(1 - A^(N + 1)) / (1 - A) tokens on average: after k steps, a sequence has the whole "
             "part of k times as many. Each token of the draft takes the share SHARE of the time "
             "of all layers for one token a sequence, and the time of the rows after them (none)"},
            {"pp_comm",
             ns3::Whole(pool.pipelineBytesPerToken, 1, UINT32_MAX),
             "bytes per token that a pipeline stage sends to the next"},
            {"gpu",
             line("PROPERTY VALUE...", [this, &pool] { pool.gpu = ReadGpuRoofline(m_values); }),
             "``tflops:``, ``memory_gbps:``, ``sms:``, and the share of the peaks that kernels "
             "reach, ``matmul:``, ``attention:`` and ``stream:`` (1); ``fp8_tflops:`` and "
             "``fp8_matmul:``, ``fp4_tflops:`` and ``fp4_matmul:``, the same for products of 8-bit "
             "and 4-bit floats"},
            {"row",
             line("NAME LAYERS KIND FIGURES... COLLECTIVE BYTES",
                  [this, &pool] { pool.rows.push_back(ReadOperatorRow(m_values)); }),
             "an operator of each rank, in order, and the collective after it, with its bytes per "
             "token. LAYERS: ``all``, a range such as ``3-60``, ``first`` (before the layers) or "
             "``last`` (after them, for sequences that get a token). COLLECTIVE: as in SimAI's "
             "text, with ``_TP`` or ``_EP``, or ``NONE``; in a layer, every second ``ALLTOALL_EP`` "
             "returns what the one before it sent out",
             true},
            {"times",
             line("AXIS COORDINATE NS...", [this, &pool] { ReadTimes(pool); }),
             "measured times of the row before, in place of its roofline: ``tokens TOKENS NS "
             "TOKENS NS...``. Of attention, lines ``prompts TOKENS ATTENDED NS ATTENDED NS...`` "
             "(new tokens in prompts, mean number that each attends to) and ``decoding SEQUENCES "
             "CACHED NS CACHED NS...`` (decoding sequences, mean tokens in their caches), in "
             "ascending order. Lines ``mixed`` are like ``decoding``, of steps that have prompts, "
             "where one kernel attends for both",
             true},
        };
        const auto isChosen = [this, &pool](PolicyChoice InstancePool::*choice) {
            return [this, &pool, choice](const std::string& name) {
                return std::ranges::any_of(m_config.pools, [&](const InstancePool& each) {
                    return (&pool == &each || &pool == &m_defaults) && (each.*choice).name == name;
                });
            };
        };
        AddPolicy<QueueOrder>(rows,
                              "scheduling_policy",
                              "chooses the sequence that begins next",
                              pool.order,
                              isChosen(&InstancePool::order));
        AddPolicy<Preemption>(rows,
                              "preemption_mode",
                              "makes room in the cache where a sequence needs a block",
                              pool.preemption,
                              isChosen(&InstancePool::preemption));
        AddPolicy<CapacityPolicy>(rows,
                                  "capacity_scheduler_policy",
                                  "decides when a sequence begins",
                                  pool.capacity,
                                  isChosen(&InstancePool::capacity));
        return rows;
    }

    void ReadKey()
    {
        const std::string_view key = m_lines.Fields()[0];
        ns3::Rows& pool = m_pools.back();
        ns3::Rows& rows = pool.Has(key) ? pool : m_file;
        if (!rows.Has(key))
        {
            auto names = m_file.GetNames();
            std::ranges::copy(pool.GetNames(), std::back_inserter(names));
            ns3::RefuseUnknownKey(m_lines.Name(), m_lines.Line(), key, names);
        }
        rows.Read(key, m_lines.RestFrom(1), m_lines.Line());
    }

    void ReadTimes(InstancePool& pool) const
    {
        if (pool.rows.empty())
        {
            m_lines.Fail("no row comes before these times", "times after the row that they are of");
        }
        ReadOperatorTimes(m_values, pool.rows.back());
    }

    void ReadClass()
    {
        constexpr double MOST_SHARE = 1e9;
        const auto limit = [](std::optional<TimePs>& target) {
            return ns3::Scaled(target, PS_PER_MS, 1, "milliseconds above 0");
        };
        const auto& fields = m_lines.Fields();
        if (fields.size() < 2)
        {
            m_lines.Fail("the class has no name", "request_class NAME share: 1");
        }
        RequestClass its;
        its.name = fields[1];
        uint64_t priority = 0;
        ns3::Rows rows(m_lines.Name(),
                       {{"share:", ns3::Real(its.share, LEAST_REAL, MOST_SHARE), ""},
                        {"priority:", ns3::Whole(priority, 0, UINT32_MAX), ""},
                        {"ttft_limit_ms:", limit(its.limits.firstToken), ""},
                        {"tpot_limit_ms:", limit(its.limits.perToken), ""},
                        {"e2e_limit_ms:", limit(its.limits.endToEnd), ""},
                        {"max_running:", ns3::Whole(its.maxRunning, 1, UINT32_MAX), ""},
                        {"max_queued:", ns3::Whole(its.maxQueued, 0, UINT32_MAX), ""}});
        rows.ReadPairs(std::span(fields).subspan(2), m_lines.Line());
        if (rows.IsGiven("priority:"))
        {
            its.priority = static_cast<uint32_t>(priority);
        }
        if (its.name.find_first_of(",\"") != std::string::npos ||
            std::ranges::find(m_config.classes, its.name, &RequestClass::name) !=
                m_config.classes.end())
        {
            m_lines.Fail("'" + its.name + "' is not a valid name of a class",
                         "each class once, without commas and quotes");
        }
        m_config.classes.push_back(std::move(its));
    }

    /// Classes have the file's limits where they have none. Without classes, there is one.
    void CompleteClasses()
    {
        for (const RequestClass& each : m_config.classes)
        {
            m_columns.classes.push_back(each.name);
            if (m_trace.empty() != (each.share > 0))
            {
                throw ns3::InputError(m_config.file,
                                      m_file.LineOf("request_class"),
                                      "class " + each.name +
                                          (m_trace.empty() ? " has no share of the requests"
                                                           : " has a share, and the trace says "
                                                             "which requests are its"),
                                      m_trace.empty() ? "share: above 0" : "no share:");
            }
            if (m_trace.empty())
            {
                m_drawn.classShares.push_back(each.share);
            }
        }
        if (m_config.classes.empty())
        {
            m_config.classes.emplace_back();
        }
        for (RequestClass& each : m_config.classes)
        {
            const auto inherit = [&](std::optional<TimePs> ServingLimits::*limit) {
                auto& own = each.limits.*limit;
                own = own ? own : m_config.limits.*limit;
            };
            inherit(&ServingLimits::firstToken);
            inherit(&ServingLimits::perToken);
            inherit(&ServingLimits::endToEnd);
        }
    }

    void ReadInstances()
    {
        const auto& fields = m_lines.Fields();
        if (fields.size() < 3)
        {
            m_lines.Fail("'instances' has " + std::to_string(fields.size() - 1) + " values",
                         "instances ROLE RANKS tp: 4 dp: 1 ep: 1 pp: 1");
        }
        InstancePool pool = m_defaults;
        pool.line = m_lines.Line();
        ns3::Rows rows(
            m_lines.Name(),
            {{"role",
              ns3::Word(pool.role,
                        {{"colocated", InstanceRole::Colocated},
                         {"prefill", InstanceRole::Prefill},
                         {"decode", InstanceRole::Decode}}),
              ""},
             {"ranks", ns3::Parsed(pool.ranks, ParseRankList, "a list such as 0,2,4-7"), ""},
             {"tp:,model_parallel_NPU_group:", ns3::Whole(pool.tp, 1, 4096), ""},
             {"pp:", ns3::Whole(pool.pp, 1, 4096), ""},
             {"dp:", ns3::Whole(pool.dp, 1, 4096), ""},
             {"ep:", ns3::Whole(pool.ep, 1, 4096), ""}});
        rows.Read("role", fields[1], pool.line);
        rows.Read("ranks", fields[2], pool.line);
        rows.ReadPairs(std::span(fields).subspan(3), pool.line);
        pool.dp = rows.IsGiven("dp:") ? pool.dp : pool.ep;
        pool.ep = rows.IsGiven("ep:") ? pool.ep : pool.dp;
        if (m_config.Find(pool.role))
        {
            m_lines.Fail("there are " + std::string(fields[1]) + " instances already",
                         "each role once");
        }
        const uint64_t perInstance = pool.RanksPerInstance();
        if (pool.ranks.size() % perInstance != 0)
        {
            m_lines.Fail(std::to_string(pool.ranks.size()) + " ranks are not whole instances of " +
                             std::to_string(perInstance),
                         "a multiple of TP x DP x PP");
        }
        if (pool.tp * pool.dp % pool.ep != 0)
        {
            m_lines.Fail("EP " + std::to_string(pool.ep) +
                             " does not divide TP x DP = " + std::to_string(pool.tp * pool.dp),
                         "a divisor");
        }
        InstancePool& added = m_config.pools.emplace_back(std::move(pool));
        m_pools.emplace_back(m_lines.Name(), PoolRows(added));
    }

    /// @return whether requests arrive one after another
    bool IsPaced() const
    {
        return m_drawn.perSecond > 0 && std::isfinite(m_drawn.perSecond);
    }

    void MakeRequests()
    {
        m_trace.empty() ? Draw() : ReadTrace();
        for (ServingRequest& request : m_config.requests)
        {
            const RequestClass& its = m_config.classes[request.requestClass];
            request.priority = its.priority.value_or(request.priority);
        }
    }

    void Draw()
    {
        if (m_drawn.perSecond == 0 && m_config.maxConcurrency != UINT64_MAX)
        {
            m_drawn.perSecond = std::numeric_limits<double>::infinity();
        }
        if (m_drawn.count == 0 || m_drawn.perSecond == 0 || !m_drawn.prompt.IsGiven() ||
            !m_drawn.output.IsGiven())
        {
            throw ns3::InputError(m_config.file,
                                  0,
                                  "the file does not say which requests come",
                                  "trace, or requests, rate or max_concurrency, prompt_tokens and "
                                  "output_tokens");
        }
        m_config.requests = DrawRequests(m_drawn);
        const auto longest =
            std::ranges::max(m_config.requests, {}, &ServingRequest::promptTokens).promptTokens;
        if (longest > MOST_TOKENS)
        {
            throw ns3::InputError(m_config.file,
                                  m_file.LineOf("turns"),
                                  "a session has prompts of more than " +
                                      std::to_string(MOST_TOKENS) + " tokens",
                                  "fewer turns, or fewer tokens in each");
        }
    }

    void ReadTrace()
    {
        if (m_drawn.perSecond > 0 || m_drawn.prompt.IsGiven() || m_drawn.output.IsGiven() ||
            m_drawn.sharedTokens > 0 || m_drawn.turns.IsGiven() || m_drawn.thinkMs.IsGiven())
        {
            throw ns3::InputError(m_config.file,
                                  m_file.LineOf("trace"),
                                  "a trace and requests that are drawn exclude each other",
                                  "trace, or rate, prompt_tokens, output_tokens, "
                                  "shared_prefix_tokens, turns and think_ms");
        }
        const auto beside = std::filesystem::path(m_config.file).parent_path() / m_trace;
        const std::string path = ns3::InputExists(beside.string()) ? beside.string() : m_trace;
        const auto text = ns3::OpenInputFile(path, "a trace of requests");
        RequestTrace trace = ReadRequestTrace(*text,
                                              path,
                                              m_drawn.count > 0 ? m_drawn.count : MOST_REQUESTS,
                                              m_timeScale,
                                              m_columns);
        m_config.leftOut = trace.CountLeftOut();
        m_config.whyLeftOut = DescribeLeftOut(trace, path);
        m_config.requests = std::move(trace.requests);
    }

    ns3::InputLines& m_lines;
    ServingValues m_values;
    ServingConfig m_config;
    InstancePool m_defaults;
    DrawnRequests m_drawn;
    std::string m_trace;
    TraceColumns m_columns;
    double m_timeScale{1};
    ns3::Rows m_file;
    std::deque<ns3::Rows> m_pools; ///< keys of the defaults, then of each pool
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

std::string
DescribeServingKeys()
{
    std::istringstream none;
    ns3::InputLines lines(none, "");
    return ServingReader(lines).Describe();
}

std::string
DescribeServingPolicies()
{
    return PolicyKind<RequestRouter>::ToCsv("router") +
           PolicyKind<QueueOrder>::ToCsv("scheduling_policy") +
           PolicyKind<Preemption>::ToCsv("preemption_mode") +
           PolicyKind<CapacityPolicy>::ToCsv("capacity_scheduler_policy");
}

} // namespace AstraSim
