/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pair-bytes.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

bool
IsPairwise(CollectiveOp op)
{
    return op == CollectiveOp::AllToAll || op == CollectiveOp::AllToAllV ||
           op == CollectiveOp::Gather || op == CollectiveOp::Scatter ||
           op == CollectiveOp::SendRecv;
}

uint64_t
PairBytes(const CollectiveRequest& request, uint32_t ranks, uint32_t src, uint32_t dst)
{
    const auto root = static_cast<uint32_t>(request.root);
    switch (request.op)
    {
    case CollectiveOp::AllToAllV:
        return request.bytesPerPair[std::size_t{src} * ranks + dst];
    case CollectiveOp::Gather:
        return dst == root ? BlockRange(request.bytes, ranks, src).second : 0;
    case CollectiveOp::Scatter:
        return src == root ? BlockRange(request.bytes, ranks, dst).second : 0;
    case CollectiveOp::SendRecv:
        return src == 0 && dst == 1 ? request.bytes : 0;
    default:
        return BlockRange(request.bytes, ranks, dst).second;
    }
}

uint64_t
MostPairBytes(const CollectiveRequest& request, uint32_t ranks)
{
    if (request.op == CollectiveOp::AllToAllV)
    {
        return *std::ranges::max_element(request.bytesPerPair);
    }
    return request.op == CollectiveOp::SendRecv ? request.bytes : DivideUp(request.bytes, ranks);
}

uint32_t
PairChannel(const GroupShape& shape, uint32_t from, uint32_t to)
{
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    return (to + ranks - from) % ranks + (shape.NodeOf(to) + nodes - shape.NodeOf(from)) % nodes;
}

} // namespace AstraSim
