/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "connection-matrix.h"

#include "ns3/input-error.h"
#include "ns3/units.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>
#include <utility>

namespace ns3
{

namespace
{

constexpr std::string_view FLOW_ARROW = "->";
constexpr uint8_t MATRIX_PRIORITY = 3; ///< of all flows, as in files of the HPCC simulator
constexpr const char* LINES_OF_A_MATRIX =
    "Nodes, Connections, Triggers, a flow as 0->1 start 0 size 1000, or a trigger as trigger id 1 "
    "oneshot";

/// Reads one connection matrix, line by line.
class MatrixReader
{
  public:
    MatrixReader(InputLines& lines, const ClusterTopology& topology)
        : m_lines(lines),
          m_topology(topology)
    {
    }

    ConnectionMatrix Read()
    {
        do
        {
            ReadLine();
        } while (m_lines.Next());
        CheckAnnounced("Connections", m_announcedFlows, m_matrix.count);
        CheckAnnounced("Triggers", m_announcedTriggers, m_definedTriggers);
        CheckTriggers();
        CheckThatAllStart();
        std::ranges::stable_sort(m_matrix.flows, {}, &FlowRecord::startPs);
        return std::move(m_matrix);
    }

  private:
    /// A trigger as the file defines it, without its flows.
    struct Trigger
    {
        uint64_t id;                      ///< in the file
        std::size_t line;                 ///< of its first mention
        std::size_t definedAt{0};         ///< line of its definition
        std::optional<uint64_t> mostEnds; ///< flows whose ends may activate it; nothing: any number
        uint64_t ends{0};                 ///< flows whose ends activate it
    };

    /// A flow, and the start that its line gives it.
    struct FlowLine
    {
        FlowRecord flow{};
        std::optional<int64_t> startPs;
        uint32_t trigger{0}; ///< number, from 1; 0: none
    };

    void ReadLine()
    {
        const std::string_view first = m_lines.Fields()[0];
        if (ConnectionMatrix::BeginsWith(first))
        {
            ReadHeader();
        }
        else if (first.find(FLOW_ARROW) != std::string_view::npos)
        {
            ReadFlow();
        }
        else if (first == "trigger")
        {
            ReadTrigger();
        }
        else
        {
            m_lines.Fail("'" + std::string(first) + "' begins no line of a connection matrix",
                         LINES_OF_A_MATRIX);
        }
    }

    void ReadHeader()
    {
        const auto& fields = m_lines.Fields();
        const auto value = fields.size() == 2 ? ParseUnsigned(fields[1]) : std::nullopt;
        if (!value)
        {
            m_lines.Fail("'" + std::string(m_lines.RestFrom(1)) + "' is not a valid number of " +
                             std::string(fields[0]),
                         "one whole number");
        }
        if (fields[0] == "Nodes")
        {
            m_hosts = *value;
            if (m_hosts > m_topology.hostCount)
            {
                m_lines.Fail(fmt::format("the connection matrix has {} nodes and the topology {} "
                                         "hosts",
                                         m_hosts,
                                         m_topology.hostCount),
                             "at most as many nodes as hosts");
            }
        }
        else if (fields[0] == "Connections")
        {
            m_announcedFlows = *value;
        }
        else if (fields[0] == "Triggers")
        {
            m_announcedTriggers = *value;
        }
        else if (*value != 0)
        {
            m_lines.Fail("Failures of a connection matrix are not read",
                         "Failures 0, and LINK_DOWN in the configuration for each failed link");
        }
    }

    uint32_t Host(std::string_view text, const char* role) const
    {
        const auto host = ParseUnsigned(text);
        if (!host || *host >= m_hosts)
        {
            m_lines.Fail(std::string(role) + " '" + std::string(text) + "' is not a valid host",
                         m_hosts ? "a number from 0 to " + std::to_string(m_hosts - 1)
                                 : "Nodes with a number above the first flow");
        }
        return static_cast<uint32_t>(*host);
    }

    /// @return the number in a field, 1 or more
    uint64_t Number(std::size_t field) const
    {
        const auto& fields = m_lines.Fields();
        const std::string key(fields[field - 1]);
        const auto number = field < fields.size() ? ParseUnsigned(fields[field]) : std::nullopt;
        if (!number || *number == 0)
        {
            m_lines.Fail("'" + std::string(m_lines.RestFrom(field, field + 1)) +
                             "' is not a valid " + key,
                         "a whole number above 0");
        }
        return *number;
    }

    int64_t Start(std::size_t field) const
    {
        const std::string_view text = m_lines.RestFrom(field, field + 1);
        const auto startPs = ParseScaled(text, 1);
        if (!startPs)
        {
            m_lines.Fail("'" + std::string(text) + "' is not a valid start",
                         "picoseconds, 0 or more");
        }
        return *startPs;
    }

