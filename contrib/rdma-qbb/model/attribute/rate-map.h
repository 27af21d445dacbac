/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RATE_MAP_H
#define RATE_MAP_H

#include "ns3/attribute-helper.h"
#include "ns3/attribute.h"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A value that depends on a link's rate: an attribute's type.
 *
 * As text: "25Gb/s=100000 100Gb/s=400000", a value alone for all rates, or nothing.
 */
class RateMap
{
  public:
    RateMap() = default;

    /// The same value for all rates.
    explicit RateMap(double value)
        : m_forAll(value)
    {
    }

    explicit RateMap(std::map<uint64_t, double> byRateBps);

    /// @return the value of a rate, or of the nearest one listed; nullopt if there is no value
    std::optional<double> At(uint64_t rateBps) const;

    /// @return whether At() need not look for the nearest
    bool Lists(uint64_t rateBps) const;

    /// @return the values by rate in bit/s; empty if one holds for all
    const std::map<uint64_t, double>& GetByRate() const
    {
        return m_byRateBps;
    }

    /// @return the value that holds for all rates, if one does
    std::optional<double> GetForAll() const
    {
        return m_forAll;
    }

  private:
    std::map<uint64_t, double> m_byRateBps;
    std::optional<double> m_forAll;
};

std::ostream& operator<<(std::ostream& text, const RateMap& map);
std::istream& operator>>(std::istream& text, RateMap& map);

ATTRIBUTE_HELPER_HEADER(RateMap);

} // namespace ns3

#endif /* RATE_MAP_H */
