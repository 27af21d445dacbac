/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operator-times.h"

#include <cmath>
#include <iterator>

namespace AstraSim
{

namespace
{

/// @return the value at @p place. @param points by their coordinates @param valueOf a point
template <typename Points, typename ValueOf>
double
Interpolate(const Points& points, double place, ValueOf valueOf)
{
    const auto high = points.lower_bound(place);
    if (high == points.end())
    {
        const auto& last = *points.rbegin();
        return valueOf(last.second) * place / last.first;
    }
    if (high == points.begin() || high->first == place)
    {
        return valueOf(high->second);
    }
    const auto low = std::prev(high);
    const double weight = std::log(place / low->first) / std::log(high->first / low->first);
    return std::pow(valueOf(low->second), 1 - weight) * std::pow(valueOf(high->second), weight);
}

} // namespace

double
OperatorTimes::At(double first, double second) const
{
    return Interpolate(m_curves, first, [second](const Curve& curve) {
        return Interpolate(curve, second, [](double nanoseconds) { return nanoseconds; });
    });
}

} // namespace AstraSim
