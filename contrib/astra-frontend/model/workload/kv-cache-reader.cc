/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/rank-list.h"
#include "kv-cache-workload.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/input-lines.h"
#include "ns3/units.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace AstraSim
{

namespace
{

constexpr uint64_t MOST_REQUESTS = 10'000'000; // all of them are in memory

/// Reads one file.
class KvCacheReader
{
  public:
    explicit KvCacheReader(ns3::InputLines& lines)
        : m_lines(lines)
    {
        m_config.file = lines.Name();
    }

    KvCacheConfig Read()
    {
        if (!m_lines.Next() || m_lines.Fields()[0] != "KV_CACHE")
        {
            m_lines.Fail("the file does not begin with KV_CACHE", "KV_CACHE");
        }
        while (m_lines.Next())
        {
            ReadKey();
        }
        Require(!m_config.prefill.empty() && !m_config.decode.empty(), "prefill and decode");
        Require(m_config.layers && m_config.heads && m_config.headDimension,
                "layers, kv_heads and head_dim");
        Require(m_config.prefill.size() % m_config.ranksPerInstance == 0 &&
                    m_config.decode.size() % m_config.ranksPerInstance == 0,
                "sets of ranks that ranks_per_instance divides");
        if (m_config.requests.empty())
        {
            Require(m_count > 0 && m_perSecond > 0 && m_tokens > 0,
                    "trace, or requests, rate and prompt_tokens");
            Draw();
        }
        CheckSizes();
        return std::move(m_config);
    }

  private:
    void Require(bool condition, const std::string& what) const
    {
        if (!condition)
        {
            m_lines.Fail("the file does not say enough", what);
        }
    }

    /// Refuse requests that together overflow a counter of bytes.
    void CheckSizes() const
    {
        const double bytesPerToken = 2.0 * static_cast<double>(m_config.layers) *
                                     static_cast<double>(m_config.heads) *
                                     static_cast<double>(m_config.headDimension) *
                                     static_cast<double>(m_config.bytesPerElement);
        double bytes = 0;
        for (const KvRequest& request : m_config.requests)
        {
            bytes += bytesPerToken * static_cast<double>(request.tokens);
        }
        if (bytes >= 0x1p62)
        {
            throw ns3::InputError(
                m_config.file,
                0,
                fmt::format("the caches of all requests have {:.3g} bytes", bytes),
                "less than 2^62 (4 EiB)");
        }
    }

    uint64_t Number() const
    {
        const auto value = ns3::ParseUnsigned(m_lines.Fields()[1]);
        if (!value || *value == 0 || *value > UINT32_MAX)
        {
            m_lines.Fail("'" + std::string(m_lines.Fields()[1]) + "' is not a valid value of " +
                             std::string(m_lines.Fields()[0]),
                         "a whole number above 0");
        }
        return *value;
    }

    void ReadKey()
    {
        const std::string key(m_lines.Fields()[0]);
        if (!m_seen.insert(key).second)
        {
            m_lines.Fail("the key '" + key + "' occurs twice", "each key once");
        }
        if (m_lines.Fields().size() != 2)
        {
            m_lines.Fail("'" + key + "' has " + std::to_string(m_lines.Fields().size() - 1) +
                             " values",
                         "one value");
        }
        const std::string_view value = m_lines.Fields()[1];
        if (key == "prefill" || key == "decode")
        {
            const auto ranks = ParseRankList(value);
            if (!ranks)
            {
                m_lines.Fail("'" + std::string(value) + "' is not a valid list of ranks",
                             "e.g. 0,2,4-7");
            }
            (key == "prefill" ? m_config.prefill : m_config.decode) = *ranks;
            return;
        }
        if (key == "rate")
        {
            const auto rate = ns3::ParseReal(value);
            if (!rate || *rate <= 0)
            {
                m_lines.Fail("'" + std::string(value) + "' is not a valid rate",
                             "requests per second");
            }
            m_perSecond = *rate;
            return;
        }
        if (key == "prefill_ns_per_token")
        {
            const auto time = ns3::ParseScaled(value, 1000);
            if (!time)
            {
                m_lines.Fail("'" + std::string(value) + "' is not a valid time", "nanoseconds");
            }
            m_config.prefillPerToken = *time;
            return;
        }
        if (key == "trace")
        {
            ReadTrace(std::string(value));
            return;
        }
        const std::map<std::string, std::function<void(uint64_t)>> numbers = {
            {"ranks_per_instance",
             [this](uint64_t n) { m_config.ranksPerInstance = static_cast<uint32_t>(n); }},
            {"layers", [this](uint64_t n) { m_config.layers = n; }},
            {"kv_heads", [this](uint64_t n) { m_config.heads = n; }},
            {"head_dim", [this](uint64_t n) { m_config.headDimension = n; }},
            {"bytes_per_element", [this](uint64_t n) { m_config.bytesPerElement = n; }},
            {"requests",
             [this](uint64_t n) {
                 m_count = n;
                 if (n > MOST_REQUESTS)
                 {
                     m_lines.Fail("there are " + std::to_string(n) + " requests",
                                  "at most " + std::to_string(MOST_REQUESTS));
                 }
             }},
            {"prompt_tokens", [this](uint64_t n) { m_tokens = n; }},
            {"seed", [this](uint64_t n) { m_seed = n; }},
        };
        const auto found = numbers.find(key);
        if (found == numbers.end())
        {
            m_lines.Fail("unknown key '" + key + "'",
                         "prefill, decode, ranks_per_instance, layers, kv_heads, head_dim, "
                         "bytes_per_element, prefill_ns_per_token, requests, rate, prompt_tokens, "
                         "seed or trace");
        }
        found->second(Number());
    }

    static KvRequest ParseRequest(ns3::InputLines& lines)
    {
        const auto& fields = lines.Fields();
        if (fields.size() == 2)
        {
            const auto arrival = ns3::ParseScaled(fields[0], ns3::PS_PER_SECOND);
            const auto tokens = ns3::ParseUnsigned(fields[1]);
            if (arrival && tokens && *tokens > 0)
            {
                return {*arrival, *tokens};
            }
        }
        lines.Fail("this line is not a request", "<arrival in seconds> <prompt tokens>");
    }

    void ReadTrace(const std::string& path)
    {
        const auto beside = std::filesystem::path(m_lines.Name()).parent_path() / path;
        ns3::InputLines lines(ns3::InputExists(beside.string()) ? beside.string() : path);
        while (lines.Next())
        {
            m_config.requests.push_back(ParseRequest(lines));
        }
        std::stable_sort(m_config.requests.begin(), m_config.requests.end(), [](auto& a, auto& b) {
            return a.arrival < b.arrival;
        });
    }

    /// Poisson arrivals: exponential gaps.
    void Draw()
    {
        std::mt19937_64 engine(m_seed);
        double seconds = 0;
        for (uint64_t i = 0; i < m_count; ++i)
        {
            const double uniform = (static_cast<double>(engine() >> 11) + 0.5) * 0x1.0p-53;
            seconds -= std::log(uniform) / m_perSecond;
            m_config.requests.push_back(
                {ns3::RoundToPs(seconds * static_cast<double>(ns3::PS_PER_SECOND)), m_tokens});
        }
    }

    ns3::InputLines& m_lines;
    KvCacheConfig m_config;
    std::set<std::string> m_seen; ///< keys
    uint64_t m_count{0};
    uint64_t m_tokens{0};
    uint64_t m_seed{1};
    double m_perSecond{0};
};

} // namespace

KvCacheConfig
ReadKvCacheConfig(const std::string& path)
{
    ns3::InputLines lines(path);
    return KvCacheReader(lines).Read();
}

KvCacheConfig
ReadKvCacheConfig(std::istream& text, const std::string& name)
{
    ns3::InputLines lines(text, name);
    return KvCacheReader(lines).Read();
}

} // namespace AstraSim
