/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_ORDER_H
#define RING_ORDER_H

#include "collectives/model/gpu/machine-model.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * The order in which a channel's path visits the ranks of a node, from the (first) GPU of its NIC.
 *
 * Through NVSwitches it is a descending one (NCCL's rings on such machines). Over a mesh it goes to
 * and fro: up by one, down by two, up by three. The paths from all GPUs of a node of even size
 * together use every link once in each direction (E. J. Williams, Experimental designs balanced for
 * the estimation of residual effects of treatments, 1949), as RCCL's do (src/graph/rome_models.cc).
 * Where links join some GPUs only, orders are the profile's (GroupShape::GetRings()).
 *
 * @return indices in the group
 */
std::vector<uint32_t> NodePath(const GroupShape& shape, uint32_t node, uint32_t channel);

/**
 * The order in which a channel's ring visits the ranks of a group.
 *
 * Nodes come in the group's order, each along its NodePath(). With @p crossNic every other node is
 * walked the other way round, so that a crossing stays on one rail (NCCL alternates rings for the
 * same reason). A ring within one mesh goes to and fro between all GPUs but the last, which closes
 * it; every other set of such rings is walked backwards. The rings of 2 (n - 1) channels together
 * use each link between n GPUs twice in each direction (once, if n is odd: W. Walecki, 1892).
 *
 * @return indices in the group
 */
std::vector<uint32_t> RingOrder(const GroupShape& shape, uint32_t channel, bool crossNic);

/// The rings of all channels of a group; equal ones are stored once.
class RingOrders
{
  public:
    RingOrders(const GroupShape& shape, uint32_t channels, bool crossNic);

    /// @return where a rank stands in a channel's ring
    uint32_t PlaceOf(uint32_t rank, uint32_t channel) const
    {
        return Of(channel).place[rank];
    }

    /// @return the rank that stands at a place of a channel's ring
    uint32_t RankAt(uint32_t place, uint32_t channel) const
    {
        return Of(channel).order[place];
    }

    /// @return the rank after @p rank in a channel's ring
    uint32_t NextOf(uint32_t rank, uint32_t channel) const
    {
        const Ring& ring = Of(channel);
        const uint32_t next = ring.place[rank] + 1;
        return ring.order[next == ring.order.size() ? 0 : next];
    }

    /// @return the rank before @p rank in a channel's ring
    uint32_t PreviousOf(uint32_t rank, uint32_t channel) const
    {
        const Ring& ring = Of(channel);
        const uint32_t place = ring.place[rank];
        return place == 0 ? ring.order.back() : ring.order[place - 1];
    }

  private:
    struct Ring
    {
        std::vector<uint32_t> order; ///< ranks by place
        std::vector<uint32_t> place; ///< places by rank
    };

    const Ring& Of(uint32_t channel) const
    {
        return m_rings[m_ringOf[channel]];
    }

    std::vector<Ring> m_rings;
    std::vector<uint32_t> m_ringOf; ///< by channel: its ring
};

} // namespace AstraSim

#endif /* RING_ORDER_H */
