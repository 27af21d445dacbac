/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_DOUBLE_BINARY_TREE_H
#define NATIVE_DOUBLE_BINARY_TREE_H

#include "native-schedule.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief AllReduce over two complementary binary trees, half of the buffer over each.
 *
 * Each tree reduces towards its root and broadcasts back. The first is the in-order tree over the
 * ranks; the second is its mirror image (an even number of ranks) or is shifted by one (odd), so
 * that an inner node of one is a leaf of the other.
 */
class NativeDoubleBinaryTree : public NativeSchedule
{
  public:
    /// @throw ns3::InputError if @p request is no AllReduce
    NativeDoubleBinaryTree(uint32_t ranks, const CollectiveRequest& request);

    uint32_t LaneCount() const override;
    uint32_t StepCount(uint32_t rank, uint32_t lane) const override;
    NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const override;
    std::vector<uint32_t> BlocksSent(uint32_t rank, uint32_t lane, uint32_t step) const override;

  private:
    /// A rank's neighbours in a tree; -1 for none.
    struct Place
    {
        int parent{-1};
        int children[2]{-1, -1};
    };

    Place PlaceIn(uint32_t lane, uint32_t rank) const;
    Place PlaceInFirst(uint32_t rank) const;
};

} // namespace AstraSim

#endif /* NATIVE_DOUBLE_BINARY_TREE_H */
