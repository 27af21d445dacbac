/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-chooser.h"

#include "nccl-algorithm.h"

#include <algorithm>

namespace AstraSim
{

NcclPlan
NcclChooser::ChooseByRules(CollectiveOp op,
                           const GroupShape& shape,
                           GroupKind kind,
                           uint64_t bytes) const
{
    // SimAI: Hopper's TP groups of 8 and more use NVLS, or NVLS-Tree between nodes, if they are on,
    // for AllReduce; for AllGather NVLS-Tree's form within a node; everything else is a ring.
    const auto possible = [&](const NcclAlgorithm& algorithm) {
        return kind == GroupKind::Tp && shape.GetRanks() >= 8 &&
               m_model.IsPossible(algorithm, NcclProtocol::Simple, op, shape);
    };
    const bool mayUseNvls = op == CollectiveOp::AllReduce ||
                            (op == CollectiveOp::AllGather && m_model.GetOptions().nvlsTreeEnable);
    const NcclAlgorithm& algorithm = possible(NcclAlgorithm::NvlsTree) ? NcclAlgorithm::NvlsTree
                                     : mayUseNvls && possible(NcclAlgorithm::Nvls)
                                         ? NcclAlgorithm::Nvls
                                         : NcclAlgorithm::Ring;
    return m_model.Evaluate(algorithm, NcclProtocol::Simple, op, shape, bytes);
}

std::optional<NcclPlan>
NcclChooser::Choose(CollectiveOp op,
                    const GroupShape& shape,
                    GroupKind kind,
                    uint64_t bytes,
                    bool hasRival) const
{
    if (m_model.GetOptions().selectByRules)
    {
        return ChooseByRules(op, shape, kind, bytes);
    }
    if (const auto allowed = ChooseAllowed(op, shape, bytes))
    {
        return hasRival ? *allowed : WithFixedProtocol(*allowed, op, shape, bytes);
    }
    return ChooseFallback(op, shape, bytes);
}

std::optional<NcclPlan>
NcclChooser::ChooseAllowed(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    if (auto tuned = ChooseByTuner(op, shape, bytes))
    {
        return tuned;
    }
    return ChooseAmong(op, shape, bytes, [&](const NcclAlgorithm& algorithm) {
        return m_model.GetOptions().algorithms.Allow(op, &algorithm);
    });
}

NcclPlan
NcclChooser::WithFixedProtocol(const NcclPlan& plan,
                               CollectiveOp op,
                               const GroupShape& shape,
                               uint64_t bytes) const
{
    const bool mayBeFixed = !plan.tuner && !m_model.GetOptions().protocols.AreGiven(op);
    const auto protocol = mayBeFixed ? m_model.FixedProtocol(op, shape, bytes) : std::nullopt;
    return protocol && m_model.IsPossible(*plan.algorithm, *protocol, op, shape)
               ? m_model.Evaluate(*plan.algorithm, *protocol, op, shape, bytes)
               : plan;
}

std::optional<NcclPlan>
NcclChooser::ChooseFallback(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    if (op == CollectiveOp::AllReduce || m_model.GetOptions().algorithms.AreOwn(op))
    {
        return std::nullopt;
    }
    // NCCL never takes rings away from other collectives than AllReduce, so that programs can run
    // with NCCL_ALGO=Tree (src/graph/tuning.cc).
    return ChooseAmong(op, shape, bytes, [](const NcclAlgorithm& algorithm) {
        return algorithm == NcclAlgorithm::Ring;
    });
}

std::optional<NcclPlan>
NcclChooser::ChooseByTuner(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    const TunerTable* tuner = m_model.GetOptions().GetTuner();
    const auto available = [&](const NcclAlgorithm& algorithm, NcclProtocol protocol) {
        return m_model.GetOptions().algorithms.Allow(op, &algorithm) &&
               m_model.GetOptions().protocols.Allow(op, protocol) &&
               (shape.GetNodes() == 1 || MayCross(protocol, op)) &&
               m_model.IsPossible(algorithm, protocol, op, shape);
    };
    const TunerRow* row =
        tuner && shape.GetRanks() > 1
            ? tuner->Find({op, bytes, shape.GetNodes(), shape.GetRanks()}, available)
            : nullptr;
    if (!row)
    {
        return std::nullopt;
    }
    NcclPlan plan = m_model.Evaluate(*row->algorithm, row->protocol, op, shape, bytes);
    plan.tuner = row;
    if (row->channels)
    {
        // NCCL src/enqueue.cc, ncclGetAlgoInfo and scheduleCollTasksToPlan.
        plan.channels =
            std::min(row->channels, m_model.GetSearch().GetChannels(*row->algorithm, shape));
    }
    return plan;
}

std::optional<NcclPlan>
NcclChooser::ChooseAmong(CollectiveOp op,
                         const GroupShape& shape,
                         uint64_t bytes,
                         const std::function<bool(const NcclAlgorithm&)>& allows) const
{
    std::optional<NcclPlan> best;
    // NCCL's order: the first of equals wins.
    for (const NcclAlgorithm* each : NcclAlgorithm::GetAll())
    {
        const NcclAlgorithm& algorithm = *each;
        for (const NcclProtocol protocol :
             {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
        {
            if (!allows(algorithm) || !m_model.GetOptions().protocols.Allow(op, protocol) ||
                (shape.GetNodes() > 1 && !SuitsNetwork(protocol, op, shape, bytes)) ||
                !m_model.IsPossible(algorithm, protocol, op, shape))
            {
                continue;
            }
            const NcclPlan plan = m_model.Evaluate(algorithm, protocol, op, shape, bytes);
            if (!best || plan.predicted < best->predicted)
            {
                best = plan;
            }
        }
    }
    return best;
}

bool
NcclChooser::MayCross(NcclProtocol protocol, CollectiveOp op) const
{
    const NetworkKind& kind = m_model.GetOptions().networkKind;
    if (m_model.GetOptions().protocols.AreGiven(op))
    {
        return true; // the user's word counts
    }
    if (protocol == NcclProtocol::Ll128)
    {
        // Before 2.27 NCCL took a NIC behind a Grace CPU for one behind any other host bridge, over
        // which it does not use LL128 (src/graph/tuning.cc, paths.cc: PATH_PHB, PATH_P2C).
        return kind.allowsLl128 &&
               (!m_model.GetMachine().gpu.onGrace || m_model.GetTuning().relaysBehindCpus);
    }
    return protocol == NcclProtocol::Simple || kind.allowsLl;
}

bool
NcclChooser::SuitsNetwork(NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape,
                          uint64_t bytes) const
{
    if (m_model.GetOptions().protocols.AreGiven(op) || protocol != NcclProtocol::Ll128)
    {
        return MayCross(protocol, op);
    }
    const bool divides = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
    const uint64_t ofRank = divides ? bytes / shape.GetRanks() : bytes;
    const uint64_t simpleFrom = m_model.GetOptions().networkKind.simpleFrom;
    return MayCross(protocol, op) && (simpleFrom == 0 || ofRank < simpleFrom) &&
           !(divides && SimpleFollowsLl(op, shape, bytes));
}

bool
NcclChooser::SimpleFollowsLl(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // AllGather and ReduceScatter on 2 servers of 8 B200, of two clouds with 16 and 32 channels,
    // take Simple's time from 2 MiB on, where NCCL's estimates would have LL128 up to 32 MiB. On
    // AMD and on Intel hosts, it is near 2 MiB that Simple's estimate falls below LL's. No source
    // of NCCL's says why; tables of Hopper show LL128 up to 64 MiB.
    if (m_model.GetMachine().gpu.generation != GpuGeneration::Blackwell)
    {
        return false;
    }
    const auto predicted = [&](NcclProtocol protocol) {
        return m_model.Evaluate(NcclAlgorithm::Ring, protocol, op, shape, bytes).predicted;
    };
    return predicted(NcclProtocol::Simple) < predicted(NcclProtocol::Ll);
}

} // namespace AstraSim
