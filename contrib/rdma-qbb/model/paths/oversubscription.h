/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OVERSUBSCRIPTION_H
#define OVERSUBSCRIPTION_H

namespace ns3
{

class ClusterTopology;

/**
 * Compare the links of all hosts with those between tiers of switches. A tier is all switches that
 * are as many links away from the nearest host.
 * @return by how much the narrowest of these carries less than all hosts send, at least 1
 */
double FindOversubscription(const ClusterTopology& topology);

} // namespace ns3

#endif /* OVERSUBSCRIPTION_H */
