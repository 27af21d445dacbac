/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operation-begin.h"

namespace AstraSim
{

namespace
{

constexpr int TAGS = 256; ///< of an operation

} // namespace

std::unique_ptr<RankCollective>
BeginOperation(const OperationRank& what,
               RankNetwork& network,
               const CollectivePlan* plan,
               MessageHandler ended,
               void* arg)
{
    const PartOperation& operation = what.operation;
    const int tag = static_cast<int>(what.number) * TAGS;
    MessageInfo info = operation.info;
    if (plan)
    {
        info.collectiveKey = what.number;
        auto rank = plan->CreateRank(what.rank, network, tag, info, [ended, arg] { ended(arg); });
        rank->Start();
        return rank;
    }
    info.stream = nullptr;
    const uint64_t bytes = operation.request.bytes;
    const auto& ranks = operation.group.ranks;
    if (what.rank == 0)
    {
        network.Send({.dst = ranks[1],
                      .tag = tag,
                      .bytes = bytes,
                      .info = &info,
                      .handler = ended,
                      .arg = arg});
    }
    else
    {
        network.Receive({.src = ranks[0],
                         .tag = tag,
                         .bytes = bytes,
                         .info = &info,
                         .handler = ended,
                         .arg = arg});
    }
    return nullptr;
}

} // namespace AstraSim
