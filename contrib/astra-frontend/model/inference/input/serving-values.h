/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_VALUES_H
#define SERVING_VALUES_H

#include "ns3/input-lines.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace AstraSim
{

/// The values of the line at which the reader of an INFERENCE file is. Fields count from 0, the
/// line's key; all throw ns3::InputError where a value is wrong.
class ServingValues
{
  public:
    /// @param lines outlive the object
    explicit ServingValues(const ns3::InputLines& lines);

    /// @return the line
    const ns3::InputLines& GetLine() const
    {
        return m_lines;
    }

    /// Refuse the value. @param what the value's place in the line
    [[noreturn]] void Refuse(std::string_view value,
                             std::string_view what,
                             const std::string& expected) const;

    /// @return a number, 0 or more
    double Real(std::size_t field) const;

    /// @return a number above 0
    double PositiveReal(std::size_t field) const;

  private:
    const ns3::InputLines& m_lines;
};

} // namespace AstraSim

#endif /* SERVING_VALUES_H */