    /// @return number of the trigger with the id in a field
    uint32_t TriggerAt(std::size_t field)
    {
        const uint64_t id = Number(field);
        const auto [place, isNew] = m_numbers.try_emplace(id, 0);
        if (isNew)
        {
            place->second = m_matrix.triggers.Add();
            m_triggers.emplace_back(id, m_lines.Line());
        }
        return place->second;
    }

    uint32_t ActivatedAt(std::size_t field)
    {
        const uint32_t trigger = TriggerAt(field);
        ++m_triggers[trigger - 1].ends;
        return trigger;
    }

    void ReadFlow()
    {
        const auto& fields = m_lines.Fields();
        FlowLine line;
        FlowRecord& flow = line.flow;
        flow.priority = MATRIX_PRIORITY;
        flow.dport = FlowRecord::DEFAULT_DPORT;
        flow.line = m_lines.Line();
        const std::size_t arrow = fields[0].find(FLOW_ARROW);
        flow.src = Host(fields[0].substr(0, arrow), "source");
        flow.dst = Host(fields[0].substr(arrow + FLOW_ARROW.size()), "destination");
        if (flow.src == flow.dst)
        {
            m_lines.Fail("the flow's source and destination are both host " +
                             std::to_string(flow.src),
                         "two different hosts");
        }
        for (std::size_t field = 1; field < fields.size(); field += 2)
        {
            ReadWord(field, line);
        }
        Add(line);
    }

    /// Read a key of a flow and the value behind it.
    void ReadWord(std::size_t field, FlowLine& line)
    {
        const std::string_view key = m_lines.Fields()[field];
        if (key == "size")
        {
            line.flow.bytes = Size(field + 1);
        }
        else if (key == "start")
        {
            line.startPs = Start(field + 1);
        }
        else if (key == "trigger")
        {
            line.trigger = TriggerAt(field + 1);
        }
        else if (key == "send_done_trigger")
        {
            line.flow.whenSent = ActivatedAt(field + 1);
        }
        else if (key == "recv_done_trigger")
        {
            line.flow.whenDelivered = ActivatedAt(field + 1);
        }
        else
        {
            ReadIdleWord(field);
        }
    }

    uint64_t Size(std::size_t field) const
    {
        if (m_lines.RestFrom(field, field + 1) == "0")
        {
            m_lines.Fail("the flow has size 0, which is a flow without an end in htsim",
                         "a size in bytes");
        }
        return Number(field);
    }

    /// Words of a flow that change nothing here, or have no counterpart.
    void ReadIdleWord(std::size_t field)
    {
        const std::string_view key = m_lines.Fields()[field];
        if (key == "id")
        {
            Number(field + 1);
        }
        else if (key == "prio")
        {
            WarnOfPriority(m_lines.RestFrom(field + 1, field + 2));
        }
        else if (key == "msg")
        {
            m_lines.Fail("'msg' (a message of another flow's connection) is not read",
                         "a flow of its own for each message");
        }
        else if (key == "addon")
        {
            m_lines.Fail("'addon' (a barrier that serves again) is not read",
                         "a trigger of its own for each round");
        }
        else
        {
            m_lines.Fail("'" + std::string(key) + "' is not a word of a flow",
                         "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio");
        }
    }

    void WarnOfPriority(std::string_view text)
    {
        if (!ParseUnsigned(text))
        {
            m_lines.Fail("'" + std::string(text) + "' is not a valid prio", "a whole number");
        }
        if (!std::exchange(m_hasPriority, true))
        {
            m_matrix.warnings.push_back(
                fmt::format("{}:{}: prio has no effect: it orders the pulls of a receiver in "
                            "htsim's NDP, and all flows have priority group {} here",
                            m_lines.Name(),
                            m_lines.Line(),
                            MATRIX_PRIORITY));
        }
    }

    void Add(FlowLine& line)
    {
        if (line.flow.bytes == 0)
        {
            m_lines.Fail("the flow has no size", "size and a number of bytes");
        }
        if (line.startPs.has_value() == (line.trigger != 0))
        {
            m_lines.Fail(line.startPs ? "the flow has a start time and a trigger"
                                      : "the flow has neither a start time nor a trigger",
                         "one of the two");
        }
        ++m_matrix.count;
        if (line.trigger != 0)
        {
            m_matrix.triggers.AddFlow(line.trigger, line.flow);
            return;
        }
        line.flow.startPs = *line.startPs;
        m_matrix.flows.push_back(line.flow);
    }

