/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-fixture.h"

#include <random>

using namespace AstraSim;

namespace
{

/// @return one of the values
template <typename Value>
Value
OneOf(std::mt19937& random, std::initializer_list<Value> values)
{
    return *(values.begin() + random() % values.size());
}

/// @return a pool of eight ranks from @p first on, of any parallelism
std::string
RandomPool(std::mt19937& random, const std::string& role, int first)
{
    const int tp = OneOf(random, {1, 2, 4});
    const int pp = OneOf(random, {1, 1, 2});
    return "instances " + role + " " + std::to_string(first) + "-" + std::to_string(first + 7) +
           " tp: " + std::to_string(tp) + " pp: " + std::to_string(pp) +
           " ep: " + std::to_string(tp * pp > 4 ? 1 : OneOf(random, {1, 2})) +
           "\nrow a all linear 1000 10 30 1 ALLREDUCE_TP 64\nrow h last linear 10 0 0 0 NONE 0\n";
}

/// @return a small file of any kind: caches with hardly room, few sequences, short steps
std::string
RandomServing(std::mt19937& random)
{
    const int prompt = OneOf(random, {8, 40});
    const int output = OneOf(random, {1, 3, 20});
    const int block = OneOf(random, {1, 4, 16});
    const int needed = (prompt + output) / block + 1;
    const auto key = [](const std::string& name, const auto& value) {
        std::ostringstream line;
        line << name << " " << value << "\n";
        return line.str();
    };
    std::string text =
        key("requests", OneOf(random, {1, 15, 40})) + key("rate", OneOf(random, {1e4, 1e6, 1e12})) +
        key("prompt_tokens uniform 1", prompt) + key("output_tokens uniform 1", output) +
        key("seed", random() % 1000) + key("layers", OneOf(random, {2, 5})) +
        key("kv_heads", OneOf(random, {1, 4, 8})) + "kv_bytes 64\npp_comm 64\n" +
        key("router", OneOf(random, {"round_robin", "least_loaded", "kv_aware"})) +
        key("block_size", block) +
        key("num_gpu_blocks", needed + static_cast<int>(random() % (3 * needed + 1))) +
        key("max_num_seqs", OneOf(random, {1, 3, 50})) +
        key("max_num_batched_tokens", OneOf(random, {7, 16, 100})) +
        key("enable_chunked_prefill", OneOf(random, {0, 1})) +
        key("enable_mixed_batches", OneOf(random, {0, 1})) +
        key("preemption_mode", OneOf(random, {"recompute", "swap"}));
    text += random() % 2 == 0 ? key("shared_prefix_tokens", prompt) : "";
    text += random() % 2 == 0 ? key("max_concurrency", OneOf(random, {1, 3, 20})) : "";
    text += random() % 3 == 0 ? "speculative_decoding 3 0.7 0.1\n" : "";
    // Turns that do not fit are refused.
    text += random() % 3 == 0 ? "turns uniform 1 3\nturn_tokens 5\nthink_ms 1\n" : "";
    if (random() % 4 == 0)
    {
        return text + RandomPool(random, "colocated", 0);
    }
    text += random() % 2 == 0 ? "first_token prefill\n" : "";
    text += random() % 2 == 0 ? "kv_transfer whole\n"
                              : key("kv_layers_per_message", OneOf(random, {1, 2, 9}));
    return text + RandomPool(random, "prefill", 0) + RandomPool(random, "decode", 8);
}

} // namespace

TEST(Serving, EveryRequestIsServedOnceWhateverTheInstances)
{
    for (unsigned seed = 0; seed < 150; ++seed)
    {
        std::mt19937 random(seed);
        const std::string text = RandomServing(random);
        SCOPED_TRACE(text);
        ServingRun run(text, 16, 500'000, 10e9); // that the job ends is expected there
        ASSERT_FALSE(::testing::Test::HasFailure());
        const auto sum = [&run](const std::string& table, const std::string& column) {
            double total = 0;
            const auto& rows = run.tables.at(table);
            for (std::size_t i = 1; i < rows.size(); ++i)
            {
                total += run.Of(table, rows[i].front(), column);
            }
            return total;
        };
        EXPECT_EQ(run.tables.at("requests").size(), run.Of("inference", "requests", "mean") + 1);
        EXPECT_EQ(sum("requests", "output_tokens"), sum("instances", "output_tokens"));
        EXPECT_EQ(sum("requests", "preemptions"), sum("instances", "preemptions"));
        EXPECT_GE(sum("instances", "prompt_tokens") + sum("requests", "cached_tokens"),
                  sum("requests", "prompt_tokens"));
        EXPECT_NEAR(sum("requests", "queue_us") + sum("requests", "prefill_us") +
                        sum("requests", "transfer_us") + sum("requests", "decode_us"),
                    sum("requests", "e2e_us"),
                    1e-3);
    }
}
