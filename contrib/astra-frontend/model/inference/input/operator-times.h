/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATOR_TIMES_H
#define OPERATOR_TIMES_H

#include <map>
#include <utility>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Measured times of an operator by one coordinate, or by two.
 *
 * Between points, the logarithm of the time is linear in the logarithms of the coordinates. Below
 * the first point the time stays, as launching a kernel takes it; beyond the last it grows in
 * proportion.
 */
class OperatorTimes
{
  public:
    /// Nanoseconds by a coordinate; all are above 0.
    using Curve = std::map<double, double>;

    /// Add the @p curve over the second coordinate at @p first.
    void Add(double first, Curve curve)
    {
        m_curves[first] = std::move(curve);
    }

    bool IsEmpty() const
    {
        return m_curves.empty();
    }

    /// @return the largest first coordinate; 0 if there is none
    double Last() const
    {
        return m_curves.empty() ? 0 : m_curves.rbegin()->first;
    }

    /// @return nanoseconds; coordinates are above 0
    double At(double first, double second) const;

  private:
    std::map<double, Curve> m_curves; ///< by the first coordinate
};

} // namespace AstraSim

#endif /* OPERATOR_TIMES_H */
