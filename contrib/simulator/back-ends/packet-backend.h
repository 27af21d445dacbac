/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACKET_BACKEND_H
#define PACKET_BACKEND_H

#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"

#include "ns3/event-id.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"
#include "ns3/ptr.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/rdma-fabric.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{
class FabricCheck;
class FabricMonitors;
class FlowRunner;
} // namespace ns3

namespace AstraSim
{

class AstraSimFabric;

/**
 * @ingroup simulator
 * @brief Every packet simulated: an RdmaFabric with its monitors, and flows beside the workloads.
 *
 * Runs ns-3's Simulator; there can be one at a time.
 */
class PacketBackend : public SimulationBackend
{
  public:
    /**
     * @param options ports to capture, ns-3 flags
     * @param inputs outlives the object
     * @param background flows beside the workloads
     * @param output directory of fct.txt, pfc.txt, ...
     * @param threads to run the fabric on; nothing: it is not divided
     * @param warnings gets a line for each thing a user should know
     * @throw ns3::InputError for a mistake in an input
     */
    PacketBackend(const RunOptions& options,
                  const RunInputs& inputs,
                  const BackgroundFlows& background,
                  std::string output,
                  std::optional<uint32_t> threads,
                  std::vector<std::string>& warnings);
    ~PacketBackend() override;

    RankNetwork& GetNetwork(int rank) override;
    SimulationEnd Run() override;
    void Interrupt() override;
    NetworkTotals GetTotals() const override;
    std::vector<LinkLoad> GetLinkLoads() const override;
    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override;

    TimePs Now() const override;
    TimePs GetReached() const override;

  private:
    /// Set the capabilities that only some networks have.
    void SetCapabilities();
    void RunInitialEvents();
    CollectiveEngine& EngineOf(const CollectiveEngine::Kind& kind);
    /// @return collectives with checked results, of all engines
    uint64_t CountChecked() const;
    void FinishWorkloads();
    void Finish();
    std::vector<std::string> DescribeObstacles(std::size_t limit) const;
    std::vector<std::string> DescribeWaits(std::size_t limit) const;
    /// Make the networks of the ranks: one, or, in a divided run, one per server.
    void WaitAsNcclDoes(TimePs patience);
    void MakeNetworks();
    /// Merge the message counts of all parts.
    void MergeUse();
    /// @return the network of a rank
    AstraSimFabric& NetworkOf(int rank) const;

    ns3::FabricConf m_conf; ///< the fabric refers to it
    std::string m_output;
    ns3::Ptr<ns3::RdmaFabric> m_fabric;
    ns3::LinkUse m_use;
    bool m_isDivided;
    std::vector<std::unique_ptr<AstraSimFabric>> m_networks;
    std::vector<ns3::LinkUse> m_parts; ///< of m_use, by server; empty if the run is not divided
    ns3::LinkUse m_backgroundUse;      ///< of flows beside the workloads, in a divided run
    std::map<const CollectiveEngine::Kind*, std::unique_ptr<CollectiveEngine>> m_engines;
    Report m_report;                               ///< of checks; empty if nothing is checked
    std::unique_ptr<ns3::FlowRunner> m_background; ///< null without flows beside the workloads
    std::unique_ptr<ns3::FabricMonitors> m_monitors;
    std::unique_ptr<ns3::FabricCheck> m_check; ///< null if nothing is checked
    ns3::EventId m_stop;
    std::function<int64_t()> m_reached; ///< time, for any thread
    ns3::LinkCountersOf m_links;        ///< when the last workload was done
    std::optional<TimePs> m_finishPs;   ///< when the workloads were done
    bool m_outOfTime{false};
    bool m_stoppedEarly{false}; ///< flows beside the workloads go on
    bool m_drained{false};      ///< Run() has left nothing to simulate
    std::atomic<bool> m_interrupted{false};
    std::vector<ns3::QbbPcapCapture> m_captures;
};

} // namespace AstraSim

#endif /* PACKET_BACKEND_H */
