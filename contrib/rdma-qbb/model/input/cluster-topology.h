/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CLUSTER_TOPOLOGY_H
#define CLUSTER_TOPOLOGY_H

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A cluster's nodes and links, as read from a topology file.
 *
 * Three forms are read: SimAI's with six fields in its first line (nodes, GPUs per server,
 * NVSwitches, switches, links, GPU type), the HPCC simulator's with three (nodes, switches,
 * links), and htsim's fat trees (ReadHtsimTopology). A host is a node that originates and ends
 * traffic: a GPU with its NICs in the first form, a server in the second. Hosts never forward.
 *
 * @code
 * const ClusterTopology topology = ClusterTopology::Read("Spectrum-X_128g_8gps_100Gbps_A100");
 * for (const ClusterTopology::Port& port : topology.Ports(topology.NodeOfHost(3)))
 * {
 *     std::cout << port.peer << " at " << topology.links[port.link].rateBps << " bit/s\n";
 * }
 * @endcode
 *
 * Node ids are those of the file. Hosts are also numbered 0..HostCount()-1 in the order of their
 * ids; in the six-field form both numbers are the same. Port k of a node (from 0; files print k +
 * 1, as the HPCC simulator does) is the k-th link in file order that touches the node.
 */
class ClusterTopology
{
  public:
    /// Kind of a node.
    enum class NodeKind : uint8_t
    {
        Host,     ///< a GPU with its NICs, or a server in the three-field form
        NvSwitch, ///< switches between the GPUs of one server, in one tier or several
        Switch,   ///< switches between servers
    };

    /// A full-duplex cable between two ports.
    struct Link
    {
        uint32_t a;       ///< node id
        uint32_t b;       ///< node id
        uint64_t rateBps; ///< bit/s in each direction
        int64_t delayPs;  ///< propagation, one way, picoseconds
        double errorRate; ///< probability that a packet is lost, 0..1
        std::size_t line; ///< where it stands in the file; 0 if made by a program
        uint16_t portA;   ///< port at a, from 0
        uint16_t portB;   ///< port at b, from 0
    };

    /// One end of a link, seen from the node that owns the port.
    struct Port
    {
        uint32_t peer;     ///< node id at the other end
        uint32_t link;     ///< index into links
        uint16_t peerPort; ///< port at the other end
    };

    uint32_t nodeCount{0};             ///< hosts, NVSwitches and switches
    uint32_t gpusPerServer{1};         ///< hosts of a server; 1 in the three-field form
    uint32_t nvswitchCount{0};         ///< NVSwitches of all servers together
    uint32_t switchCount{0};           ///< network switches (ASW, PSW, ...)
    uint32_t hostCount{0};             ///< hosts (GPUs)
    std::string gpuType;               ///< "A100", "H100", ...; empty in the three-field form
    std::vector<NodeKind> kind;        ///< per node id
    std::vector<Link> links;           ///< in file order
    std::string source;                ///< the file's name, for messages
    std::vector<std::string> warnings; ///< for the user, a line each

    /**
     * @param path topology file
     * @param gpusPerServer overrides the hosts of a server, for the three-field form; 0 keeps them
     * @throw InputError naming file and line of the first contradiction
     */
    static ClusterTopology Read(const std::string& path, uint32_t gpusPerServer = 0);

    /// As Read(), from a stream. @param name its name in errors
    static ClusterTopology Read(std::istream& text,
                                const std::string& name,
                                uint32_t gpusPerServer = 0);

    /**
     * Number hosts and ports after kind, links and gpusPerServer were filled by a program instead
     * of a file. Fills hostCount, nvswitchCount, switchCount, nodeCount and the links' ports.
     */
    void Index();

    /// @return the ports of a node, port 0 first
    std::span<const Port> Ports(uint32_t node) const
    {
        return {m_ports.data() + m_firstPort[node], m_firstPort[node + 1] - m_firstPort[node]};
    }

