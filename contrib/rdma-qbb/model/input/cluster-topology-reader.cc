/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cluster-topology.h"
#include "htsim-topology.h"

#include "ns3/foreign-file.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/units.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

using NodeKind = ClusterTopology::NodeKind;

// More nodes or links than any cluster has: such a number is a typing error, not a topology.
constexpr uint64_t MAX_NODES = 10'000'000;
constexpr uint64_t MAX_LINKS = 100'000'000;
constexpr std::size_t MAX_PORTS = UINT16_MAX;
constexpr const char* TOPOLOGY_HEADER =
    "6 fields (nodes, GPUs per server, NVSwitches, switches, links, "
    "GPU type), 3 (nodes, switches, links) or ns3-datacenter's 4 (nodes, switches, ToRs, links)";

/// Reads one topology file; its member functions follow the file from top to bottom.
class TopologyFile
{
  public:
    explicit TopologyFile(InputLines lines)
        : m_lines(std::move(lines))
    {
        m_topology.source = m_lines.Name();
    }

    ClusterTopology Read(uint32_t gpusPerServer)
    {
        if (!m_lines.Next())
        {
            m_lines.Fail("the topology is empty", TOPOLOGY_HEADER);
        }
        if (BeginsHtsimTopology(m_lines.Fields()[0]))
        {
            m_topology = ReadHtsimTopology(m_lines);
        }
        else
        {
            ReadHeader();
            ReadSwitchIds();
            ReadLinks();
        }
        if (gpusPerServer != 0)
        {
            m_topology.gpusPerServer = gpusPerServer;
        }
        m_topology.Index();
        CheckNvSwitches();
        CheckNvLinkDomains();
        CheckReachable();
        return std::move(m_topology);
    }

  private:
    uint64_t Number(std::string_view text, const char* what, uint64_t max) const
    {
        const auto value = ParseUnsigned(text);
        if (!value || *value > max)
        {
            m_lines.Fail("'" + std::string(text) + "' is not a valid " + what,
                         "a whole number up to " + std::to_string(max));
        }
        return *value;
    }

    uint32_t Node(std::string_view text) const
    {
        const auto value = ParseUnsigned(text);
        if (!value || *value >= m_topology.nodeCount)
        {
            m_lines.Fail("'" + std::string(text) + "' is not a valid node",
                         "an id from 0 to " + std::to_string(m_topology.nodeCount - 1));
        }
        return *value;
    }

    /// @return whether the header is that of ns3-datacenter: nodes, switches, ToRs and links, in
    /// Reverie's files with two rates behind them, which no number of links and GPU type are
    bool IsOfNs3Datacenter() const
    {
        const auto& fields = m_lines.Fields();
        const auto rate = fields.size() == 6 ? ParseUnsigned(fields[4]) : std::nullopt;
        return fields.size() == 4 || (rate > MAX_LINKS && ParseUnsigned(fields[5]));
    }

    void ReadHeader()
    {
        const auto& fields = m_lines.Fields();
        m_isOfNs3Datacenter = IsOfNs3Datacenter();
        if (fields.size() != 6 && fields.size() != 3 && !m_isOfNs3Datacenter)
        {
            m_lines.Fail("the first line has " + std::to_string(fields.size()) + " fields",
                         TOPOLOGY_HEADER);
        }
        m_sixFields = fields.size() == 6 && !m_isOfNs3Datacenter;
        m_topology.nodeCount = Number(fields[0], "number of nodes", MAX_NODES);
        if (m_sixFields)
        {
            m_topology.gpusPerServer = Number(fields[1], "number of GPUs per server", MAX_NODES);
            m_topology.nvswitchCount = Number(fields[2], "number of NVSwitches", MAX_NODES);
            m_topology.gpuType = fields[5];
        }
        m_topology.switchCount =
            Number(fields[m_sixFields ? 3 : 1], "number of switches", MAX_NODES);
        const std::size_t ofLinks = m_sixFields ? 4 : m_isOfNs3Datacenter ? 3 : 2;
        m_linkCount = Number(fields[ofLinks], "number of links", MAX_LINKS);

        const uint64_t forwarding = m_topology.nvswitchCount + m_topology.switchCount;
        if (forwarding >= m_topology.nodeCount)
        {
            m_lines.Fail(std::to_string(m_topology.nodeCount) + " nodes with " +
                             std::to_string(m_topology.nvswitchCount) + " NVSwitches and " +
                             std::to_string(m_topology.switchCount) +
                             " switches leave no node to be a host",
                         "more nodes, or fewer switches");
        }
        if (m_topology.gpusPerServer == 0)
        {
            m_lines.Fail("a server has 0 GPUs", "at least 1");
        }
        const uint64_t hosts = m_topology.nodeCount - forwarding;
        if (m_sixFields && hosts % m_topology.gpusPerServer != 0)
        {
            m_lines.Fail(std::to_string(hosts) + " GPUs do not fill servers of " +
                             std::to_string(m_topology.gpusPerServer),
                         "nodes - NVSwitches - switches to be a multiple of the GPUs per server");
        }
        if (m_sixFields && m_topology.nvswitchCount % (hosts / m_topology.gpusPerServer) != 0)
        {
            m_lines.Fail(std::to_string(m_topology.nvswitchCount) + " NVSwitches for " +
                             std::to_string(hosts / m_topology.gpusPerServer) + " servers",
                         "the same number in each server");
        }
    }

