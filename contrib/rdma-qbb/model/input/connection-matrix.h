/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONNECTION_MATRIX_H
#define CONNECTION_MATRIX_H

#include "cluster-topology.h"
#include "flow-record.h"
#include "flow-triggers.h"

#include "ns3/input-lines.h"

#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The flows of a connection matrix of htsim (a .cm file).
 *
 * @code
 * Nodes 16
 * Connections 2
 * Triggers 1
 * 0->13 id 1 start 0 size 2000000 send_done_trigger 1
 * 13->0 id 2 trigger 1 size 2000000
 * trigger id 1 oneshot
 * @endcode
 *
 * Sources and destinations are host numbers; start is in picoseconds and size in bytes.
 */
struct ConnectionMatrix
{
    std::vector<FlowRecord> flows;     ///< those with a start time, in the order of their start
    FlowTriggers triggers;             ///< with the other flows
    uint64_t count{0};                 ///< of all flows
    std::vector<std::string> warnings; ///< for the user, a line each

    /// @return whether a file whose first word is this one is a connection matrix
    static bool BeginsWith(std::string_view word);

    /**
     * @param lines at the first line of the file
     * @throw InputError for its first mistake, for a word that has no counterpart here, and for a
     * flow that would never start
     */
    static ConnectionMatrix Read(InputLines& lines, const ClusterTopology& topology);
};

} // namespace ns3

#endif /* CONNECTION_MATRIX_H */
