/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mooncake-trace.h"

#include "astra-frontend/model/system/json-file.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_TRACE_MS = 1e9;
constexpr double MOST_MS = 100.0 * 24 * 3600 * 1000; // the clock holds 106 days
constexpr uint32_t PART_TOKENS = 512;
constexpr uint64_t MOST_TRACE_TOKENS = 1U << 24;
constexpr const char* EXPECTED =
    "{\"timestamp\": MS, \"input_length\": N, \"output_length\": N, \"hash_ids\": [N, ...]}";

/// Reads one line.
class LineReader
{
  public:
    LineReader(const std::string& text, const std::string& name, std::size_t line)
        : m_name(name),
          m_line(line)
    {
        try
        {
            m_json = ParseJsonObject(text, name, EXPECTED);
        }
        catch (const ns3::InputError&)
        {
            Fail("this line is not a JSON object with each key once");
        }
    }

    ServingRequest Read() const
    {
        ServingRequest request;
        const auto& timestamp = Value("timestamp");
        const double milliseconds = timestamp.is_number() ? timestamp.get<double>() : -1;
        if (!(milliseconds >= 0 && milliseconds <= MOST_MS))
        {
            Fail("timestamp is not valid");
        }
        request.arrival = ns3::RoundToPs(milliseconds * PS_PER_TRACE_MS);
        request.promptTokens = Count("input_length");
        request.outputTokens = Count("output_length");
        if (request.promptTokens > 0 && m_json.contains("hash_ids"))
        {
            request.prefixTokens = PART_TOKENS;
            request.prefix = Contents(request.promptTokens);
        }
        return request;
    }

  private:
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
        if (!ids.is_array() || ids.size() > (prompt + PART_TOKENS - 1) / PART_TOKENS)
        {
            Fail("hash_ids are not one number for each 512 tokens of the prompt");
        }
        std::vector<uint64_t> contents;
        for (const auto& id : ids)
        {
            if (!id.is_number_unsigned() || id.get<uint64_t>() > MOST_PREFIXES)
            {
                Fail("hash_ids are not whole numbers up to " + std::to_string(MOST_PREFIXES));
            }
            contents.push_back(id.get<uint64_t>());
        }
        return contents;
    }

    const std::string& m_name;
    std::size_t m_line;
    nlohmann::json m_json;
};

} // namespace

RequestTrace
ReadMooncakeTrace(std::istream& text, const std::string& name, uint64_t limit, std::size_t& line)
{
    RequestTrace trace;
    line = 0;
    std::string row;
    while (trace.requests.size() < limit && std::getline(text, row))
    {
        ++line;
        if (row.find_first_not_of(" \t\r") != std::string::npos)
        {
            trace.Add(LineReader(row, name, line).Read());
        }
    }
    return trace;
}

} // namespace AstraSim