    void ReadSwitchIds()
    {
        m_topology.kind.assign(m_topology.nodeCount, NodeKind::Host);
        const std::size_t wanted = m_topology.nvswitchCount + m_topology.switchCount;
        std::size_t count = 0;
        while (count < wanted)
        {
            if (!m_lines.Next())
            {
                m_lines.Fail("the file ends after " + std::to_string(count) + " of " +
                                 std::to_string(wanted) + " switch ids",
                             "as many switch ids as the first line says");
            }
            for (std::string_view field : m_lines.Fields())
            {
                const uint32_t node = Node(field);
                if (m_topology.kind[node] != NodeKind::Host)
                {
                    m_lines.Fail("node " + std::to_string(node) + " is listed as a switch twice",
                                 "each switch once");
                }
                if (count == wanted)
                {
                    m_lines.Fail("there are more switch ids than the first line says",
                                 std::to_string(wanted));
                }
                m_topology.kind[node] =
                    count < m_topology.nvswitchCount ? NodeKind::NvSwitch : NodeKind::Switch;
                ++count;
            }
        }
        if (m_sixFields)
        {
            CheckGpusComeFirst();
        }
    }

    void CheckGpusComeFirst() const
    {
        const uint32_t hosts =
            m_topology.nodeCount - m_topology.nvswitchCount - m_topology.switchCount;
        for (uint32_t node = 0; node < hosts; ++node)
        {
            if (m_topology.kind[node] != NodeKind::Host)
            {
                m_lines.Fail("node " + std::to_string(node) + " is listed as a switch",
                             "GPUs to be 0.." + std::to_string(hosts - 1) +
                                 ", and switches after them");
            }
        }
    }

    void ReadLinks()
    {
        m_topology.links.reserve(m_linkCount);
        std::vector<std::size_t> degree(m_topology.nodeCount, 0);
        while (m_lines.Next())
        {
            if (m_topology.links.size() == m_linkCount)
            {
                // The HPCC simulator's files go on with spare links and with notes for people; it
                // reads as many links as the first line says, and nothing after them.
                if (!m_sixFields)
                {
                    WarnAboutTheRest();
                    return;
                }
                m_lines.Fail("there are more links than the first line says",
                             std::to_string(m_linkCount) + " links");
            }
            const ClusterTopology::Link link = ReadLink();
            for (uint32_t node : {link.a, link.b})
            {
                if (++degree[node] > MAX_PORTS)
                {
                    m_lines.Fail("node " + std::to_string(node) + " has too many links",
                                 "at most " + std::to_string(MAX_PORTS));
                }
            }
            m_topology.links.push_back(link);
        }
        if (m_topology.links.size() < m_linkCount)
        {
            m_lines.Fail("the file ends after " + std::to_string(m_topology.links.size()) + " of " +
                             std::to_string(m_linkCount) + " links",
                         "as many links as the first line says");
        }
    }

    void WarnAboutTheRest()
    {
        if (ParseUnsigned(m_lines.Fields()[0]))
        {
            m_topology.warnings.push_back(
                m_lines.Name() + ":" + std::to_string(m_lines.Line()) +
                ": links from here on are not read, the first line says " +
                std::to_string(m_linkCount));
        }
    }

