/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-values.h"

#include "ns3/units.h"

namespace AstraSim
{

namespace
{

constexpr int64_t PS_PER_MS = 1'000'000'000;

} // namespace

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

uint64_t
ServingValues::Whole(std::size_t field, uint64_t least, uint64_t most) const
{
    const auto text = m_lines.Fields()[field];
    const auto value = ns3::ParseUnsigned(text);
    if (!value || *value < least || *value > most)
    {
        Refuse(text,
               "value of " + std::string(m_lines.Fields()[field == 1 ? 0 : field - 1]),
               "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return *value;
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

TimePs
ServingValues::Milliseconds() const
{
    const auto time = ns3::ParseScaled(m_lines.Fields()[1], PS_PER_MS);
    if (!time || *time == 0)
    {
        Refuse(m_lines.Fields()[1], "limit", "milliseconds above 0");
    }
    return *time;
}

void
ServingValues::ExpectValues(std::size_t count) const
{
    const auto& fields = m_lines.Fields();
    if (fields.size() != count + 1)
    {
        m_lines.Fail("'" + std::string(fields[0]) + "' has " + std::to_string(fields.size() - 1) +
                         " values",
                     std::to_string(count));
    }
}

TokenCount
ServingValues::Tokens() const
{
    const auto& fields = m_lines.Fields();
    const auto tokens = [this](std::size_t field) {
        return static_cast<uint32_t>(Whole(field, 1, MOST_TOKENS));
    };
    if (fields.size() == 2)
    {
        return {TokenCount::Kind::Fixed, tokens(1), 0};
    }
    if (fields.size() == 3 && fields[1] == "exponential")
    {
        return {TokenCount::Kind::Exponential, tokens(2), 0};
    }
    if (fields.size() == 4 && fields[1] == "uniform")
    {
        const TokenCount count{TokenCount::Kind::Uniform, tokens(2), tokens(3)};
        if (count.high >= count.low)
        {
            return count;
        }
    }
    m_lines.Fail("'" + std::string(m_lines.RestFrom(1)) + "' is not a valid number of tokens",
                 "N, uniform LOW HIGH, or exponential MEAN");
}

} // namespace AstraSim
