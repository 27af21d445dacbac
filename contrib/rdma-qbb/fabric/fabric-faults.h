/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_FAULTS_H
#define FABRIC_FAULTS_H

#include "fabric-outages.h"

#include "ns3/fabric-routes.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

class FabricPaths;
struct FabricParts;
struct LinkEvent;

/**
 * @ingroup rdma-qbb
 * @brief Faults that a run asks for: links that fail, come back or slow down, and NICs that pause
 * their switch, as slow receivers do.
 */
class FabricFaults
{
  public:
    /**
     * @param fabric,paths outlive the object
     * @param updateDelay from a link's change of state until all routes have changed
     * @param changed called then
     */
    FabricFaults(const FabricParts& fabric,
                 FabricPaths& paths,
                 Time updateDelay,
                 std::function<void()> changed);

    /// Have the configuration's link events happen. @throw InputError for a link that is not there
    void ScheduleLinkEvents();

    /// Have every NIC pause its switch from now on. @param duration 0: none does
    void ScheduleNicPauses(Time duration);

    /// Cut or mend a link now; routes follow.
    void SetLinkUp(uint32_t link, bool up);

    /// Give a link another rate now.
    void SetRate(uint32_t link, uint64_t rateBps);

    /// @return the outages of the configuration so far
    std::vector<LinkOutage> GetOutages() const
    {
        return m_outages.GetSoFar();
    }

    /// @return which links are up
    const LinkState& GetLinks() const
    {
        return m_links;
    }

  private:
    void UpdateRoutes();
    void PauseNics(bool pause) const;
    /// Have a NIC pause, or resume, its partner.
    void PauseNic(uint32_t node, uint16_t port, bool pause) const;
    /// @return the priorities that PFC protects at a node: at a switch those of its MMU, at a host
    /// the default of the MMU's attribute
    uint8_t LosslessMaskAt(uint32_t node) const;

    const FabricParts& m_fabric;
    FabricPaths& m_paths;
    Time m_updateDelay;
    std::function<void()> m_changed;
    LinkState m_links;
    FabricOutages m_outages;
    Time m_routesDue{-1}; ///< when the newest update of the routes is due
};

} // namespace ns3

#endif /* FABRIC_FAULTS_H */
