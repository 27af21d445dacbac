/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_LEVEL_BACKEND_H
#define FLOW_LEVEL_BACKEND_H

#include "astra-frontend/model/flow/flow-level-network.h"
#include "flow-level-background.h"
#include "flow-level-check.h"
#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"

#include "ns3/event-loop.h"
#include "ns3/fct-writer.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// @return the settings of a network of flows that has what packets would have
FlowLevelConfig FlowLevelConfigOf(const ns3::FabricConf& conf,
                                  const ns3::ClusterTopology& topology);

/**
 * @ingroup simulator
 * @brief No packets: messages share the links of their paths max-min fairly (see FlowLevelFabric).
 *
 * Frame sizes, ECMP seed and route update delay come from the same configuration and ns-3
 * attributes as those of packets. Writes fct.txt and links.csv.
 */
class FlowLevelBackend : public SimulationBackend
{
  public:
    /**
     * @param options ns-3 flags
     * @param inputs outlives the object
     * @param background flows beside the workloads
     * @param output directory of fct.txt and links.csv
     * @param warnings gets a line for each thing of the inputs that has no effect here
     * @throw ns3::InputError for a mistake in an input
     */
    FlowLevelBackend(const RunOptions& options,
                     const RunInputs& inputs,
                     const BackgroundFlows& background,
                     std::string output,
                     std::vector<std::string>& warnings);
    ~FlowLevelBackend() override;

    RankNetwork& GetNetwork(int rank) override;
    SimulationEnd Run() override;
    void Interrupt() override;
    NetworkTotals GetTotals() const override;
    std::vector<LinkLoad> GetLinkLoads() const override;
    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override;

    TimePs Now() const override;

  private:
    /// Set the capabilities that only some networks have.
    void SetCapabilities();
    void FinishWorkloads();
    void Finish();
    void WriteMessage(const FlowLevelRecord& record);
    ns3::LinkCountersOf CountersOfLinks() const;
    std::vector<ns3::LinkOutage> GetOutages() const;

    ns3::FabricConf m_conf;
    TimePs m_limit; ///< ns3::TIME_PS_MAX: none
    std::string m_output;
    ns3::LinkUse m_use;
    EventLoop m_loop;
    std::unique_ptr<FlowLevelFabric> m_fabric;
    std::unique_ptr<FlowLevelBackground> m_background; ///< null without flows beside the workloads
    std::unique_ptr<FlowLevelCheck> m_check;           ///< null if nothing is checked
    std::unique_ptr<ns3::FctWriter> m_fct;
    FlowLevelCheck::Overhead m_overhead;
    bool m_drained{false};            ///< nothing was left to simulate
    std::optional<TimePs> m_finishPs; ///< when the workloads were done
};

} // namespace AstraSim

#endif /* FLOW_LEVEL_BACKEND_H */