    void ReadTrigger()
    {
        const auto& fields = m_lines.Fields();
        std::optional<std::size_t> idField;
        std::string_view kind;
        uint64_t count = 0;
        for (std::size_t i = 1; i < fields.size(); ++i)
        {
            if (fields[i] == "id")
            {
                idField = ++i;
            }
            else if (fields[i] == "count")
            {
                count = Number(++i);
            }
            else if (kind.empty())
            {
                kind = fields[i];
            }
            else
            {
                m_lines.Fail("'" + std::string(fields[i]) + "' is not a word of a trigger",
                             "id, count, and one of oneshot, multishot and barrier");
            }
        }
        if (!idField)
        {
            m_lines.Fail("the trigger has no id", "id and a whole number above 0");
        }
        Define(TriggerAt(*idField), kind, count);
    }

    void Define(uint32_t number, std::string_view kind, uint64_t count)
    {
        Trigger& trigger = m_triggers[number - 1];
        if (trigger.definedAt != 0)
        {
            m_lines.Fail(fmt::format("trigger {} repeats line {}", trigger.id, trigger.definedAt),
                         "each trigger once");
        }
        trigger.definedAt = m_lines.Line();
        ++m_definedTriggers;
        if (kind == "multishot")
        {
            m_matrix.triggers.StartOneByOne(number);
            return;
        }
        if (kind != "oneshot" && kind != "barrier")
        {
            m_lines.Fail("'" + std::string(kind) + "' is not a valid kind of trigger",
                         "oneshot, multishot or barrier");
        }
        if (kind == "barrier" && count == 0)
        {
            m_lines.Fail("the barrier has no count", "count and the number of flows that end");
        }
        trigger.mostEnds = kind == "barrier" ? count : 1;
        m_matrix.triggers.StartAllAfter(number, *trigger.mostEnds);
    }

    void CheckAnnounced(const char* key, uint64_t announced, uint64_t read) const
    {
        if (announced != read)
        {
            m_lines.Fail(
                fmt::format("the file has {} lines of {} and announces {}", read, key, announced),
                std::string("as many lines as ") + key + " says");
        }
    }

    void CheckTriggers() const
    {
        for (const Trigger& trigger : m_triggers)
        {
            if (trigger.definedAt == 0)
            {
                throw InputError(m_lines.Name(),
                                 trigger.line,
                                 fmt::format("trigger {} is not defined", trigger.id),
                                 fmt::format("a line trigger id {} oneshot (or multishot, barrier)",
                                             trigger.id));
            }
            if (trigger.mostEnds && trigger.ends > *trigger.mostEnds)
            {
                throw InputError(
                    m_lines.Name(),
                    trigger.definedAt,
                    fmt::format("the ends of {} flows activate trigger {}",
                                trigger.ends,
                                trigger.id),
                    fmt::format("at most {}, or a barrier with that count", *trigger.mostEnds));
            }
        }
    }

    /// Let every flow that starts end, and see which triggers still hold flows. The order in which
    /// flows end does not matter, as an activation never undoes another.
    void CheckThatAllStart() const
    {
        FlowTriggers triggers = m_matrix.triggers;
        std::vector<FlowRecord> ended = m_matrix.flows;
        while (!ended.empty())
        {
            const FlowRecord flow = ended.back();
            ended.pop_back();
            for (const uint32_t trigger : std::array{flow.whenDelivered, flow.whenSent})
            {
                const auto started = triggers.Activate(trigger);
                ended.insert(ended.end(), started.begin(), started.end());
            }
        }
        for (uint32_t trigger = 1; trigger <= triggers.GetCount(); ++trigger)
        {
            if (const auto waiting = triggers.GetWaiting(trigger); !waiting.empty())
            {
                throw InputError(m_lines.Name(),
                                 waiting.front().line,
                                 fmt::format("the flow never starts: too few flows end before it "
                                             "and activate trigger {}",
                                             m_triggers[trigger - 1].id),
                                 "flows that activate it, and do not wait for it themselves");
            }
        }
    }

    InputLines& m_lines;
    const ClusterTopology& m_topology;
    ConnectionMatrix m_matrix;
    uint64_t m_hosts{0};
    uint64_t m_announcedFlows{0};
    uint64_t m_announcedTriggers{0};
    uint64_t m_definedTriggers{0};
    bool m_hasPriority{false};                        ///< a flow has a prio, which was warned of
    std::vector<Trigger> m_triggers;                  ///< by number, from 1
    std::unordered_map<uint64_t, uint32_t> m_numbers; ///< of triggers, by id
};

} // namespace

bool
ConnectionMatrix::BeginsWith(std::string_view word)
{
    constexpr std::array<std::string_view, 4> HEADER{"Nodes",
                                                     "Connections",
                                                     "Triggers",
                                                     "Failures"};
    return std::ranges::find(HEADER, word) != HEADER.end();
}

ConnectionMatrix
ConnectionMatrix::Read(InputLines& lines, const ClusterTopology& topology)
{
    return MatrixReader(lines, topology).Read();
}

} // namespace ns3
