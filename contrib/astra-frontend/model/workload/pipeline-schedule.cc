/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// A line of a description is a number of times, as an expression, and passes: letters, of which
// the k-th of a kind is of the k-th micro-batch. PassOrder goes through the lines of one stage and
// counts, so that it knows micro-batch and chunk of each pass, and from these the place of the
// chunk in the pipeline and its neighbours.
#include "pipeline-schedule.h"

#include "built-in-schedules.h"
#include "whole-expression.h"

#include "ns3/input-error.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

/// Appends the keys and values of a mapping.
void
ReadPairs(const ns3::YamlRows& rows,
          const YAML::Node& node,
          std::vector<std::pair<std::string, std::string>>& pairs)
{
    if (!node.IsMap())
    {
        rows.Fail(node, "this has no keys", "KEY: VALUE");
    }
    for (const auto& item : node)
    {
        pairs.emplace_back(item.first.Scalar(), rows.Text(item.second, item.first.Scalar()));
    }
}

/// Gives each pass of an order its micro-batch and its chunk.
class PassOrder
{
  public:
    using Kind = PipelinePass::Kind;

    PassOrder(const PipelineShape& shape, uint32_t stage, uint32_t directions)
        : m_shape(shape),
          m_stage(stage),
          m_directions(directions),
          m_each(shape.batches * shape.chunks / directions)
    {
    }

    /// Appends passes: letters with the number of an end, joined by + if they overlap.
    /// @return whether there are micro-batches left for them
    bool Append(std::string_view word)
    {
        for (bool overlaps = false; !word.empty(); overlaps = true)
        {
            const auto one = word.substr(0, word.find('+'));
            word.remove_prefix(std::min(word.size(), one.size() + 1));
            if (!AppendOne(one, overlaps))
            {
                return false;
            }
        }
        return true;
    }

    /// @return the passes, or none if some micro-batch has not had all of its own
    std::vector<PipelinePass> Finish()
    {
        const auto isWhole = [this](const auto& taken) {
            return std::all_of(taken.begin(), taken.begin() + m_directions, [this](uint32_t n) {
                return n == m_each;
            });
        };
        if (!m_waiting.empty() || !isWhole(m_forward) || !isWhole(m_backward))
        {
            return {};
        }
        std::map<uint32_t, PipelinePass*> last;
        for (PipelinePass& pass : m_passes)
        {
            if (pass.kind == Kind::Backward || pass.kind == Kind::WeightGradient)
            {
                last[pass.chunk] = &pass;
            }
        }
        for (const auto& [chunk, pass] : last)
        {
            pass->isLast = true;
        }
        return std::move(m_passes);
    }

  private:
    struct Unit
    {
        uint32_t microBatch;
        uint32_t chunk;
    };

    bool AppendOne(std::string_view word, bool overlaps)
    {
        static constexpr std::string_view LETTERS = "FBIW";
        const auto kind = static_cast<Kind>(LETTERS.find(word.front()));
        if (kind == Kind::WeightGradient)
        {
            if (m_waiting.empty())
            {
                return false;
            }
            AppendPass(kind, overlaps, m_waiting.front());
            m_waiting.pop_front();
            return true;
        }
        const uint32_t end = word.size() > 1 ? word[1] - '0' : 0;
        uint32_t& taken = (kind == Kind::Forward ? m_forward : m_backward)[end];
        if (taken == m_each)
        {
            return false;
        }
        const Unit unit =
            m_directions == 1 ? UnitAt(taken, kind == Kind::Forward) : HalfAt(taken, end);
        ++taken;
        AppendPass(kind, overlaps, unit);
        if (kind == Kind::InputGradient)
        {
            m_waiting.push_back(unit);
        }
        return true;
    }

    /// The interleaved order: a group of micro-batches, one for each stage, passes chunk after
    /// chunk, then the next group.
    Unit UnitAt(uint32_t number, bool forward) const
    {
        const uint32_t perGroup = m_shape.stages * m_shape.chunks;
        const uint32_t first = number / perGroup * m_shape.stages;
        const uint32_t size = std::min(m_shape.stages, m_shape.batches - first);
        const uint32_t chunk = number % perGroup / size;
        return {first + number % perGroup % size, forward ? chunk : m_shape.chunks - 1 - chunk};
    }

    /// The bidirectional order: the first half of the micro-batches enters at the first stage, the
    /// second half at the last.
    Unit HalfAt(uint32_t number, uint32_t end) const
    {
        const bool upwards = (end == 0) == (2 * m_stage < m_shape.stages);
        return {number + (upwards ? 0 : m_each), end};
    }

    void AppendPass(Kind kind, bool overlaps, Unit unit)
    {
        const uint32_t stages = m_shape.stages;
        const uint32_t near = std::min(m_stage, stages - 1 - m_stage);
        const uint32_t ofHalf = unit.chunk == 0 ? near : stages - 1 - near;
        PipelinePass pass{kind, overlaps, unit.microBatch, unit.chunk, 0, {}, {}};
        pass.position = m_directions == 1 ? unit.chunk * stages + m_stage : ofHalf;
        const bool upwards = m_directions == 1 || unit.microBatch < m_each;
        if (kind != Kind::WeightGradient)
        {
            auto& before = kind == Kind::Forward ? pass.from : pass.to;
            auto& after = kind == Kind::Forward ? pass.to : pass.from;
            if (pass.position > 0)
            {
                before = (m_stage + (upwards ? stages - 1 : 1)) % stages;
            }
            if (pass.position + 1 < stages * m_shape.chunks)
            {
                after = (m_stage + (upwards ? 1 : stages - 1)) % stages;
            }
        }
        m_passes.push_back(pass);
    }

