/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HCCL's algorithms, each by its name. Nothing else refers to this file: static objects make them
 * known.
 */
#include "collectives/model/library/algorithm-library.h"
#include "hccl-graph.h"
#include "hccl-plan.h"
#include "hccl-times.h"

#include "ns3/collective-algorithm.h"

#include <memory>

namespace AstraSim
{

namespace
{

constexpr const char* HCCL = "HCCL";

std::shared_ptr<const HcclGraph>
GraphOf(const CollectiveTask& task)
{
    return std::make_shared<HcclGraph>(task.request, ChooseHccl(task));
}

CollectiveAlgorithm::Rules
RulesOf(HcclMethod method)
{
    return {
        .can = [method](const CollectiveTask& task) { return ChooseHccl(task).method == method; },
        .cost =
            [](const CollectiveTask& task) { return HcclTimes(GraphOf(task), task).Estimate(); },
        .graph = [](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
            return GraphOf(task);
        },
        .gpu = [](const CollectiveTask& task) -> std::shared_ptr<const GpuModel> {
            return std::make_shared<HcclTimes>(GraphOf(task), task);
        },
        .choice = CollectiveAlgorithm::Choice::Always,
        .library = HCCL};
}

const CollectiveAlgorithm MESH("HcclMesh", RulesOf(HcclMethod::Mesh));
const CollectiveAlgorithm RING("HcclRing", RulesOf(HcclMethod::Ring));
const CollectiveAlgorithm NHR("HcclNHR", RulesOf(HcclMethod::Nhr));
const CollectiveAlgorithm PIPELINE("HcclPipeline", RulesOf(HcclMethod::Pipeline));
const CollectiveAlgorithm PAIRS("HcclPairs", RulesOf(HcclMethod::Pairs));

const CollectiveLibrary::Kind HCCL_LIBRARY(
    HCCL,
    [](const CollectiveLibrary::Inputs& inputs) -> std::unique_ptr<CollectiveLibrary> {
        return inputs.machine.gpu.generation == GpuGeneration::DaVinci
                   ? std::make_unique<AlgorithmLibrary>(HCCL, inputs.options)
                   : nullptr;
    });

} // namespace

} // namespace AstraSim
