/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HCCL_PLAN_H
#define HCCL_PLAN_H

#include "hccl-layout.h"

#include "ns3/collective-algorithm.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/// Algorithms of HCCL, by the way that servers exchange data.
enum class HcclMethod : uint8_t
{
    Mesh,     ///< one server: every rank reads from all others at once
    Ring,     ///< from each server to the next
    Nhr,      ///< nonuniform hierarchical ring: over distances of 1, 2, 4, ... servers
    Pipeline, ///< a ring; a server spreads each block among its ranks while the next one comes
    Pairs,    ///< sends between pairs
};

/// A stage of a collective, among the ranks of one server, or among the ranks in one place of all
/// servers.
struct HcclPhase
{
    enum class Kind : uint8_t
    {
        MeshReduce, ///< each rank of a server gets the sum of its part
        MeshGather, ///< each rank of a server gets all parts
        RingReduce, ///< the same two between servers, in a ring
        RingGather,
        NhrReduce, ///< and over distances that double
        NhrGather,
        PipelineReduce, ///< both levels at once, block by block
        PipelineGather,
        RootMesh,   ///< the root deals out its data in its server,
        RootNet,    ///< and each rank of its server to the ranks in the same place
        CollectNet, ///< the reverse
        CollectMesh,
        MeshExchange, ///< AllToAll within a server, data for ranks beyond it included
        NetExchange,  ///< AllToAll between ranks in the same place, one pair after another
    };

    Kind kind;
    /// Mesh: a part has a block of each server, not that of the own one alone. Between servers: a
    /// part has the blocks of all ranks of a server, not that of the own place alone.
    bool wide{false};
};

using HcclKind = HcclPhase::Kind;

/// HCCL's choice for a collective.
struct HcclPlan
{
    HcclMethod method{HcclMethod::Mesh};
    HcclLayout layout;
    std::vector<HcclPhase> phases;
};

/// @return HCCL's choice (cann-hccl: the operators' SelectAlgfor910B and SelectAlgfor91093, and
/// GetDefaultAlgoLevel1V2 of coll_alg_operator.cc)
HcclPlan ChooseHccl(const CollectiveTask& task);

/// @return whether @p op goes in two steps: within servers, and between them
bool IsExchange(CollectiveOp op);

/// @return bits that number @p count things: steps of an algorithm with doubling distances
uint32_t DoublingSteps(uint32_t count);

} // namespace AstraSim

#endif /* HCCL_PLAN_H */
