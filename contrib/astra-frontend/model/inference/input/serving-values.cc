/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-values.h"

#include "ns3/units.h"

namespace AstraSim
{

ServingValues::ServingValues(const ns3::InputLines& lines)
    : m_lines(lines)
{
}

void
ServingValues::Refuse(std::string_view value,
                      std::string_view what,
                      const std::string& expected) const
{
    m_lines.Fail("'" + std::string(value) + "' is not a valid " + std::string(what), expected);
}

double
ServingValues::Real(std::size_t field) const
{
    const auto text = m_lines.Fields()[field];
    const auto value = ns3::ParseReal(text);
    if (!value || *value < 0 || *value > 1e18)
    {
        Refuse(text, "number", "a number from 0 to 1e18");
    }
    return *value;
}

double
ServingValues::PositiveReal(std::size_t field) const
{
    const double value = Real(field);
    if (value < 1e-9)
    {
        Refuse(m_lines.Fields()[field],
               "value of " + std::string(m_lines.Fields()[field - 1]),
               "a number above 0");
    }
    return value;
}

} // namespace AstraSim
