/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plain-simulation.h"

#include "astra-frontend/model/fastforward/patterns/operation-begin.h"

#include <utility>

namespace AstraSim
{

namespace
{

constexpr uint32_t OPERATION_NUMBERS = 1 << 22; ///< so many have tags of their own

} // namespace

PlainSimulation::PlainSimulation(std::function<RankNetwork&(int)> network,
                                 CollectiveImplementation* nccl,
                                 std::function<ns3::CarriedTraffic()> carried)
    : m_network(std::move(network)),
      m_nccl(nccl),
      m_carried(std::move(carried))
{
}

std::unique_ptr<PlainSimulation::Operation>
PlainSimulation::Open(const PartOperation& what, EndHandler ended)
{
    return std::make_unique<Operation>(*this, what, std::move(ended));
}

PlainSimulation::Operation::Operation(PlainSimulation& owner,
                                      const PartOperation& what,
                                      EndHandler ended)
    : m_owner(owner),
      m_what(what),
      m_ended(std::move(ended)),
      m_number(owner.m_next++ % OPERATION_NUMBERS),
      m_plan(what.isMessage ? nullptr : owner.m_nccl->Plan(what.group, what.request)),
      m_ranks(what.group.ranks.size())
{
    for (uint32_t rank = 0; rank < m_ranks.size(); ++rank)
    {
        m_places.push_back({this, rank});
    }
}

void
PlainSimulation::Operation::Begin(uint32_t rank)
{
    const auto ended = [](void* arg) {
        const auto& over = *static_cast<Place*>(arg);
        over.operation->m_ended(over.rank);
    };
    m_ranks[rank] = BeginOperation({m_what, m_number, rank},
                                   m_owner.m_network(m_what.group.ranks[rank]),
                                   m_plan.get(),
                                   ended,
                                   &m_places[rank]);
}

} // namespace AstraSim
