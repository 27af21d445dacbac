/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_FILE_H
#define FLOW_FILE_H

#include "cluster-topology.h"
#include "connection-matrix.h"
#include "flow-record.h"
#include "flow-triggers.h"

#include "ns3/input-lines.h"

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Reads the HPCC simulator's flow file, one flow at a time, or htsim's connection matrix
 * (ConnectionMatrix).
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
    /**
     * @param path flow file
     * @param topology tells which nodes are hosts; must outlive the object
     * @throw InputError if the file cannot be read or does not begin with a number
     */
    FlowFile(const std::string& path, const ClusterTopology& topology);

    /// As above, from a stream. @param name its name in errors
    FlowFile(std::istream& text, const std::string& name, const ClusterTopology& topology);

    /// @return the next flow with a start time, or nothing after the last
    /// @throw InputError for a bad line
    std::optional<FlowRecord> Next();

    /// @return the line of a flow behind those that the file announces, which Next() leaves out; 0
    /// if there is none. After the last flow
    std::size_t FindSurplus();

    /// @return how many flows the file announces
    uint64_t Count() const
    {
        return m_count;
    }

    /// @return the triggers, with the flows that have no start time; only a connection matrix has
    /// any
    FlowTriggers& Triggers()
    {
        return m_matrix.triggers;
    }

    /// @return for the user, a line each
    const std::vector<std::string>& Warnings() const
    {
        return m_matrix.warnings;
    }

  private:
    void ReadCount();
    uint32_t Host(std::string_view text, const char* role) const;

    InputLines m_lines;
    const ClusterTopology& m_topology;
    bool m_isMatrix{false};
    ConnectionMatrix m_matrix; ///< empty if the file is none
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
    bool hasTriggers{false};           ///< flows start when others end
    std::vector<std::string> warnings; ///< about lines and words that have no effect
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