    PipelineShape m_shape;
    uint32_t m_stage;
    uint32_t m_directions;
    uint32_t m_each;                     ///< passes of a kind, in a direction
    std::array<uint32_t, 2> m_forward{}; ///< by direction, passes so far
    std::array<uint32_t, 2> m_backward{};
    std::deque<Unit> m_waiting; ///< have had their input gradient, and no weight gradient
    std::vector<PipelinePass> m_passes;
};

/// Refuses words that are no passes: letters, with an end if there are two of them.
void
CheckPasses(const ns3::YamlRows& rows, const YAML::Node& node, uint32_t directions)
{
    const std::string& text = node.Scalar();
    const auto isLegal = [&](const std::string& pass) {
        const bool ends = directions == 2 && pass.front() != 'W';
        return std::string_view("FBIW").find(pass.front()) != std::string_view::npos &&
               pass.size() == (ends ? 2 : 1) && (!ends || pass[1] == '0' || pass[1] == '1');
    };
    std::string spaced = text;
    std::ranges::replace(spaced, '+', ' ');
    std::istringstream words(spaced);
    bool any = false;
    for (std::string pass; words >> pass; any = true)
    {
        if (!isLegal(pass))
        {
            any = false;
            break;
        }
    }
    if (!any || text.front() == '+' || text.back() == '+' || text.find("++") != text.npos ||
        text.find(" +") != text.npos || text.find("+ ") != text.npos)
    {
        rows.Fail(node,
                  "'" + text + "' is not an order of passes",
                  directions == 2 ? "F0, F1, B0, B1, I0, I1 and W, joined by + if they overlap"
                                  : "F, B, I and W, joined by + if they overlap");
    }
}

} // namespace

PipelineSchedule::Schedules
PipelineSchedule::Read(const std::string& text, const std::string& source)
{
    const ns3::YamlRows rows(text, source, "schedules of pipelines", true);
    Schedules found;
    for (const auto& item : rows.GetAll())
    {
        PipelineSchedule schedule;
        schedule.m_source = source;
        const YAML::Node& fields = item.second;
        const auto pairs = [&](const char* key, Lines& lines) {
            return rows.FromNode(fields, key, "KEY: VALUE", [&](const YAML::Node& node) {
                ReadPairs(rows, node, lines);
            });
        };
        ns3::Rows keys(source,
                       {{"names", pairs("names", schedule.m_names), ""},
                        {"needs", pairs("needs", schedule.m_needs), ""},
                        {"directions", ns3::Whole(schedule.m_directions, 1, 2), ""},
                        {"order", ns3::YamlRows::ForPeople(), ""}});
        rows.ReadInto(fields, keys);
        if (!keys.IsGiven("order") || !fields["order"].IsSequence())
        {
            rows.Fail(item.first,
                      "schedule " + item.first.Scalar() + " has no order",
                      "order: and a list of numbers of times with passes");
        }
        for (const auto& line : fields["order"])
        {
            ReadPairs(rows, line, schedule.m_order);
            CheckPasses(rows, line.begin()->second, schedule.m_directions);
        }
        found.emplace(item.first.Scalar(), std::move(schedule));
    }
    return found;
}

const PipelineSchedule::Schedules&
PipelineSchedule::All()
{
    static const Schedules schedules = Read(BUILT_IN_SCHEDULES, "schedules.yaml");
    return schedules;
}

const PipelineSchedule&
PipelineSchedule::Find(const std::string& name)
{
    return All().at(name);
}

int64_t
PipelineSchedule::Number(const std::string& expression,
                         const std::map<std::string, int64_t>& numbers) const
{
    const auto value = ComputeWhole(expression, numbers);
    if (!value)
    {
        throw ns3::InputError(m_source,
                              0,
                              "'" + expression + "' is not a number",
                              "+ - * / % min max of whole numbers and names");
    }
    return *value;
}

std::map<std::string, int64_t>
PipelineSchedule::Numbers(const PipelineShape& shape, uint32_t stage) const
{
    std::map<std::string, int64_t> numbers{{"stages", shape.stages},
                                           {"stage", stage},
                                           {"batches", shape.batches},
                                           {"chunks", shape.chunks},
                                           {"units", int64_t{shape.batches} * shape.chunks}};
    for (const auto& [name, expression] : m_names)
    {
        numbers[name] = Number(expression, numbers);
    }
    return numbers;
}

std::string
PipelineSchedule::Lacks(const PipelineShape& shape) const
{
    const auto numbers = Numbers(shape, 0);
    for (const auto& [words, expression] : m_needs)
    {
        if (Number(expression, numbers) != 0)
        {
            return words;
        }
    }
    return "";
}

std::vector<PipelinePass>
PipelineSchedule::Passes(const PipelineShape& shape, uint32_t stage) const
{
    const auto numbers = Numbers(shape, stage);
    PassOrder order(shape, stage, m_directions);
    bool isWhole = true;
    for (const auto& [times, passes] : m_order)
    {
        const int64_t count = Number(times, numbers);
        for (int64_t i = 0; i < count && isWhole; ++i)
        {
            std::istringstream words(passes);
            for (std::string word; isWhole && words >> word;)
            {
                isWhole = order.Append(word);
            }
        }
    }
    auto found = isWhole ? order.Finish() : std::vector<PipelinePass>();
    if (found.empty())
    {
        throw ns3::InputError(m_source,
                              0,
                              "a schedule has too many or too few passes for " +
                                  std::to_string(shape.stages) + " stages, " +
                                  std::to_string(shape.chunks) + " chunks and " +
                                  std::to_string(shape.batches) + " micro-batches",
                              "each micro-batch and chunk once");
    }
    return found;
}

} // namespace AstraSim
