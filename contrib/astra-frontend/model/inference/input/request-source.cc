/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-source.h"

#include "mooncake-trace.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <unordered_map>

namespace AstraSim
{

namespace
{

struct ColumnNames
{
    std::string_view arrival;
    std::string_view prompt;
    std::string_view output;
};

constexpr std::array<ColumnNames, 4> KNOWN_TRACES = {{
    {"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
    {"arrived_at", "num_prefill_tokens", "num_decode_tokens"},
    {"Timestamp", "Request tokens", "Response tokens"},
    {"arrival_s", "prompt_tokens", "output_tokens"},
}};
/// Of BurstGPT's traces, without effect here.
constexpr std::array<std::string_view, 4> OTHER_COLUMNS = {"Total tokens",
                                                           "Log Type",
                                                           "Session ID",
                                                           "Elapsed time"};
constexpr std::string_view PREFIX_ID = "prefix_id";
constexpr std::string_view PREFIX_TOKENS = "prefix_tokens";
constexpr std::string_view SESSION_ID = "session_id";
constexpr std::string_view PRIORITY = "priority";
constexpr std::string_view CLASS = "class";
constexpr std::array<std::string_view, 2> MODELS = {"model",
                                                    "Model"}; // the other one is BurstGPT's

std::vector<std::string_view>
Cells(std::string_view line)
{
    std::vector<std::string_view> cells;
    while (true)
    {
        const auto comma = line.find(',');
        std::string_view cell = line.substr(0, comma);
        const auto first = cell.find_first_not_of(" \t");
        const auto last = cell.find_last_not_of(" \t\r");
        cells.push_back(first == std::string_view::npos ? std::string_view()
                                                        : cell.substr(first, last - first + 1));
        if (comma == std::string_view::npos)
        {
            return cells;
        }
        line.remove_prefix(comma + 1);
    }
}

/// Give requests of a session the contents of its conversation. A prompt that is shorter than the
/// conversation before it begins another one.
void
NameConversations(std::vector<ServingRequest>& requests)
{
    struct Conversation
    {
        uint64_t number;
        uint64_t tokens;
    };

    std::unordered_map<uint32_t, Conversation> conversations; // by session
    uint64_t next = 0;
    for (ServingRequest& request : requests)
    {
        if (!request.session)
        {
            continue;
        }
        const auto [found, isFirst] = conversations.try_emplace(*request.session);
        auto& [number, tokens] = found->second;
        if (isFirst || request.promptTokens < tokens)
        {
            number = next++;
        }
        tokens = uint64_t{request.promptTokens} + request.outputTokens;
        request.conversation = number;
    }
}

/**
 * @param trace as read @param name of the trace @param line its last one
 * @param timeScale factor of arrival times
 * @return its requests by arrival, the first at 0
 * @throw ns3::InputError if there are none
 */
RequestTrace
FromZero(RequestTrace trace, const std::string& name, std::size_t line, double timeScale)
{
    auto& requests = trace.requests;
    if (requests.empty() && trace.CountLeftOut() > 0)
    {
        throw ns3::InputError(name,
                              line,
                              "none of its " + std::to_string(trace.CountLeftOut()) +
                                  " requests has both a prompt and output",
                              "at least one request of 1 token or more of each");
    }
    if (requests.empty())
    {
        throw ns3::InputError(name, line, "there are no requests", "a line for each request");
    }
    std::ranges::stable_sort(requests,
                             [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
    const TimePs first = trace.origin;
    for (auto& request : requests)
    {
        request.arrival = ns3::RoundToPs(static_cast<double>(request.arrival - first) * timeScale);
    }
    NameConversations(requests);
    return trace;
}

/// Reads one trace.
class TraceReader
{
  public:
    TraceReader(std::istream& text, std::string name, const TraceColumns& wanted)
        : m_text(text),
          m_name(std::move(name)),
          m_wanted(wanted)
    {
    }

    RequestTrace Read(uint64_t limit, double timeScale)
    {
        ReadHeader();
        RequestTrace trace;
        std::string text;
        while (trace.requests.size() < limit && std::getline(m_text, text))
        {
            ++m_line;
            if (text.find_first_not_of(" \t\r") != std::string::npos)
            {
                Add(text, trace);
            }
        }
        if (trace.requests.empty() && !m_wanted.model.empty())
        {
            Fail("there are no requests of the model '" + m_wanted.model + "'",
                 "its name in the column " + std::string(MODELS.front()));
        }
        return FromZero(std::move(trace), m_name, m_line, timeScale);
    }

  private:
    [[noreturn]] void Fail(const std::string& what, const std::string& expected) const
    {
        throw ns3::InputError(m_name, m_line, what, expected);
    }

    void ReadHeader()
    {
        std::string text;
        std::getline(m_text, text);
        m_line = 1;
        const std::string_view header = text;
        const auto cells = Cells(header);
        m_columns = cells.size();
        const auto place = [&](std::string_view name) {
            return static_cast<std::size_t>(std::ranges::find(cells, name) - cells.begin());
        };
        for (const auto& names : KNOWN_TRACES)
        {
            m_arrival = place(names.arrival);
            m_prompt = place(names.prompt);
            m_output = place(names.output);
            if (std::max({m_arrival, m_prompt, m_output}) < m_columns)
            {
                m_prefixId = place(PREFIX_ID);
                m_prefixTokens = place(PREFIX_TOKENS);
                m_session = place(SESSION_ID);
                m_priority = place(PRIORITY);
                m_class = place(CLASS);
                m_model = std::min(place(MODELS[0]), place(MODELS[1]));
                CheckOthers(cells, names);
                return;
            }
        }
        Fail("'" + std::string(header.substr(0, 80)) + "' is not the header of a trace of requests",
             "TIMESTAMP,ContextTokens,GeneratedTokens or arrival_s,prompt_tokens,output_tokens");
    }

    void CheckOthers(const std::vector<std::string_view>& cells, const ColumnNames& names) const
    {
        if ((m_prefixId < m_columns) != (m_prefixTokens < m_columns))
        {
            Fail("one of prefix_id and prefix_tokens is missing", "both or none");
        }
        if ((m_class < m_columns) != !m_wanted.classes.empty())
        {
            Fail(m_class < m_columns ? "the workload has no classes for the column class"
                                     : "the column class is missing",
                 "a class in each line and in the workload, or neither");
        }
        if (m_model == m_columns && !m_wanted.model.empty())
        {
            Fail("the column model is missing", "the name of a model in each line");
        }
        for (const auto cell : cells)
        {
            if (std::ranges::count(cells, cell) > 1)
            {
                Fail("column '" + std::string(cell.substr(0, 80)) + "' is there twice", "one");
            }
            if (cell != PREFIX_ID && cell != PREFIX_TOKENS && cell != SESSION_ID &&
                cell != PRIORITY && cell != CLASS && cell != MODELS[0] && cell != MODELS[1] &&
                cell != names.arrival && cell != names.prompt && cell != names.output &&
                std::ranges::find(OTHER_COLUMNS, cell) == OTHER_COLUMNS.end())
            {
                Fail("unknown column '" + std::string(cell) + "'",
                     std::string(names.arrival) + "," + std::string(names.prompt) + "," +
                         std::string(names.output));
            }
        }
    }

    /// Keep the request in @p text, if it is of the model.
    void Add(std::string_view text, RequestTrace& trace)
    {
        const auto cells = Cells(text);
        if (cells.size() != m_columns)
        {
            Fail("this line has " + std::to_string(cells.size()) + " columns",
                 std::to_string(m_columns) + ", as the header has");
        }
        const auto arrival = ParseArrival(cells[m_arrival], m_originDay);
        if (!arrival)
        {
            Fail("'" + std::string(cells[m_arrival]) + "' is not a valid time of arrival",
                 "seconds, or a date and a time such as 2023-11-16 18:15:46.6805900, within 100 "
                 "days");
        }
        ServingRequest request{*arrival, Tokens(cells[m_prompt]), Tokens(cells[m_output])};
        if (m_prefixId < m_columns)
        {
            const uint64_t id = Id(cells[m_prefixId], PREFIX_ID, MOST_PREFIXES);
            request.prefixTokens = Tokens(cells[m_prefixTokens]);
            request.prefix.assign(request.prefixTokens > 0, id);
        }
        if (m_session < m_columns && !cells[m_session].empty())
        {
            request.session = static_cast<uint32_t>(Id(cells[m_session], SESSION_ID, UINT32_MAX));
        }
        if (m_priority < m_columns)
        {
            request.priority = static_cast<uint32_t>(Id(cells[m_priority], PRIORITY, UINT32_MAX));
        }
        if (m_class < m_columns)
        {
            request.requestClass = ClassOf(cells[m_class]);
        }
        trace.Add(std::move(request), m_wanted.model.empty() || cells[m_model] == m_wanted.model);
    }

    uint32_t ClassOf(std::string_view cell) const
    {
        const auto& names = m_wanted.classes;
        const auto found = std::ranges::find(names, cell);
        if (found == names.end())
        {
            Fail("'" + std::string(cell.substr(0, 80)) + "' is not a class of the workload",
                 ns3::ListWords(names));
        }
        return static_cast<uint32_t>(found - names.begin());
    }

    uint64_t Id(std::string_view cell, std::string_view column, uint64_t most) const
    {
        const auto id = ns3::ParseUnsigned(cell);
        if (!id || *id > most)
        {
            Fail("'" + std::string(cell) + "' is not a valid " + std::string(column),
                 "a whole number from 0 to " + std::to_string(most));
        }
        return *id;
    }

    uint32_t Tokens(std::string_view cell) const
    {
        constexpr uint64_t MOST = 1U << 24;
        const auto count = ns3::ParseUnsigned(cell);
        if (!count || *count > MOST)
        {
            Fail("'" + std::string(cell) + "' is not a valid number of tokens",
                 "a whole number up to " + std::to_string(MOST));
        }
        return static_cast<uint32_t>(*count);
    }

    std::istream& m_text;
    std::string m_name;
    const TraceColumns& m_wanted;
    std::size_t m_line{0};
    std::size_t m_columns{0};
    std::size_t m_arrival{0};
    std::size_t m_prompt{0};
    std::size_t m_output{0};
    std::size_t m_prefixId{0};
    std::size_t m_prefixTokens{0};
    std::size_t m_session{0};
    std::size_t m_priority{0};
    std::size_t m_class{0};
    std::size_t m_model{0};
    std::optional<int64_t> m_originDay;
};

/// @return the number in @p text from @p from on, of @p digits digits, or nothing
std::optional<int>
Digits(std::string_view text, std::size_t from, std::size_t digits)
{
    if (text.size() < from + digits)
    {
        return std::nullopt;
    }
    int value = 0;
    for (const char c : text.substr(from, digits))
    {
        if (c < '0' || c > '9')
        {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

// The clock holds 106 days, so days count from just before the first one that is seen.
constexpr int64_t DAYS_BEFORE = 5;
constexpr int64_t MOST_DAYS = 100;

/// @return picoseconds from the origin to @p ofDay on @p day, or nothing if that is too far
std::optional<TimePs>
OnDay(int64_t day, TimePs ofDay, std::optional<int64_t>& originDay)
{
    originDay = originDay.value_or(day < MOST_DAYS ? 0 : day - DAYS_BEFORE);
    const int64_t days = day - *originDay;
    if (days < 0 || days > MOST_DAYS)
    {
        return std::nullopt;
    }
    return 24 * 3600 * ns3::PS_PER_SECOND * days + ofDay;
}

/// @return the time that is @p text seconds after 1970 or another origin, or nothing if it is no
/// number
std::optional<TimePs>
ParseSeconds(std::string_view text, std::optional<int64_t>& originDay)
{
    constexpr int64_t DAY = 24 * 3600;
    constexpr std::size_t MOST_DIGITS = 11; // more are milliseconds since 1970
    const std::string_view whole = text.substr(0, text.find('.'));
    const auto count = ns3::ParseUnsigned(whole);
    const auto plain = ns3::ParseScaled(text, ns3::PS_PER_SECOND);
    if (plain && (!count || *count < MOST_DAYS * DAY))
    {
        return OnDay(0, *plain, originDay);
    }
    if (!count || whole.size() > MOST_DIGITS)
    {
        return std::nullopt;
    }
    const auto seconds = static_cast<int64_t>(*count);
    const std::string ofDay =
        std::to_string(seconds % DAY) + std::string(text.substr(whole.size()));
    const auto picoseconds = ns3::ParseScaled(ofDay, ns3::PS_PER_SECOND);
    return picoseconds ? OnDay(seconds / DAY, *picoseconds, originDay) : std::nullopt;
}

/// Take the time zone off the end of @p text. @return its minutes east of Greenwich; nothing if it
/// is not a valid one
std::optional<int>
TakeZone(std::string_view& text)
{
    constexpr std::size_t DATE = 10;
    if (text.ends_with('Z'))
    {
        text.remove_suffix(1);
        return 0;
    }
    const auto sign = text.find_last_of("+-");
    if (sign == std::string_view::npos || sign < DATE)
    {
        return 0;
    }
    const std::string_view zone = text.substr(sign + 1);
    const bool hasColon = zone.size() == 5 && zone[2] == ':';
    const auto hours = Digits(zone, 0, 2);
    const auto minutes = zone.size() == 2 ? 0 : Digits(zone, hasColon ? 3 : 2, 2);
    if (!hours || !minutes || *hours > 14 || *minutes > 59 ||
        (zone.size() != 2 && zone.size() != 4 && !hasColon))
    {
        return std::nullopt;
    }
    const int east = *hours * 60 + *minutes;
    const int value = text[sign] == '-' ? -east : east;
    text = text.substr(0, sign);
    return value;
}

} // namespace

std::optional<TimePs>
ParseArrival(std::string_view text, std::optional<int64_t>& originDay)
{
    if (const auto seconds = ParseSeconds(text, originDay))
    {
        return seconds;
    }
    const auto zone = TakeZone(text);
    if (text.size() < 19 || text[4] != '-' || text[7] != '-' ||
        (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':')
    {
        return std::nullopt;
    }
    const auto year = Digits(text, 0, 4);
    const auto month = Digits(text, 5, 2);
    const auto day = Digits(text, 8, 2);
    const auto hour = Digits(text, 11, 2);
    const auto minute = Digits(text, 14, 2);
    const auto seconds = ns3::ParseScaled(text.substr(17), ns3::PS_PER_SECOND);
    if (!zone || !year || !month || !day || !hour || !minute || !seconds || *hour > 23 ||
        *minute > 59 || *seconds >= 61 * ns3::PS_PER_SECOND)
    {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year{*year},
                                           std::chrono::month{static_cast<unsigned>(*month)},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok())
    {
        return std::nullopt;
    }
    const int64_t minutes = *hour * 60 + *minute - *zone;
    return OnDay(std::chrono::sys_days{date}.time_since_epoch().count(),
                 60 * ns3::PS_PER_SECOND * minutes + *seconds,
                 originDay);
}

RequestTrace
ReadRequestTrace(std::istream& text,
                 const std::string& name,
                 uint64_t limit,
                 double timeScale,
                 const TraceColumns& columns)
{
    for (const unsigned char part : std::string_view("\xEF\xBB\xBF"))
    {
        if (text.peek() == part)
        {
            text.get(); // of the byte order mark that editors on Windows write
        }
    }
    if (text.peek() == '{')
    {
        if (!columns.classes.empty() || !columns.model.empty())
        {
            throw ns3::InputError(name,
                                  1,
                                  "Mooncake's traces have neither classes nor models",
                                  "a CSV file with a column class or model");
        }
        std::size_t line = 0;
        auto trace = ReadMooncakeTrace(text, name, limit, line);
        return FromZero(std::move(trace), name, line, timeScale);
    }
    return TraceReader(text, name, columns).Read(limit, timeScale);
}

} // namespace AstraSim