    ClusterTopology::Link ReadLink()
    {
        const auto& fields = m_lines.Fields();
        if (fields.size() != 5)
        {
            m_lines.Fail("a link has " + std::to_string(fields.size()) + " fields",
                         "5: source, destination, rate, delay, error rate");
        }
        ClusterTopology::Link link{};
        link.a = Node(fields[0]);
        link.b = Node(fields[1]);
        link.line = m_lines.Line();
        if (link.a == link.b)
        {
            m_lines.Fail("node " + std::to_string(link.a) + " is linked to itself",
                         "two different nodes");
        }
        const auto rate =
            m_isOfNs3Datacenter ? ParseDataRateBps(fields[2]) : ParseRateWithUnit(fields[2]);
        if (!rate || *rate == 0)
        {
            m_lines.Fail("'" + std::string(fields[2]) + "' is not a valid link rate",
                         "a rate above 0 with its unit, such as 400Gbps");
        }
        link.rateBps = *rate;
        const auto delay = ParseTimePs(fields[3]);
        if (!delay)
        {
            m_lines.Fail("'" + std::string(fields[3]) + "' is not a valid link delay",
                         "a time such as 0.0005ms or 500ns");
        }
        link.delayPs = *delay;
        WarnOfSeconds(fields[3], *delay);
        const auto errorRate = ParseReal(fields[4]);
        if (!errorRate || *errorRate < 0 || *errorRate > 1)
        {
            m_lines.Fail("'" + std::string(fields[4]) + "' is not a valid error rate",
                         "a packet loss probability from 0 to 1");
        }
        link.errorRate = *errorRate;
        CheckDuplicate(link);
        return link;
    }

    /// ns-3 takes a time without its unit for seconds, and few mean that.
    void WarnOfSeconds(std::string_view text, int64_t delayPs)
    {
        const bool isBare = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
        if (isBare && delayPs > 0 && !m_hasBareDelay)
        {
            m_hasBareDelay = true;
            m_topology.warnings.push_back(m_lines.Name() + ":" + std::to_string(m_lines.Line()) +
                                          ": the delay " + std::string(text) +
                                          " has no unit and counts as seconds");
        }
    }

    /// Parallel links between two switches are a bundle; a host's cable listed twice is a mistake.
    void CheckDuplicate(const ClusterTopology::Link& link)
    {
        const auto [low, high] = std::minmax(link.a, link.b);
        const auto [first, inserted] =
            m_firstLine.try_emplace((uint64_t{low} << 32) | high, link.line);
        const bool bundle = m_topology.kind[link.a] != NodeKind::Host &&
                            m_topology.kind[link.b] == m_topology.kind[link.a];
        if (!inserted && !bundle)
        {
            m_lines.Fail("the link between " + std::to_string(link.a) + " and " +
                             std::to_string(link.b) + " repeats line " +
                             std::to_string(first->second),
                         "one link (only two switches may have several in parallel)");
        }
    }

    void CheckNvSwitches() const
    {
        for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
        {
            if (!m_topology.Is(node, NodeKind::NvSwitch))
            {
                continue;
            }
            // Where NVSwitches are linked to each other, all of them are of one server.
            const uint32_t server = m_topology.ServerOfNvSwitch(node);
            for (const ClusterTopology::Port& port : m_topology.Ports(node))
            {
                const std::size_t line = m_topology.links[port.link].line;
                if (m_topology.Is(port.peer, NodeKind::Switch))
                {
                    FailAt(line,
                           "NVSwitch " + std::to_string(node) + " is linked to switch " +
                               std::to_string(port.peer),
                           "links to the GPUs and NVSwitches of one server only");
                }
                const uint32_t host = m_topology.HostIndexOf(port.peer);
                const uint32_t peerServer = host == UINT32_MAX ? server : m_topology.Server(host);
                if (server != peerServer)
                {
                    FailAt(line,
                           "NVSwitch " + std::to_string(node) + " joins servers " +
                               std::to_string(std::min(server, peerServer)) + " and " +
                               std::to_string(std::max(server, peerServer)),
                           "links to the GPUs and NVSwitches of one server only");
                }
            }
        }
    }

