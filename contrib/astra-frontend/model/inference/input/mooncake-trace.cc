/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mooncake-trace.h"

#include "astra-frontend/model/system/json-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_TRACE_MS = 1e9;
constexpr double MOST_MS = 100.0 * 24 * 3600 * 1000; // the clock holds 106 days
constexpr double BEFORE_MS = 5.0 * 24 * 3600 * 1000; // that later lines may be earlier
constexpr double MOST_ORIGIN_MS = 1e15;
constexpr uint32_t PART_TOKENS = 512;
constexpr uint32_t BAILIAN_PART_TOKENS = 16;
constexpr double BAILIAN_MS = 1000; ///< of a unit of its timestamps
constexpr uint64_t MOST_TRACE_TOKENS = 1U << 24;
constexpr const char* EXPECTED =
    "{\"timestamp\": MS, \"input_length\": N, \"output_length\": N, \"hash_ids\": [N, ...]}";

/// The last turn of a session so far.
struct LastTurn
{
    uint32_t session; ///< its number
    TimePs arrival;
    uint64_t tokens;                  ///< of the conversation so far
    std::optional<std::size_t> place; ///< among the requests of the trace; nothing: it is left out
};

/// Facts of the lines so far that later lines need.
struct LinesSoFar
{
    std::optional<double> originMs;
    std::unordered_map<std::string, LastTurn> sessions; ///< by their session_id as JSON
    std::unordered_map<uint64_t, uint64_t> large;       ///< numbers that stand for large hash_ids
};

/// Reads one line.
class LineReader
{
  public:
    LineReader(const std::string& text,
               const std::string& name,
               std::size_t line,
               LinesSoFar& before)
        : m_name(name),
          m_line(line),
          m_before(before)
    {
        try
        {
            m_json = ParseJsonObject(text, name, EXPECTED);
        }
        catch (const ns3::InputError&)
        {
            Fail("this line is not a JSON object with each key once");
        }
        m_isBailians = Has("chat_id");
        m_partTokens = m_isBailians ? BAILIAN_PART_TOKENS : PART_TOKENS;
    }

    /// Add the line's request to @p trace.
    void AddTo(RequestTrace& trace) const
    {
        ServingRequest request;
        request.promptTokens = Count("input_length");
        request.outputTokens = Count("output_length");
        if (request.promptTokens > 0 && Has("hash_ids"))
        {
            request.prefixTokens = m_partTokens;
            request.prefix = Contents(request.promptTokens);
        }
        if (Has("priority"))
        {
            request.priority = Count("priority");
        }
        if (Has("session_id"))
        {
            BecomeTurn(request, trace);
            return;
        }
        if (Has("delay"))
        {
            Fail("delay is that of a turn, but there is no session_id");
        }
        request.arrival = Arrival();
        trace.Add(std::move(request));
    }

  private:
    bool Has(const char* key) const
    {
        const auto found = m_json.find(key);
        return found != m_json.end() && !found->is_null();
    }

    TimePs Arrival() const
    {
        const auto& timestamp = Value("timestamp");
        const double unit = m_isBailians ? BAILIAN_MS : 1;
        const double milliseconds = timestamp.is_number() ? unit * timestamp.get<double>() : -1;
        if (milliseconds >= 0 && milliseconds <= MOST_ORIGIN_MS)
        {
            const double origin = milliseconds < MOST_MS ? 0 : std::floor(milliseconds) - BEFORE_MS;
            m_before.originMs = m_before.originMs.value_or(origin);
        }
        const double since = milliseconds - m_before.originMs.value_or(0);
        if (!(milliseconds >= 0 && since >= 0 && since <= MOST_MS))
        {
            Fail("timestamp is not valid");
        }
        return ns3::RoundToPs(since * PS_PER_TRACE_MS);
    }

