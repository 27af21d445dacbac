/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/rank-list.h"
#include "kv-cache-workload.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/input-lines.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

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
        : m_lines(lines),
          m_rows(lines.Name(), MakeRows())
    {
        m_config.file = lines.Name();
    }

    const ns3::Rows& GetRows() const
    {
        return m_rows;
    }

    KvCacheConfig Read()
    {
        if (!m_lines.Next() || m_lines.Fields()[0] != "KV_CACHE")
        {
            m_lines.Fail("the file does not begin with KV_CACHE", "KV_CACHE");
        }
        while (m_lines.Next())
        {
            m_rows.Read(m_lines.Fields()[0], m_lines.RestFrom(1), m_lines.Line());
        }
        Require(!m_config.prefill.empty() && !m_config.decode.empty(), "prefill and decode");
        Require(m_config.layers && m_config.heads && m_config.headDimension,
                "layers, kv_heads and head_dim");
        Require(m_config.prefill.size() % m_config.ranksPerInstance == 0 &&
                    m_config.decode.size() % m_config.ranksPerInstance == 0,
                "sets of ranks that ranks_per_instance divides");
        m_rows.RefuseIdle();
        if (!m_trace.empty())
        {
            ReadTrace();
        }
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
    std::vector<ns3::Row> MakeRows()
    {
        const auto whole = [](auto& target, uint64_t most = UINT32_MAX) {
            return ns3::Whole(target, 1, most);
        };
        const auto ranks = [](std::vector<uint32_t>& target) {
            return ns3::Parsed(target, ParseRankList, "a list of ranks, such as 0,2,4-7");
        };
        const auto idle = [this] { return m_trace.empty() ? "" : "with trace"; };
        KvCacheConfig& config = m_config;
        return {
            {"prefill", ranks(config.prefill), "ranks that compute prompts"},
            {"decode", ranks(config.decode), "ranks that receive the caches"},
            {"ranks_per_instance", whole(config.ranksPerInstance), "ranks that share a cache"},
            {"layers", whole(config.layers), "of the model"},
            {"kv_heads", whole(config.heads), "of a layer"},
            {"head_dim", whole(config.headDimension), "numbers in a key, and in a value"},
            {"bytes_per_element", whole(config.bytesPerElement), "of keys and values"},
            {"prefill_ns_per_token",
             ns3::Scaled(config.prefillPerToken, 1000, 0, "nanoseconds"),
             "computation before a cache is sent"},
            {"requests", whole(m_count, MOST_REQUESTS), "number of arrivals", false, idle},
            {"rate", ns3::Real(m_perSecond, 1e-9, 1e18), "arrivals per second", false, idle},
            {"prompt_tokens", whole(m_tokens), "of each arrival", false, idle},
            {"seed", whole(m_seed), "of the Poisson arrivals", false, idle},
            {"trace",
             ns3::Text(m_trace, "a file"),
             "instead: arrivals, lines of ``seconds tokens``"},
        };
    }

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

    void ReadTrace()
    {
        const auto beside = std::filesystem::path(m_lines.Name()).parent_path() / m_trace;
        ns3::InputLines lines(ns3::InputExists(beside.string()) ? beside.string() : m_trace);
        while (lines.Next())
        {
            m_config.requests.push_back(ParseRequest(lines));
        }
        std::ranges::stable_sort(m_config.requests,
                                 [](auto& a, auto& b) { return a.arrival < b.arrival; });
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
    std::string m_trace;
    uint64_t m_count{0};
    uint64_t m_tokens{0};
    uint64_t m_seed{1};
    double m_perSecond{0};
    ns3::Rows m_rows; ///< of the above
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

std::string
DescribeKvCacheKeys()
{
    std::istringstream none;
    ns3::InputLines lines(none, "");
    return KvCacheReader(lines).GetRows().ToCsv();
}

} // namespace AstraSim
