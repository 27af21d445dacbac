/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "live-simulation.h"

namespace AstraSim
{

LiveSimulation::Operation::Operation(LiveSimulation& live,
                                     uint32_t number,
                                     PartOperation what,
                                     EndHandler ended)
    : m_live(live),
      m_what(std::move(what)),
      m_ended(std::move(ended)),
      m_number(number),
      m_plan(m_what.isMessage ? nullptr : live.m_setup.nccl.Plan(m_what.group, m_what.request)),
      m_left(m_what.group.ranks.size())
{
    for (uint32_t rank = 0; rank < m_left; ++rank)
    {
        m_places.push_back({this, rank, nullptr});
    }
}

void
LiveSimulation::Operation::Begin(uint32_t rank)
{
    const auto& ranks = m_what.group.ranks;
    if (m_what.isMessage && rank == 0)
    {
        // Shapes have the path of the first connection.
        m_live.m_setup.forget(ranks[0], ranks[1]);
    }
    Place& place = m_places[rank];
    place.collective = BeginOperation(
        {m_what, m_number, rank},
        m_live.m_setup.network(ranks[rank]),
        m_plan.get(),
        [](void* arg) {
            const auto& ended = *static_cast<const Place*>(arg);
            ended.operation->OnEnd(ended.rank);
        },
        &place);
}

void
LiveSimulation::Operation::OnEnd(uint32_t rank)
{
    if (--m_left == 0)
    {
        // Not now: an executor of the operation is calling.
        m_live.m_setup.network(m_what.group.ranks.front())
            .Schedule(
                0,
                [](void* arg) {
                    const auto& self = *static_cast<Operation*>(arg);
                    self.m_live.m_operations.erase(self.m_number);
                },
                this);
    }
    if (m_ended)
    {
        m_ended(rank);
    }
}

std::shared_ptr<LiveSimulation::Operation>
LiveSimulation::Open(const PartOperation& what, EndHandler ended)
{
    const uint32_t number = m_setup.numbers.Next();
    return m_operations[number] =
               std::make_shared<Operation>(*this, number, what, std::move(ended));
}

} // namespace AstraSim
