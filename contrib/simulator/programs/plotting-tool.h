/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLOTTING_TOOL_H
#define PLOTTING_TOOL_H

#include <string>

namespace AstraSim
{

/**
 * Draw where the time went, by scripts/plot.py of the checkout or the package that this program is
 * part of.
 * @param endToEnd the run's EndToEnd.csv, which may have a prefix
 * @param picture the path that the picture will have: beside that file, with the same prefix
 * @return why there is no picture, as a message, or an empty string
 */
[[nodiscard]] std::string DrawBreakdown(const std::string& endToEnd, const std::string& picture);

} // namespace AstraSim

#endif /* PLOTTING_TOOL_H */