    /// Add @p request to @p trace as the next turn of the line's session.
    void BecomeTurn(ServingRequest& request, RequestTrace& trace) const
    {
        const auto number = static_cast<uint32_t>(m_before.sessions.size());
        const auto [found, isFirst] =
            m_before.sessions.try_emplace(Value("session_id").dump(), LastTurn{number, 0, 0, {}});
        LastTurn& last = found->second;
        if (!isFirst && Has("delay"))
        {
            const auto& delay = Value("delay");
            if (!delay.is_number() || !(delay.get<double>() >= 0 && delay.get<double>() <= MOST_MS))
            {
                Fail("delay is not valid");
            }
            if (last.place)
            {
                trace.requests[*last.place].think =
                    ns3::RoundToPs(delay.get<double>() * PS_PER_TRACE_MS);
            }
        }
        // A turn with a delay alone waits for the answer to the one before.
        const bool onlyWaits = !isFirst && Has("delay") && !Has("timestamp");
        request.arrival = onlyWaits ? last.arrival : std::max(Arrival(), last.arrival);
        if (request.prefix.empty() && request.promptTokens < last.tokens)
        {
            Fail("input_length is less than the " + std::to_string(last.tokens) +
                 " tokens of the session before it, and is to be the whole prompt");
        }
        request.session = last.session;
        last.arrival = request.arrival;
        last.tokens = uint64_t{request.promptTokens} + request.outputTokens;
        const std::size_t place = trace.requests.size();
        trace.Add(std::move(request));
        last.place = trace.requests.size() > place ? std::optional(place) : std::nullopt;
    }

    [[noreturn]] void Fail(const std::string& what) const
    {
        throw ns3::InputError(m_name, m_line, what, EXPECTED);
    }

    const nlohmann::json& Value(const char* key) const
    {
        const auto found = m_json.find(key);
        if (found == m_json.end())
        {
            Fail(std::string(key) + " is missing");
        }
        return *found;
    }

    uint32_t Count(const char* key) const
    {
        const auto& value = Value(key);
        if (!value.is_number_unsigned() || value.get<uint64_t>() > MOST_TRACE_TOKENS)
        {
            Fail(std::string(key) + " is not a valid number of tokens");
        }
        return value.get<uint32_t>();
    }

    std::vector<uint64_t> Contents(uint32_t prompt) const
    {
        const auto& ids = Value("hash_ids");
        if (!ids.is_array() || ids.size() > (prompt + m_partTokens - 1) / m_partTokens)
        {
            Fail("hash_ids are not one number for each " + std::to_string(m_partTokens) +
                 " tokens of the prompt");
        }
        std::vector<uint64_t> contents;
        for (const auto& id : ids)
        {
            if (!id.is_number_unsigned())
            {
                Fail("hash_ids are not whole numbers up to " + std::to_string(UINT64_MAX));
            }
            contents.push_back(NameOf(id.get<uint64_t>()));
        }
        return contents;
    }

    /// @return the number up to MOST_PREFIXES that stands for a hash of 64 bits; a small one's own
    uint64_t NameOf(uint64_t hash) const
    {
        constexpr uint64_t MOST_SMALL = MOST_PREFIXES / 2;
        return hash <= MOST_SMALL
                   ? hash
                   : m_before.large.try_emplace(hash, MOST_SMALL + 1 + m_before.large.size())
                         .first->second;
    }

    const std::string& m_name;
    std::size_t m_line;
    LinesSoFar& m_before;
    nlohmann::json m_json;
    bool m_isBailians{false};
    uint32_t m_partTokens{PART_TOKENS};
};

} // namespace

RequestTrace
ReadMooncakeTrace(std::istream& text, const std::string& name, uint64_t limit, std::size_t& line)
{
    RequestTrace trace;
    LinesSoFar before;
    line = 0;
    std::string row;
    while (trace.requests.size() < limit && std::getline(text, row))
    {
        ++line;
        if (row.find_first_not_of(" \t\r") != std::string::npos)
        {
            LineReader(row, name, line, before).AddTo(trace);
        }
    }
    return trace;
}

} // namespace AstraSim
