/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BREAKDOWN_TABLE_H
#define BREAKDOWN_TABLE_H

#include "ns3/end-to-end-writer.h"

#include <string>
#include <vector>

namespace AstraSim
{

/// A part of a run's time.
struct BreakdownPart
{
    std::string name;
    double microseconds;
};

/// @return the parts of a run's time in the order in which they are shown: compute, exposed
/// communication of each kind of group, bubble
std::vector<BreakdownPart> PartsOf(const TimeBreakdown& breakdown);

/// @return a table: each part with its share of the total
std::string BreakdownTable(const TimeBreakdown& breakdown);

/**
 * Draw the parts as a bar with a legend.
 * @param title what the picture is about
 * @throw ns3::InputError if the file cannot be written
 */
void WriteBreakdownSvg(const TimeBreakdown& breakdown,
                       const std::string& title,
                       const std::string& path);

} // namespace AstraSim

#endif /* BREAKDOWN_TABLE_H */
