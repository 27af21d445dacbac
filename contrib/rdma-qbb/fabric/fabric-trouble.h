/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_TROUBLE_H
#define FABRIC_TROUBLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

struct FabricParts;
struct FabricTotals;

/**
 * Look for results that users seldom mean, after a run: frames of a lossless priority that were
 * dropped, timeouts although nothing was lost, constants that do not fit a path, and changes of
 * links that never fell due.
 * @param totals of all processes
 * @param endPs when the traffic of interest was done
 * @return a line each, the same in all processes
 */
std::vector<std::string> DescribeTrouble(const FabricParts& fabric,
                                         const FabricTotals& totals,
                                         int64_t endPs);

} // namespace ns3

#endif /* FABRIC_TROUBLE_H */