    /// Collectives take the GPUs of a server with NVSwitches for one NVLink domain.
    void CheckNvLinkDomains() const
    {
        std::vector<uint32_t> domain(m_topology.nodeCount); // of each node: a node nearer its root
        std::iota(domain.begin(), domain.end(), 0);
        const auto rootOf = [&](uint32_t node) {
            while (domain[node] != node)
            {
                node = domain[node] = domain[domain[node]];
            }
            return node;
        };
        std::vector<bool> hasNvSwitches(m_topology.ServerCount());
        for (const ClusterTopology::Link& link : m_topology.links)
        {
            const auto a = FindServer(link.a);
            if (a && a == FindServer(link.b))
            {
                domain[rootOf(link.a)] = rootOf(link.b);
                if (m_topology.Is(link.a, NodeKind::NvSwitch) ||
                    m_topology.Is(link.b, NodeKind::NvSwitch))
                {
                    hasNvSwitches[*a] = true;
                }
            }
        }
        for (uint32_t host = 0; host < m_topology.hostCount; ++host)
        {
            const uint32_t server = m_topology.Server(host);
            const uint32_t first = m_topology.NodeOfHost(server * m_topology.gpusPerServer);
            const uint32_t node = m_topology.NodeOfHost(host);
            if (hasNvSwitches[server] && rootOf(node) != rootOf(first))
            {
                FailAt(1,
                       "GPUs " + std::to_string(first) + " and " + std::to_string(node) +
                           " of server " + std::to_string(server) + " are not joined by NVLinks",
                       "NVSwitches or links that join all " +
                           std::to_string(m_topology.gpusPerServer) +
                           " GPUs of a server, or fewer GPUs per server in the first line");
            }
        }
    }

    /// @return the server of a GPU or an NVSwitch; nothing for other nodes
    std::optional<uint32_t> FindServer(uint32_t node) const
    {
        const uint32_t host = m_topology.HostIndexOf(node);
        const uint32_t server = host != UINT32_MAX ? m_topology.Server(host)
                                : m_topology.Is(node, NodeKind::NvSwitch)
                                    ? m_topology.ServerOfNvSwitch(node)
                                    : UINT32_MAX;
        return server == UINT32_MAX ? std::nullopt : std::optional(server);
    }

    /// @return whether some GPUs are linked to each other
    bool HasDirectLinks() const
    {
        const auto isHost = [&](uint32_t node) {
            return m_topology.Is(node, ClusterTopology::NodeKind::Host);
        };
        return std::ranges::any_of(m_topology.links, [&](const auto& link) {
            return isHost(link.a) && isHost(link.b);
        });
    }

    void CheckReachable()
    {
        auto pair = m_topology.FindUnconnected(false);
        if (pair && !m_topology.FindUnconnected(true))
        {
            m_topology.warnings.push_back(
                m_topology.source + ": host " + std::to_string(m_topology.NodeOfHost(pair->hostA)) +
                " and host " + std::to_string(m_topology.NodeOfHost(pair->hostB)) +
                (HasDirectLinks()
                     ? " meet only in other GPUs (linked without a switch): collectives "
                       "whose messages stay between neighbours, such as rings, work"
                     : " meet only in another GPU's NVLink (rail-only): no message "
                       "passes between such pairs but those of an AllToAll, by PXN"));
            pair.reset();
        }
        if (pair)
        {
            FailAt(0,
                   "host " + std::to_string(m_topology.NodeOfHost(pair->hostB)) +
                       " cannot be reached from host " +
                       std::to_string(m_topology.NodeOfHost(pair->hostA)),
                   "a path through switches, through the NVSwitch of one server, or along links "
                   "between GPUs");
        }
    }

    [[noreturn]] void FailAt(std::size_t line,
                             const std::string& what,
                             const std::string& expected) const
    {
        throw InputError(m_topology.source, line, what, expected);
    }

    InputLines m_lines;
    ClusterTopology m_topology;
    bool m_sixFields{false};
    bool m_isOfNs3Datacenter{false}; ///< rates may be bits per second, without their unit
    uint64_t m_linkCount{0};
    bool m_hasBareDelay{false}; ///< a delay without its unit has been warned of
    std::unordered_map<uint64_t, std::size_t> m_firstLine; ///< of each linked pair of nodes
};

} // namespace

ClusterTopology
ClusterTopology::Read(const std::string& path, uint32_t gpusPerServer)
{
    RefuseForeignFile(path);
    return TopologyFile(InputLines(path)).Read(gpusPerServer);
}

ClusterTopology
ClusterTopology::Read(std::istream& text, const std::string& name, uint32_t gpusPerServer)
{
    return TopologyFile(InputLines(text, name)).Read(gpusPerServer);
}

} // namespace ns3
