/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_MACHINE_H
#define IDLE_MACHINE_H

#include "astra-frontend/model/formula/machine-paths.h"
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <memory>

namespace AstraSim
{

/// @return the ports of @p ranks ranks of a machine
MachinePaths::Machine PortsOf(const MachineModel& machine, uint32_t ranks);

/**
 * @ingroup astra-frontend
 * @brief How long collectives take on a machine that does nothing else: their messages, carried out
 * by formulas (AnaSim) on the group's own NVLinks and NICs.
 *
 * A collective with more than MOST_FLOWS messages (eight times as many where data go through a
 * tree, a chain or NVSwitches) is carried out in two smaller forms of the same plan, and its time
 * follows from theirs on a straight line: with fewer servers, as each further server adds the same
 * steps to a ring and each doubling the same level to NVLS-Tree; and with fewer bytes, as a
 * pipeline that is full takes the same time for each further loop.
 *
 * Left out: congestion between NICs, and the headers of packets. CollNet's collectives take NCCL's
 * own prediction, since no machine says how its network reduces.
 */
class IdleMachine
{
  public:
    /// Collectives with more messages are carried out in smaller forms.
    static constexpr uint64_t MOST_FLOWS = 20'000;

    /// @param nccl chooses, and has the machine; outlives the object
    /// @param mostFlows see MOST_FLOWS
    explicit IdleMachine(const MockNcclGroup& nccl, uint64_t mostFlows = MOST_FLOWS)
        : m_nccl(nccl),
          m_mostFlows(mostFlows)
    {
    }

    /**
     * @param group,request the collective, which all ranks begin together
     * @param offer the choice for it
     * @return when its last rank is through
     */
    TimePs GetTime(const CommGroup& group,
                   const CollectiveRequest& request,
                   const CollectiveOffer& offer) const;

  private:
    /// A collective, or a smaller form of one.
    struct Case
    {
        CommGroup group;
        CollectiveRequest request;
        uint32_t servers;
        const CollectiveOffer* offer; ///< for the whole collective
        std::shared_ptr<const CollectivePlan> plan;

        uint64_t CountFlows() const
        {
            return plan->GetChoice().flows;
        }
    };

    /// @return a collective, or a smaller form of one, with its plan
    Case MakeCase(const CollectiveOffer& offer,
                  CommGroup group,
                  CollectiveRequest request,
                  uint32_t servers) const;
    /// @return the collective with its servers numbered from 0
    Case Canonical(const CommGroup& group,
                   const CollectiveRequest& request,
                   const CollectiveOffer& offer) const;
    /// @return the same on its first servers. @param whole on all of its servers
    Case OnServers(const Case& whole, uint32_t servers) const;
    /// @return the same with fewer bytes
    Case WithBytes(const Case& whole, uint64_t divisor) const;
    /// @return whether the time on fewer servers says how long it takes on all
    bool CanShrink(const Case& whole) const;
    /// @return whether each server has the same places in the group, so that fewer servers are
    /// alike
    bool IsRegular(const Case& whole) const;
    /// @return the time, with as few bytes as the number of messages asks for
    TimePs TimeOfBytes(const Case& each) const;
    /// @return the time of all messages
    TimePs Execute(const Case& each) const;

    const MockNcclGroup& m_nccl;
    uint64_t m_mostFlows;
};

} // namespace AstraSim

#endif /* IDLE_MACHINE_H */
