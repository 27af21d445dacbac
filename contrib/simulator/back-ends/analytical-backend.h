/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANALYTICAL_BACKEND_H
#define ANALYTICAL_BACKEND_H

#include "astra-frontend/model/formula/ana-sim.h"
#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"

#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// An AnaSim with its event loop.
class AnalyticalBackend : public SimulationBackend
{
  public:
    /// @param paths times of messages @param limit simulated time at which to give up
    AnalyticalBackend(std::shared_ptr<MessagePaths> paths, TimePs limit);

    /**
     * The network of a topology.
     * @param inputs outlives the result
     * @param warnings gets a line if links lose packets, which has no effect here
     * @throw ns3::InputError for features that an analytical network lacks: capture packets, carry
     * flows beside the workloads, cut links
     */
    static std::unique_ptr<AnalyticalBackend> Make(const RunOptions& options,
                                                   const RunInputs& inputs,
                                                   const BackgroundFlows& background,
                                                   std::vector<std::string>& warnings);

    RankNetwork& GetNetwork(int rank) override;
    SimulationEnd Run() override;
    void Interrupt() override;
    NetworkTotals GetTotals() const override;
    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override;

    TimePs Now() const override;

  private:
    AnaSim m_network;
    TimePs m_limit;
    bool m_drained{false}; ///< nothing was left to simulate
};

} // namespace AstraSim

#endif /* ANALYTICAL_BACKEND_H */