    /// @return number of the host with that node id, or UINT32_MAX if the node is no host
    uint32_t HostIndexOf(uint32_t node) const
    {
        return m_hostIndex[node];
    }

    /// @return node id of the host with that number
    uint32_t NodeOfHost(uint32_t host) const
    {
        return m_hostNode[host];
    }

    /// @return number of the server that the host is in, from 0
    uint32_t Server(uint32_t host) const
    {
        return host / gpusPerServer;
    }

    /// @return number of servers; the last may have fewer hosts
    uint32_t ServerCount() const
    {
        return (hostCount + gpusPerServer - 1) / gpusPerServer;
    }

    /// @return whether the node has that kind
    bool Is(uint32_t node, NodeKind wanted) const
    {
        return kind[node] == wanted;
    }

    /// @return whether links join every two hosts of each server, and there are no NVSwitches
    bool IsMesh() const
    {
        return m_isMesh;
    }

    /// @return whether the link is of a server's own network, as NVLink or xGMI: it ends at an
    /// NVSwitch, or is one of a mesh
    bool IsNvLink(uint32_t link) const
    {
        return Is(links[link].a, NodeKind::NvSwitch) || Is(links[link].b, NodeKind::NvSwitch) ||
               (m_isMesh && JoinsNeighbours(links[link]));
    }

    /// @return whether the two hosts share a server that has NVSwitches, or a link of a mesh,
    /// between them
    bool ShareNvLink(uint32_t hostA, uint32_t hostB) const;

    /// @return the server of an NVSwitch, by its own hosts or those of NVSwitches that it is linked
    /// to; UINT32_MAX if it joins none
    uint32_t ServerOfNvSwitch(uint32_t node) const
    {
        return m_nvServer[m_nvFabric[node]];
    }

    /// @return indices of the links between two nodes: none, one, or those of a bundle
    std::vector<uint32_t> LinksBetween(uint32_t a, uint32_t b) const;

    /// @return the rate of the fastest link from a host to the network, 0 if there is none
    uint64_t MaxNicRateBps() const;

    /// A NIC that hosts of one server share: a node between them and the network.
    struct SharedNic
    {
        uint32_t hosts;  ///< how many
        uint32_t uplink; ///< its link to the network
    };

    /// @return the NIC that a node is: a switch with several hosts of a single server and one other
    /// link; nothing for any other node
    std::optional<SharedNic> FindSharedNic(uint32_t node) const;

    /// Two hosts with no path between them.
    struct Unconnected
    {
        uint32_t hostA;
        uint32_t hostB;
    };

    /**
     * Paths run through network switches, through the NVSwitches of one server, which may be linked
     * to each other, or over a direct link; hosts do not forward and NVSwitches do not connect
     * servers.
     * @param gpusPassOn whether a GPU also reaches the links of other GPUs of its server, as
     * in a rail-only network, where data changes rails over NVLink
     * @return a pair of hosts with no path between them, if there is one
     */
    std::optional<Unconnected> FindUnconnected(bool gpusPassOn) const;

  private:
    /// @return whether a link joins two hosts of one server
    bool JoinsNeighbours(const Link& link) const
    {
        return Is(link.a, NodeKind::Host) && Is(link.b, NodeKind::Host) &&
               Server(m_hostIndex[link.a]) == Server(m_hostIndex[link.b]);
    }

    /// @return whether a link joins every two hosts of each server
    bool LinksJoinServers() const;

    void FindNvFabrics();

    bool m_isMesh{false};
    std::vector<uint32_t> m_nvFabric;     ///< per node id: the set of NVSwitches linked together
    std::vector<uint32_t> m_nvServer;     ///< by m_nvFabric: the server
    std::vector<std::size_t> m_firstPort; ///< per node, into m_ports; one more at the end
    std::vector<Port> m_ports;
    std::vector<uint32_t> m_hostIndex;
    std::vector<uint32_t> m_hostNode;
};

} // namespace ns3

#endif /* CLUSTER_TOPOLOGY_H */
