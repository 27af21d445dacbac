/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-library.h"

#include "collectives/model/graph/channel-split.h"
#include "collectives/model/graph/pair-bytes.h"
#include "collectives/model/graph/pxn-graph.h"
#include "collectives/model/library/algorithm-library.h"
#include "collectives/model/timing/pair-times.h"
#include "nccl-algorithm.h"

#include "ns3/input-error.h"

#include <memory>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return channels that get data
uint32_t
UsedChannels(const CollectiveRequest& request, const GroupShape& shape, const NcclPlan& plan)
{
    if (plan.algorithm->GetMethod().usesAllChannels)
    {
        return plan.channels;
    }
    return ChannelSplit(request.op, plan.protocol, shape.GetRanks(), request.bytes, plan.channels)
        .GetChannels();
}

const CollectiveLibrary::Kind NCCL_LIBRARY(
    "NCCL",
    [](const CollectiveLibrary::Inputs& inputs) -> std::unique_ptr<CollectiveLibrary> {
        if (IsAmd(inputs.machine.gpu.generation))
        {
            return nullptr;
        }
        auto model = std::make_unique<NcclCostModel>(inputs.machine, inputs.nccl);
        return std::make_unique<NcclLibrary>(std::move(model));
    });

} // namespace

NcclLibrary::NcclLibrary(std::unique_ptr<const NcclCostModel> model)
    : m_model(std::move(model)),
      m_machine(m_model->GetMachine()),
      m_options(m_model->GetOptions()),
      m_chooser(*m_model)
{
    if (m_options.nvlsRequired && m_machine.gpusPerServer > 1 && !m_machine.HasNvls())
    {
        throw ns3::InputError("environment",
                              0,
                              "NCCL_NVLS_ENABLE is '1', but the NVSwitches of this machine do not "
                              "reduce",
                              "0, or 2 for NVLS where the GPUs have it: Hopper and Blackwell with "
                              "an NVSwitch that joins all GPUs of a server");
    }
}

std::optional<NcclPlan>
NcclLibrary::Find(const CollectiveQuestion& question) const
{
    const CollectiveRequest& request = question.GetRequest();
    const GroupShape& shape = question.shape;
    if (IsPairwise(request.op))
    {
        const uint64_t most = MostPairBytes(request, shape.GetRanks());
        return m_model->EvaluatePairs(request.op, shape, most);
    }
    const bool hasRival = m_model->FixedProtocol(request.op, shape, request.bytes) &&
                          AlgorithmLibrary("", m_options).Offer(question);
    return m_chooser.Choose(request.op, shape, question.group.kind, request.bytes, hasRival);
}

std::optional<CollectiveOffer>
NcclLibrary::Offer(const CollectiveQuestion& question) const
{
    // A group of one rank sends nothing, on any GPU.
    const bool serves = HasNccl(m_machine.gpu.generation) || question.shape.GetRanks() < 2;
    const auto found = serves ? Find(question) : std::nullopt;
    if (!found)
    {
        return std::nullopt;
    }
    const NcclPlan& plan = *found;
    const CollectiveOp op = question.GetRequest().op;
    // NCCL has no expected time for sends between pairs, nor for a ring that it falls back on
    // although NCCL_ALGO forbids it.
    const bool hasCost = !IsPairwise(op) && m_options.algorithms.Allow(op, plan.algorithm);
    CollectiveOffer offer;
    offer.algorithm = plan.algorithm;
    offer.choice = NameChoice(question.GetRequest(), question.shape, plan);
    offer.cost = plan.predicted;
    offer.rank = hasCost ? CollectiveOffer::Rank::ByCost : CollectiveOffer::Rank::Fallback;
    // Without steps, a latency that the user gives counts once.
    const bool once = !plan.algorithm->GetMethod().hasSteps;
    offer.start =
        m_options.sendLatency ? (once ? *m_options.sendLatency : 0) : plan.speeds.baseLatency;
    offer.wireInflation = plan.GetWireInflation();
    const uint64_t most = MostPairBytes(question.GetRequest(), question.shape.GetRanks());
    offer.make = [this, plan, most](const CollectiveRequest& request, const GroupShape& shape) {
        return MakeGraph(request, shape, plan, most);
    };
    return offer;
}

void
NcclLibrary::Describe(CollectiveTask& task, const GroupShape& shape) const
{
    if (HasNccl(m_machine.gpu.generation))
    {
        task.blocks = m_model->BlocksOf(shape);
    }
}

CollectiveChoice
NcclLibrary::NameChoice(const CollectiveRequest& request,
                        const GroupShape& shape,
                        const NcclPlan& plan) const
{
    CollectiveChoice choice;
    choice.algorithm = plan.algorithm->GetName();
    choice.protocol = ToString(plan.protocol);
    choice.channels = UsedChannels(request, shape, plan);
    choice.predicted = plan.predicted;
    choice.by = plan.tuner ? plan.tuner->source : "";
    if (IsPairwise(request.op))
    {
        choice.algorithm = UsesPxn(request.op, shape) ? "PXN" : "Direct";
        choice.channels = 1;
        choice.predicted = 0;
    }
    return choice;
}

bool
NcclLibrary::UsesPxn(CollectiveOp op, const GroupShape& shape) const
{
    return m_options.pxnEnable.value_or(m_machine.isRailOnly) && shape.GetNodes() > 1 &&
           shape.GetRanksPerNode() > 1 &&
           (op == CollectiveOp::AllToAll || op == CollectiveOp::AllToAllV);
}

TimedGraph
NcclLibrary::MakeGraph(const CollectiveRequest& request,
                       const GroupShape& shape,
                       const NcclPlan& plan,
                       uint64_t wholePairBytes) const
{
    // A latency the user gives stands for all of NCCL's.
    const auto& latency = m_options.sendLatency;
    if (UsesPxn(request.op, shape))
    {
        return {std::make_shared<PxnGraph>(request, shape),
                std::make_shared<PxnTimes>(plan.speeds, latency)};
    }
    if (IsPairwise(request.op))
    {
        const auto& own = plan.Of<PairPlan>();
        PairLayout layout = own.layout;
        layout.protocol = plan.protocol;
        layout.byBlocks = !latency;
        const uint64_t bytes = MostPairBytes(request, shape.GetRanks());
        layout.wholeParts =
            bytes ? static_cast<double>(wholePairBytes) / static_cast<double>(bytes) : 1;
        auto graph = std::make_shared<const DirectGraph>(request, shape, layout);
        return {graph, std::make_shared<DirectTimes>(graph, plan.speeds, own.speeds, latency)};
    }
    return plan.algorithm->GetMethod().graph(m_options, request, shape, plan);
}

} // namespace AstraSim
