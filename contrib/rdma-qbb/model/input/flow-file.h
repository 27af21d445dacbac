/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_FILE_H
#define FLOW_FILE_H

#include "cluster-topology.h"

#include "ns3/input-lines.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

/// A message from one host to another.
struct FlowRecord
{
    uint32_t src;     ///< host number (not node id)
    uint32_t dst;     ///< host number (not node id)
    uint8_t priority; ///< priority group, 1..7
    uint16_t dport;   ///< UDP destination port
    uint64_t bytes;   ///< message size
    int64_t startPs;  ///< from the start of the simulation
    std::size_t line; ///< where it stands in the file
};

/**
 * @ingroup rdma-qbb
 * @brief Reads the HPCC simulator's flow file, one flow at a time.
 *
 * The first line says how many flows follow; lines after them are notes and are not read. A flow is
 * `src dst pg dport bytes start_seconds`, or without dport; src and dst are node ids. Flows must be
 * in ascending order of their start.
 *
 * @code
 * FlowFile flows("flow.txt", topology);
 * while (const auto flow = flows.Next())
 * {
 *     Start(*flow);
 * }
 * @endcode
 */
class FlowFile
{
  public:
    /// Destination port of flows without one in their line.
    static constexpr uint16_t DEFAULT_DPORT = 100;

    /**
     * @param path flow file
     * @param topology tells which nodes are hosts; must outlive the object
     * @throw InputError if the file cannot be read or does not begin with a number
     */
    FlowFile(const std::string& path, const ClusterTopology& topology);

    /// As above, from a stream. @param name its name in errors
    FlowFile(std::istream& text, const std::string& name, const ClusterTopology& topology);

    /// @return the next flow, or nothing after the last @throw InputError for a bad line
    std::optional<FlowRecord> Next();

    /// @return the line of a flow behind those that the file announces, which Next() leaves out; 0
    /// if there is none. After the last flow
    std::size_t FindSurplus();

    /// @return how many flows the file announces
    uint64_t Count() const
    {
        return m_count;
    }

  private:
    void ReadCount();
    uint32_t Host(std::string_view text, const char* role) const;

    InputLines m_lines;
    const ClusterTopology& m_topology;
    uint64_t m_count{0};
    uint64_t m_read{0};
    int64_t m_lastStartPs{0};
};

/// Sums over a flow file.
struct FlowFileSummary
{
    uint64_t flows{0};
    uint64_t bytes{0};
    uint8_t priorityMask{0}; ///< bit p: some flow has priority group p
    int64_t firstStartPs{0};
    int64_t lastStartPs{0};
    std::vector<std::string> warnings; ///< about lines that are left out
};

/// Read a whole flow file. @return its summary @throw InputError for its first mistake
FlowFileSummary CheckFlowFile(const std::string& path, const ClusterTopology& topology);

/**
 * @param path file with a number n and n node ids
 * @param nodeCount ids from here on are of other topologies and are left out
 * @return the ids, ascending, each once
 * @throw InputError for a word that is no number, or too few of them
 */
std::vector<uint32_t> ReadTraceNodes(const std::string& path, uint32_t nodeCount);

/// As above, from a stream. @param name its name in errors
std::vector<uint32_t> ReadTraceNodes(std::istream& text,
                                     const std::string& name,
                                     uint32_t nodeCount);

} // namespace ns3

#endif /* FLOW_FILE_H */
