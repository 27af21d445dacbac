/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "breakdown-table.h"

#include <fmt/format.h>
#include <vector>

namespace AstraSim
{

namespace
{

struct BreakdownPart
{
    std::string name;
    double microseconds;
};

double
Share(double part, double total)
{
    return total > 0 ? 100 * part / total : 0;
}

/// In the order in which they are shown.
std::vector<BreakdownPart>
PartsOf(const TimeBreakdown& breakdown)
{
    const auto exposed = [&breakdown](GroupKind kind) {
        return breakdown.exposed[static_cast<std::size_t>(kind)];
    };
    std::vector<BreakdownPart> parts = {
        {"compute", breakdown.compute},
        {"exposed TP communication", exposed(GroupKind::Tp)},
        {"exposed DP communication", exposed(GroupKind::Dp)},
        {"exposed DP_EP communication", exposed(GroupKind::DpEp)},
        {"exposed EP communication", exposed(GroupKind::Ep)},
        {"exposed PP communication", exposed(GroupKind::Pp)},
    };
    if (exposed(GroupKind::Cp) > 0)
    {
        parts.push_back({"exposed CP communication", exposed(GroupKind::Cp)});
    }
    if (exposed(GroupKind::Custom) > 0)
    {
        parts.push_back({"exposed communication of other groups", exposed(GroupKind::Custom)});
    }
    parts.push_back({"bubble (waiting for other ranks)", breakdown.bubble});
    return parts;
}

} // namespace

std::string
BreakdownTable(const TimeBreakdown& breakdown)
{
    std::string text = fmt::format("{:<40} {:>18} {:>8}\n", "", "us", "share");
    for (const BreakdownPart& part : PartsOf(breakdown))
    {
        text += fmt::format("{:<40} {:>18.3f} {:>7.2f}%\n",
                            part.name,
                            part.microseconds,
                            Share(part.microseconds, breakdown.total));
    }
    return text + fmt::format("{:<40} {:>18.3f}\n", "total", breakdown.total);
}

} // namespace AstraSim
