/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "backend-factory.h"

#include "analytical-backend.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "networks.h"
#include "simulator/inputs/engine-of-workloads.h"

#include "ns3/attribute-default.h"
#include "ns3/uinteger.h"

#include <utility>

namespace AstraSim
{

namespace
{

std::unique_ptr<SimulationBackend>
MakeBackend(const RunOptions& options,
            const RunInputs& inputs,
            const BackgroundFlows& background,
            const std::string& output,
            std::optional<uint32_t> threads,
            std::vector<std::string>& warnings)
{
    switch (options.network)
    {
    case NetworkModel::Packet:
        return MakePacketNetwork(options, inputs, background, output, threads, warnings);
    case NetworkModel::Analytical:
        return AnalyticalBackend::Make(options, inputs, background, warnings);
    case NetworkModel::Flow:
        return MakeFlowNetwork(options, inputs, background, output, warnings);
    }
    return nullptr;
}

/// @return the machine that NCCL sees in a topology
MachineModel
MachineOf(const RunInputs& inputs)
{
    MachineModel machine = MachineOfTopology(inputs.topology, inputs.nicRatePart);
    if (inputs.dimensions.empty()) // else it has messages, and no packets
    {
        machine.packetBytes =
            static_cast<uint32_t>(ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaHw::Mtu"));
    }
    return machine;
}

} // namespace

RunNetwork::RunNetwork(const RunOptions& options,
                       const RunInputs& inputs,
                       const BackgroundFlows& background,
                       const std::string& output,
                       std::optional<uint32_t> threads,
                       bool mayReuse,
                       std::vector<std::string>& warnings)
    : m_options(options),
      m_machine(MachineOf(inputs)),
      m_ncclOptions(WithEngineOf(options.jobs,
                                 options.nccl,
                                 MockNcclGroup::ResolveGpu(m_machine, options.nccl).gpu,
                                 warnings)),
      m_nccl(m_machine, m_ncclOptions),
      m_backend(MakeBackend(options, inputs, background, output, threads, warnings)),
      m_reusesByItself(mayReuse && options.fastForward == FastForwardMode::Auto &&
                       FastForwardBackend::IsSafe(options, inputs, background))
{
    m_nccl.SetKeepTrees(m_backend->GetCapabilities().keepTrees);
    if (options.network == NetworkModel::Flow && m_ncclOptions.collNetEnable)
    {
        CountReductionsAsRead();
    }
    warnings.insert(warnings.end(), background.warnings.begin(), background.warnings.end());
    if (!mayReuse || (!options.IsFastForwarded() && !m_reusesByItself))
    {
        return;
    }
    auto forward = std::make_unique<FastForwardBackend>(
        m_reusesByItself ? FastForwardMode::Exact : options.fastForward,
        options,
        inputs,
        background,
        std::move(m_backend),
        m_nccl,
        [this](uint32_t partition) -> MockNcclGroup& { return NcclOf(partition); });
    m_forward = forward.get();
    m_backend = std::move(forward);
}

MockNcclGroup&
RunNetwork::NcclOf(uint32_t partition)
{
    auto& nccl = m_partitionNccl[partition];
    if (!nccl)
    {
        nccl = std::make_unique<MockNcclGroup>(m_machine, m_ncclOptions);
        nccl->SetKeepTrees(m_nccl.GetKeepTrees());
    }
    return *nccl;
}

} // namespace AstraSim
