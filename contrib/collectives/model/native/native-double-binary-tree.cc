/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-graph.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <bit>

namespace AstraSim
{

namespace
{

/**
 * AllReduce over two complementary binary trees, half of the buffer over each.
 *
 * Each tree reduces towards its root and broadcasts back. The first is the in-order tree over the
 * ranks; the second is its mirror image (an even number of ranks) or is shifted by one (odd), so
 * that an inner node of one is a leaf of the other.
 */
class NativeDoubleBinaryTree : public NativeGraph
{
  public:
    /// @throw ns3::InputError if the task is no AllReduce
    explicit NativeDoubleBinaryTree(const CollectiveTask& task)
        : NativeGraph(task, TREES * NEIGHBOURS)
    {
        if (m_op != CollectiveOp::AllReduce)
        {
            throw ns3::InputError("system configuration",
                                  0,
                                  std::string("doubleBinaryTree is asked for an ") + ToString(m_op),
                                  "an AllReduce; another algorithm for the rest");
        }
    }

    uint32_t GetSequences() const override
    {
        return TREES;
    }

    uint32_t GetStepCount(uint32_t rank, uint32_t tree) const override
    {
        const auto neighbours = NeighboursIn(tree, rank);
        return 2 * static_cast<uint32_t>(std::ranges::count_if(neighbours, IsThere));
    }

    FlowStep GetStep(uint32_t rank, uint32_t tree, uint32_t step) const override
    {
        // Sums come from the children and go to the parent; totals take the way back.
        const auto neighbours = NeighboursIn(tree, rank);
        const uint32_t first = tree * NEIGHBOURS;
        for (const uint32_t child : {LEFT, RIGHT})
        {
            if (IsThere(neighbours[child]) && step-- == 0)
            {
                return {Lane::NONE, first + child, true};
            }
        }
        if (IsThere(neighbours[PARENT]))
        {
            if (step == 0)
            {
                return {first + PARENT, Lane::NONE};
            }
            if (step == 1)
            {
                return {Lane::NONE, first + PARENT};
            }
            step -= 2;
        }
        const bool isLeft = step == 0 && IsThere(neighbours[LEFT]);
        return {first + (isLeft ? LEFT : RIGHT), Lane::NONE};
    }

    uint64_t GetBytes(uint32_t, uint32_t outbound, uint64_t) const override
    {
        return std::max<uint64_t>(outbound < NEIGHBOURS ? m_bytes - m_bytes / 2 : m_bytes / 2, 1);
    }

    uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const override
    {
        const uint32_t tree = inbound / NEIGHBOURS;
        const auto its = NeighboursIn(tree, GetLane(rank, inbound, false).peer);
        const auto me = std::ranges::find(its, static_cast<int>(rank));
        return tree * NEIGHBOURS + static_cast<uint32_t>(me - its.begin());
    }

    std::vector<uint32_t> GetBlocks(uint32_t, uint32_t outbound, uint64_t) const override
    {
        return {outbound / NEIGHBOURS};
    }

  protected:
    Lane GetLane(uint32_t rank, uint32_t index, bool) const override
    {
        const uint32_t tree = index / NEIGHBOURS;
        const int neighbour = NeighboursIn(tree, rank)[index % NEIGHBOURS];
        Lane lane;
        lane.peer = static_cast<uint32_t>(std::max(neighbour, 0));
        lane.channel = tree;
        lane.tag = static_cast<uint8_t>(tree);
        lane.messages = IsThere(neighbour);
        return lane;
    }

  private:
    static constexpr uint32_t TREES = 2;

    // Lanes of a rank in a tree.
    static constexpr uint32_t PARENT = 0;
    static constexpr uint32_t LEFT = 1;
    static constexpr uint32_t RIGHT = 2;
    static constexpr uint32_t NEIGHBOURS = 3;

    /// A rank's neighbours in a tree by lane; -1 for none.
    using Neighbours = std::array<int, NEIGHBOURS>;

    static bool IsThere(int neighbour)
    {
        return neighbour >= 0;
    }

    Neighbours NeighboursIn(uint32_t tree, uint32_t rank) const
    {
        if (tree == 0)
        {
            return NeighboursInFirst(rank);
        }
        const uint32_t n = GetRanks();
        const bool mirror = n % 2 == 0;
        Neighbours result = NeighboursInFirst(mirror ? n - 1 - rank : (rank + n - 1) % n);
        for (int& neighbour : result)
        {
            if (IsThere(neighbour))
            {
                const auto image = static_cast<uint32_t>(neighbour);
                neighbour = static_cast<int>(mirror ? n - 1 - image : (image + 1) % n);
            }
        }
        return result;
    }

    Neighbours NeighboursInFirst(uint32_t rank) const
    {
        const uint32_t n = GetRanks();
        if (rank == 0)
        {
            // The root has one child: the middle of the ranks 1..n-1.
            return {-1, n > 1 ? static_cast<int>(std::bit_floor(n - 1)) : -1, -1};
        }
        const uint32_t bit = rank & (~rank + 1);
        const uint32_t above = (rank ^ bit) | (bit << 1);
        const auto parent = static_cast<int>(above < n ? above : rank ^ bit);
        uint32_t reach = bit >> 1;
        if (reach == 0)
        {
            return {parent, -1, -1};
        }
        const auto left = static_cast<int>(rank - reach);
        while (reach > 0 && rank + reach >= n)
        {
            reach >>= 1;
        }
        return {parent, left, reach > 0 ? static_cast<int>(rank + reach) : -1};
    }
};

const CollectiveAlgorithm DOUBLE_BINARY_TREE("native-doubleBinaryTree",
                                             NativeRules<NativeDoubleBinaryTree>());

} // namespace

} // namespace AstraSim
