/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule-factory.h"

#include "native-direct.h"
#include "native-double-binary-tree.h"
#include "native-halving-doubling.h"
#include "native-ring.h"

#include "ns3/input-error.h"

#include <string>

namespace AstraSim
{

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
    case NativeAlgorithm::Kind::Engine:
        break;
    }
    throw ns3::InputError("system configuration",
                          0,
                          std::string(ToString(algorithm.kind)) + " is not a native algorithm",
                          NATIVE_ALGORITHM_NAMES);
}

} // namespace AstraSim
