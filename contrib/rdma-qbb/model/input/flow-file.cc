/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-file.h"

#include "ns3/clock-range.h"
#include "ns3/units.h"

#include <algorithm>

namespace ns3
{

namespace
{

constexpr uint64_t MAX_PRIORITY = 7;

std::vector<uint32_t>
TraceNodes(InputLines lines, uint32_t nodeCount)
{
    std::optional<uint64_t> count;
    uint64_t read = 0;
    std::vector<uint32_t> nodes;
    while ((!count || read < *count) && lines.Next())
    {
        for (std::string_view field : lines.Fields())
        {
            const auto value = ParseUnsigned(field);
            if (!value)
            {
                lines.Fail("'" + std::string(field) + "' is not a valid node id",
                           count ? "a whole number" : "the number of trace nodes");
            }
            if (!count)
            {
                count = value;
            }
            else if (read++ < *count && *value < nodeCount)
            {
                nodes.push_back(*value);
            }
        }
    }
    if (!count || read < *count)
    {
        lines.Fail("the file ends after " + std::to_string(read) + " node ids",
                   count ? std::to_string(*count) + " ids" : "the number of trace nodes first");
    }
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

} // namespace

FlowFile::FlowFile(const std::string& path, const ClusterTopology& topology)
    : m_lines(path),
      m_topology(topology)
{
    ReadCount();
}

FlowFile::FlowFile(std::istream& text, const std::string& name, const ClusterTopology& topology)
    : m_lines(text, name),
      m_topology(topology)
{
    ReadCount();
}

void
FlowFile::ReadCount()
{
    const char* expected = "the number of flows in the first line";
    if (!m_lines.Next())
    {
        m_lines.Fail("the flow file is empty", expected);
    }
    if (ConnectionMatrix::BeginsWith(m_lines.Fields()[0]))
    {
        m_isMatrix = true;
        m_matrix = ConnectionMatrix::Read(m_lines, m_topology);
        m_count = m_matrix.count;
        return;
    }
    const auto count = ParseUnsigned(m_lines.Fields()[0]);
    if (!count || m_lines.Fields().size() != 1)
    {
        m_lines.Fail("'" + std::string(m_lines.RestFrom(0)) + "' is not a valid number of flows",
                     expected);
    }
    m_count = *count;
}

uint32_t
FlowFile::Host(std::string_view text, const char* role) const
{
    const auto node = ParseUnsigned(text);
    if (!node || *node >= m_topology.nodeCount)
    {
        m_lines.Fail(std::string(role) + " '" + std::string(text) + "' is not a valid node",
                     "an id from 0 to " + std::to_string(m_topology.nodeCount - 1));
    }
    const uint32_t host = m_topology.HostIndexOf(*node);
    if (host == UINT32_MAX)
    {
        m_lines.Fail(std::string(role) + " " + std::string(text) + " is a switch", "a host");
    }
    return host;
}

std::optional<FlowRecord>
FlowFile::Next()
{
    if (m_isMatrix)
    {
        return m_read < m_matrix.flows.size() ? std::optional(m_matrix.flows[m_read++])
                                              : std::nullopt;
    }
    if (m_read == m_count)
    {
        return std::nullopt;
    }
    if (!m_lines.Next())
    {
        m_lines.Fail("the file ends after " + std::to_string(m_read) + " of " +
                         std::to_string(m_count) + " flows",
                     "as many flows as the first line says");
    }
    ++m_read;
    const auto& fields = m_lines.Fields();
    if (fields.size() != 5 && fields.size() != 6)
    {
        m_lines.Fail("a flow has " + std::to_string(fields.size()) + " fields",
                     "6: source, destination, priority group, destination port, bytes, start in "
                     "seconds (5 without the port)");
    }
    FlowRecord flow{};
    flow.line = m_lines.Line();
    flow.src = Host(fields[0], "source");
    flow.dst = Host(fields[1], "destination");
    if (flow.src == flow.dst)
    {
        m_lines.Fail("the flow's source and destination are both node " + std::string(fields[0]),
                     "two different nodes");
    }
    const auto priority = ParseUnsigned(fields[2]);
    if (!priority || *priority == 0 || *priority > MAX_PRIORITY)
    {
        m_lines.Fail("'" + std::string(fields[2]) + "' is not a valid priority group of data",
                     "1 to 7");
    }
    flow.priority = *priority;
    flow.dport = FlowRecord::DEFAULT_DPORT;
    if (fields.size() == 6)
    {
        const auto dport = ParseUnsigned(fields[3]);
        if (!dport || *dport > UINT16_MAX)
        {
            m_lines.Fail("'" + std::string(fields[3]) + "' is not a valid port", "0 to 65535");
        }
        flow.dport = *dport;
    }
    const auto bytes = ParseUnsigned(fields[fields.size() - 2]);
    if (!bytes || *bytes == 0)
    {
        m_lines.Fail("'" + std::string(fields[fields.size() - 2]) + "' is not a valid flow size",
                     "a whole number of bytes above 0");
    }
    flow.bytes = *bytes;
    const auto start = ParseScaled(fields.back(), PS_PER_SECOND);
    if (!start)
    {
        m_lines.Fail("'" + std::string(fields.back()) + "' is not a valid start time",
                     "seconds, 0 or more, up to 9223372");
    }
    flow.startPs = *start;
    if (flow.startPs < m_lastStartPs)
    {
        m_lines.Fail("the flow starts before the one above it", "flows in order of their start");
    }
    m_lastStartPs = flow.startPs;
    return flow;
}

std::size_t
FlowFile::FindSurplus()
{
    // Files of the HPCC simulator end with text that explains them.
    while (m_lines.Next())
    {
        const auto& fields = m_lines.Fields();
        const bool isFlow = fields.size() >= 5 && std::ranges::all_of(fields, [](auto field) {
                                return ParseReal(field).has_value();
                            });
        if (isFlow)
        {
            return m_lines.Line();
        }
    }
    return 0;
}

FlowFileSummary
CheckFlowFile(const std::string& path, const ClusterTopology& topology)
{
    FlowFileSummary summary;
    FlowFile file(path, topology);
    const auto add = [&summary](const FlowRecord& flow) {
        ++summary.flows;
        summary.bytes += flow.bytes;
        summary.priorityMask |= 1U << flow.priority;
    };
    while (const auto flow = file.Next())
    {
        summary.firstStartPs = summary.flows ? summary.firstStartPs : flow->startPs;
        summary.lastStartPs = flow->startPs;
        add(*flow);
    }
    summary.hasTriggers = file.Triggers().GetCount() > 0;
    for (uint32_t trigger = 1; trigger <= file.Triggers().GetCount(); ++trigger)
    {
        std::ranges::for_each(file.Triggers().GetWaiting(trigger), add);
    }
    summary.warnings = file.Warnings();
    if (const std::size_t line = file.FindSurplus())
    {
        summary.warnings.push_back(path + ":" + std::to_string(line) +
                                   ": the first line announces " + std::to_string(summary.flows) +
                                   " flows; this one and those below are left out");
    }
    return summary;
}

std::vector<uint32_t>
ReadTraceNodes(const std::string& path, uint32_t nodeCount)
{
    return TraceNodes(InputLines(path), nodeCount);
}

std::vector<uint32_t>
ReadTraceNodes(std::istream& text, const std::string& name, uint32_t nodeCount)
{
    return TraceNodes(InputLines(text, name), nodeCount);
}

} // namespace ns3
