/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FAST_FORWARD_BACKEND_H
#define FAST_FORWARD_BACKEND_H

#include "astra-frontend/model/fastforward/cheapest-simulation.h"
#include "astra-frontend/model/fastforward/fast-forward.h"
#include "astra-frontend/model/fastforward/forwarded-collectives.h"
#include "astra-frontend/model/fastforward/forwarded-network.h"
#include "astra-frontend/model/fastforward/fresh-simulation.h"
#include "astra-frontend/model/fastforward/live-simulation.h"
#include "astra-frontend/model/fastforward/patterns/disk-store.h"
#include "astra-frontend/model/fastforward/patterns/stored-simulation.h"
#include "astra-frontend/model/fastforward/proven-simulation.h"
#include "astra-frontend/model/fastforward/side-simulation.h"
#include "astra-frontend/model/flow/flow-level-network.h"
#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/options/run-options.h"

#include "ns3/collective-implementation.h"
#include "ns3/event-loop.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Simulates each pattern of traffic once, on networks like another one.
 *
 * In the run itself only the other network's clock runs.
 */
class FastForwardBackend : public SimulationBackend
{
  public:
    /**
     * @param mode another than options have, if the run chooses it by itself
     * @param inner simulates patterns; may be divided: the copies then run on its threads
     * @param nccl plans collectives; outlives the object
     * @param ncclOf returns the implementation for the ranks of a partition, in the copies;
     * likewise
     * @throw ns3::InputError if the run has something that does not follow from patterns, or its
     * store cannot be used
     */
    FastForwardBackend(FastForwardMode mode,
                       const RunOptions& options,
                       const RunInputs& inputs,
                       const BackgroundFlows& background,
                       std::unique_ptr<SimulationBackend> inner,
                       CollectiveImplementation& nccl,
                       std::function<CollectiveImplementation&(uint32_t partition)> ncclOf);

    /// @return the implementation of collectives for the run's ranks
    CollectiveImplementation& GetCollectives()
    {
        return m_collectives;
    }

    /// @return whether a run may be fast-forwarded without being told to: with the same outputs
    static bool IsSafe(const RunOptions& options,
                       const RunInputs& inputs,
                       const BackgroundFlows& background);

    /// Let the run begin anew without reuse if that does not pay: Run() returns, and
    /// MustBeginAnew() is true.
    void AllowBeginningAnew()
    {
        m_forward.SetGiveUpHandler([this] { m_inner->Interrupt(); });
    }

    bool MustBeginAnew() const
    {
        return m_forward.HasGivenUp();
    }

    /// Keep the network as it is now, before anything begins on it.
    /// @param collectives of the run; 0: unknown @param bytes of all of them, where sizes grow
    void Start(uint64_t collectives, double bytes = 0)
    {
        m_forward.GetPayoff().SetCollectiveCount(collectives);
        m_forward.GetPayoff().SetCollectiveBytes(bytes);
        const Capabilities& can = m_inner->GetCapabilities();
        if (m_side)
        {
            if (can.copyable)
            {
                can.copyable->runInitialEvents();
            }
            m_side->Start();
        }
        if (can.divided)
        {
            can.divided->runUndivided();
        }
    }

    /// @return the totals, without simulations that the store has saved
    FastForwardReport GetReport() const;

    /// @return the reasons why times may differ from those of a run without reuse, in words
    std::vector<std::string> DescribeApproximations() const;

    /// @return a line with these reasons, after @p mark; empty if there is none
    std::string SayApproximations(const std::string& mark) const;

    /// @return patterns that --fidelity auto simulated by flows; nothing without that
    std::optional<uint64_t> CountByFlows() const
    {
        return m_proven ? std::optional(m_proven->CountProven()) : std::nullopt;
    }

    /// @return the totals of the store; nothing without one
    std::optional<StoreReport> GetStoreReport() const;

    /// @return warnings about reused patterns and the store, a line each; forgotten with the call
    std::vector<std::string> TakeWarnings();

    RankNetwork& GetNetwork(int rank) override
    {
        return m_network.GetNetwork(rank);
    }

    SimulationEnd Run() override
    {
        return m_inner->Run();
    }

    void Interrupt() override;

    NetworkTotals GetTotals() const override;
    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override;

    TimePs Now() const override
    {
        return m_inner->Now();
    }

    TimePs GetReached() const override
    {
        return m_inner->GetReached();
    }

  private:
    using NcclOf = std::function<CollectiveImplementation&(uint32_t partition)>;

    /// @return the simulator of patterns, or the store before it
    PatternSimulation& ChoosePatterns(const RunOptions& options,
                                      const RunInputs& inputs,
                                      const NcclOf& ncclOf);
    /// @return the simulator of patterns
    PatternSimulation& ChooseSimulation(const RunOptions& options,
                                        const RunInputs& inputs,
                                        const NcclOf& ncclOf);
    SideSimulation& MakeSide(const NcclOf& ncclOf);
    /// @return flows where they do for --fidelity auto, packets elsewhere
    PatternSimulation& ChooseByPattern(const RunOptions& options,
                                       const RunInputs& inputs,
                                       const NcclOf& ncclOf);
    std::string DescribeTraffic(double wallSeconds) const;
    /// @return the partition of a rank in the other network; 0 if that is not divided
    uint32_t PartitionOf(int rank) const;
    /// @return a network for a pattern; Interrupt() reaches it
    UnusedNetwork MakeUnused();

    std::unique_ptr<SimulationBackend> m_inner;
    OperationNumbers m_numbers;
    std::optional<FreshSimulation> m_fresh;       ///< of flows and formulas
    std::optional<SideSimulation> m_side;         ///< of packets, and of flows that go on for long
    std::optional<CheapestSimulation> m_cheapest; ///< of flows: one of these two
    std::optional<LiveSimulation> m_live;         ///< of flows that go on and on
    EventLoop m_flowLoop;                         ///< of m_flows
    std::unique_ptr<FlowLevelFabric> m_flows;     ///< of --fidelity auto: to make others like it
    std::optional<ProvenSimulation> m_proven;     ///< of --fidelity auto: flows or packets
    std::vector<std::string> m_unproven;          ///< why --fidelity auto takes packets throughout
    std::atomic<std::shared_ptr<const UnusedNetwork>> m_unused; ///< that of the last pattern
    std::atomic<bool> m_isInterrupted{false};
    std::optional<DiskStore> m_disk;
    std::optional<StoredSimulation> m_stored; ///< with --fast-forward-store
    PatternSimulation& m_patterns;
    ShapeFinder m_shapes;
    FastForward m_forward;
    ForwardedCollectives m_collectives;
    ForwardedNetwork m_network;
    bool m_verifies;
    bool m_hasLinks; ///< the run has files of links, which lack traffic simulated on copies
    std::vector<std::string> m_randomness; ///< of the inputs: it makes patterns differ
};

} // namespace AstraSim

#endif /* FAST_FORWARD_BACKEND_H */
