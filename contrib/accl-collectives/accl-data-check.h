/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ACCL_DATA_CHECK_H
#define ACCL_DATA_CHECK_H

#include "ns3/cclo-driver.h"

#include <cstdint>
#include <string>

namespace AstraSim
{

/**
 * @ingroup accl-cclo
 * @brief Real data for a call of collective engines: each rank's operand has numbers of its own,
 * and each rank's final data follow from the operation.
 *
 * Element i of rank r is 64 (i mod m) + r mod 64, with m so small that sums over all ranks are
 * exact in float32 in any order.
 */
class AcclDataCheck
{
  public:
    /// @param request of all ranks, its count that of this call @param ranks of the group
    AcclDataCheck(const ns3::CcloRequest& request, uint32_t ranks);

    /// Give a rank its operand. @param member its place in the group
    void Fill(ns3::CcloDriver& driver, const ns3::CcloBuffer& operand, uint32_t member) const;

    /// @return the first mistake in a rank's result; "" if there is none
    std::string Compare(ns3::CcloDriver& driver,
                        const ns3::CcloBuffer& operand,
                        const ns3::CcloBuffer& result,
                        uint32_t member) const;

  private:
    uint32_t Value(uint32_t member, uint64_t element) const;
    /// @return the sum over all ranks
    uint64_t Sum(uint64_t element) const;
    uint64_t Expected(uint32_t member, uint64_t element) const;

    ns3::CcloOperation m_operation;
    uint64_t m_count;
    uint32_t m_root;
    uint32_t m_ranks;
    uint32_t m_modulus;
    uint64_t m_sumOfRanks{0}; ///< of r mod 64
};

} // namespace AstraSim

#endif /* ACCL_DATA_CHECK_H */
