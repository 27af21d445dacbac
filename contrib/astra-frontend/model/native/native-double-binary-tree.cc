/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

#include "ns3/input-error.h"

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
class NativeDoubleBinaryTree : public NativeSchedule
{
  public:
    /// @throw ns3::InputError if @p request is no AllReduce
    NativeDoubleBinaryTree(uint32_t ranks, const CollectiveRequest& request)
        : NativeSchedule(ranks, request)
    {
        if (request.op != CollectiveOp::AllReduce)
        {
            throw ns3::InputError("system configuration",
                                  0,
                                  std::string("doubleBinaryTree is asked for an ") +
                                      ToString(request.op),
                                  "an AllReduce; another algorithm for the rest");
        }
    }

    uint32_t LaneCount() const override
    {
        return 2;
    }

    uint32_t StepCount(uint32_t rank, uint32_t lane) const override
    {
        const Place place = PlaceIn(lane, rank);
        const uint32_t neighbours =
            (place.parent >= 0) + (place.children[0] >= 0) + (place.children[1] >= 0);
        return 2 * neighbours;
    }

    NativeStep Step(uint32_t rank, uint32_t lane, uint32_t step) const override
    {
        const Place place = PlaceIn(lane, rank);
        const uint64_t bytes =
            std::max<uint64_t>(lane == 0 ? m_bytes - m_bytes / 2 : m_bytes / 2, 1);
        NativeStep result;
        const auto receive = [&](int from, bool reduces) {
            result.receiveFrom = from;
            result.receiveBytes = bytes;
            result.reduces = reduces;
        };
        const auto send = [&](int to) {
            result.sendTo = to;
            result.sendBytes = bytes;
        };
        for (const int child : place.children)
        {
            if (child >= 0 && step-- == 0)
            {
                receive(child, true);
                return result;
            }
        }
        if (place.parent >= 0)
        {
            if (step == 0)
            {
                send(place.parent);
                return result;
            }
            if (step == 1)
            {
                receive(place.parent, false);
                return result;
            }
            step -= 2;
        }
        for (const int child : place.children)
        {
            if (child >= 0 && step-- == 0)
            {
                send(child);
                return result;
            }
        }
        return result;
    }

    std::vector<uint32_t> BlocksSent(uint32_t, uint32_t lane, uint32_t) const override
    {
        return {lane};
    }

  private:
    /// A rank's neighbours in a tree; -1 for none.
    struct Place
    {
        int parent{-1};
        int children[2]{-1, -1};
    };

    Place PlaceIn(uint32_t lane, uint32_t rank) const
    {
        if (lane == 0)
        {
            return PlaceInFirst(rank);
        }
        const uint32_t n = m_ranks;
        const bool mirror = n % 2 == 0;
        Place place = PlaceInFirst(mirror ? n - 1 - rank : (rank + n - 1) % n);
        const auto back = [n, mirror](int& neighbour) {
            if (neighbour >= 0)
            {
                const auto image = static_cast<uint32_t>(neighbour);
                neighbour = static_cast<int>(mirror ? n - 1 - image : (image + 1) % n);
            }
        };
        back(place.parent);
        back(place.children[0]);
        back(place.children[1]);
        return place;
    }

    Place PlaceInFirst(uint32_t rank) const
    {
        const uint32_t n = m_ranks;
        Place place;
        if (rank == 0)
        {
            // The root has one child: the middle of the ranks 1..n-1.
            place.children[0] = n > 1 ? static_cast<int>(std::bit_floor(n - 1)) : -1;
            return place;
        }
        const uint32_t bit = rank & (~rank + 1);
        uint32_t parent = (rank ^ bit) | (bit << 1);
        if (parent >= n)
        {
            parent = rank ^ bit;
        }
        place.parent = static_cast<int>(parent);
        uint32_t reach = bit >> 1;
        if (reach == 0)
        {
            return place;
        }
        place.children[0] = static_cast<int>(rank - reach);
        while (reach > 0 && rank + reach >= n)
        {
            reach >>= 1;
        }
        place.children[1] = reach > 0 ? static_cast<int>(rank + reach) : -1;
        return place;
    }
};

const NativeSchedule::Kind DOUBLE_BINARY_TREE(
    "doubleBinaryTree",
    false,
    [](uint32_t ranks, const CollectiveRequest& request, int) {
        return std::make_unique<NativeDoubleBinaryTree>(ranks, request);
    });

} // namespace

} // namespace AstraSim
