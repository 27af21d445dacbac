/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_COUNTING_H
#define LINK_COUNTING_H

#include "link-use.h"

#include <cstdint>

namespace ns3
{

class RdmaFabric;
class RdmaQueuePair;
struct InNetworkSpec;

/**
 * Count a message that is being posted on the links that its frames will take by the routes in
 * force. ECMP's choice is the switches' own; where a switch chooses by frame or by flowlet, the
 * bytes are shared evenly among its ports on shortest paths. Later changes of routes are not
 * followed. Costs one look at each switch on the path, whatever the number of frames.
 *
 * @param use gets the counts
 * @param fabric the queue pair's
 * @param qp a queue pair between two hosts
 * @param bytes of the message
 * @param purpose what it is for
 */
void CountMessage(LinkUse& use,
                  const RdmaFabric& fabric,
                  const RdmaQueuePair& qp,
                  uint64_t bytes,
                  uint16_t purpose);

/// Count an in-network operation on the links between its members and its switch. @param use gets
/// the counts @param fabric the members' @param spec the operation @param purpose what it is for
void CountOperation(LinkUse& use,
                    const RdmaFabric& fabric,
                    const InNetworkSpec& spec,
                    uint16_t purpose);

} // namespace ns3

#endif /* LINK_COUNTING_H */
