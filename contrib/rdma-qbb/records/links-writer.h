/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINKS_WRITER_H
#define LINKS_WRITER_H

#include "ns3/link-use.h"
#include "ns3/qbb-port-counters.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ns3
{

class ClusterTopology;
class RdmaFabric;

/// Counters of a port up to now.
struct LinkCounters
{
    uint64_t rateBps{0};
    uint64_t txBytes{0};    ///< sent, headers and PFC frames included
    double busyNs{0};       ///< time spent sending
    uint64_t marks{0};      ///< frames marked CE as they left
    uint64_t trims{0};      ///< frames trimmed on their way out
    QbbPortCounters port{}; ///< all that the port counts
};

/// @return the counters of a node's port (from 0)
using LinkCountersOf = std::function<LinkCounters(uint32_t node, uint16_t port)>;

/// @return a reader of the counters of a fabric, which must outlive it
LinkCountersOf CountersOf(const RdmaFabric& fabric);

/// @return a reader of the ports' counters. Bytes count up to this call, since later frames (a
/// resume, a duplicate) belong to no flow; pauses, marks and drops up to the reading.
/// @param endPs when the last flow ended, at most now; limits the busy times
LinkCountersOf CountersNow(const RdmaFabric& fabric, int64_t endPs);

/**
 * Write the work of every port of a network, a row per port.
 * @param topology of the ports
 * @param counters of their work
 * @param use of them
 * @param purposes name of each purpose in @p use, by number
 * @param path file to write
 * @throw InputError if the file cannot be written
 */
void WriteLinks(const ClusterTopology& topology,
                const LinkCountersOf& counters,
                const LinkUse& use,
                const std::vector<std::string>& purposes,
                const std::string& path);

/// @return the columns, as Columns::ToCsv() has them
std::string DescribeLinkColumns();

} // namespace ns3

#endif /* LINKS_WRITER_H */
