/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

#include "native-direct.h"
#include "native-double-binary-tree.h"
#include "native-halving-doubling.h"
#include "native-ring.h"

#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

uint64_t
NativeSchedule::BytesOf(uint64_t count) const
{
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{m_bytes} * count;
    return std::max<uint64_t>(static_cast<uint64_t>(product / m_ranks), 1);
}

uint64_t
NativeSchedule::MessageCount() const
{
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        for (uint32_t lane = 0; lane < LaneCount(); ++lane)
        {
            // One send for each receive: only trees have steps with one of them.
            const uint32_t steps = StepCount(rank, lane);
            count += LaneCount() == 1 ? 2 * steps : steps;
        }
    }
    return count / 2;
}

std::unique_ptr<NativeSchedule>
MakeNativeSchedule(const NativeAlgorithm& algorithm,
                   uint32_t ranks,
                   const CollectiveRequest& request)
{
    using Op = CollectiveOp;
    if (request.op != Op::AllReduce && request.op != Op::AllGather &&
        request.op != Op::ReduceScatter && request.op != Op::AllToAll)
    {
        throw ns3::InputError("system configuration",
                              0,
                              std::string(ToString(request.op)) + " has no native algorithm",
                              "AllReduce, AllGather, ReduceScatter or AllToAll");
    }
    switch (algorithm.kind)
    {
    case NativeAlgorithm::Kind::Ring:
        return std::make_unique<NativeRing>(ranks, request);
    case NativeAlgorithm::Kind::HalvingDoubling:
        return std::make_unique<NativeHalvingDoubling>(ranks, request);
    case NativeAlgorithm::Kind::DoubleBinaryTree:
        return std::make_unique<NativeDoubleBinaryTree>(ranks, request);
    case NativeAlgorithm::Kind::Direct:
        return std::make_unique<NativeDirect>(ranks, request, algorithm.window);
    case NativeAlgorithm::Kind::Nccl:
    case NativeAlgorithm::Kind::Custom:
    case NativeAlgorithm::Kind::Accl:
        break;
    }
    throw ns3::InputError("system configuration",
                          0,
                          std::string(ToString(algorithm.kind)) + " is not a native algorithm",
                          NATIVE_ALGORITHM_NAMES);
}

const char*
ToString(NativeAlgorithm::Kind kind)
{
    static constexpr const char* NAMES[] =
        {"NCCL", "Ring", "DoubleBinaryTree", "HalvingDoubling", "Direct", "Custom", "ACCL"};
    return NAMES[static_cast<uint8_t>(kind)];
}

} // namespace AstraSim
