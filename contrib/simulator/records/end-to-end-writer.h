/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef END_TO_END_WRITER_H
#define END_TO_END_WRITER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/clock-range.h"

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace AstraSim
{

/// Shares of a run's time: means over ranks in microseconds.
struct TimeBreakdown
{
    double compute{0};
    std::array<double, 7> exposed{}; ///< communication that ranks waited for, by GroupKind
    double bubble{0};                ///< waiting for other ranks to get there
    double total{0};                 ///< until the last rank was done

    /// @return exposed communication of all groups
    double Exposed() const
    {
        return std::accumulate(exposed.begin(), exposed.end(), 0.0);
    }
};

/**
 * @ingroup simulator
 * @brief Writes EndToEnd.csv: a summary and, for each layer, its computation and communication.
 *
 * Compute, exposed communication and bubbles are means over the job's ranks, summed over passes, so
 * that they add up to a rank's time; the total communication of a layer is the duration of its
 * collectives, from the first rank's start to the last rank's end, of the slowest group when
 * several groups do the same. Microseconds; bandwidths in GB/s (10^9).
 *
 * A layer of which nothing happens (an operation that a Chakra trace does not use) has no row.
 *
 * The file appears when Finish() is called: a run that was cut off leaves none.
 */
class EndToEndWriter : public RunObserver
{
  public:
    /**
     * @param path the file to write
     * @param runName second column of every row
     * @param layerNames of the workload, by index
     * @param ranks of the job
     */
    EndToEndWriter(std::string path,
                   const std::string& runName,
                   std::vector<std::string> layerNames,
                   uint32_t ranks);

    void CollectiveEnded(const CollectiveRecord& record) override;

    bool NeedsEach() const override
    {
        return false;
    }

    void WorkedInStep(const InStepRecord& record) override;
    void ComputeEnded(const ComputeRecord& record) override;
    void WaitEnded(const WaitRecord& record) override;
    void LayerFinished(int rank, const WorkloadPosition& position, TimePs now) override;
    void RankFinished(int rank, TimePs now) override;

    /// @return where the time went so far
    TimeBreakdown GetBreakdown() const;

    /// @return the file
    const std::string& GetPath() const
    {
        return m_path;
    }

    /// Write the file. @throw ns3::InputError if it cannot be written
    void Finish();

  private:
    /// Times in ps; arrays are indexed by TrainingPhase.
    struct LayerTimes
    {
        std::array<ns3::TimeSum, 3> compute{};
        std::array<ns3::TimeSum, 3> exposed{};
        std::array<ns3::TimeSum, 3> total{}; ///< of ended passes
        std::array<double, 3> bytes{};       ///< of the same collectives
        std::array<double, 3> busBytes{};    ///< times the bus bandwidth factor
        std::array<TimePs, 3> slowest{};     ///< of the current pass
        std::array<double, 3> slowBytes{};
        std::array<double, 3> slowBusBytes{};
        std::array<uint32_t, 3> pass{};
        TimePs finished{0};
        bool seen{false}; ///< something of it has happened
    };

    /// A collective of a layer has ended.
    static void Add(LayerTimes& layer,
                    const WorkloadPosition& position,
                    TimePs duration,
                    uint64_t bytes,
                    double busFactor);
    static void Close(LayerTimes& layer, std::size_t phase);
    std::string Summary() const;
    std::string Row(const std::string& name, const LayerTimes& layer) const;
    double Mean(const ns3::TimeSum& ofAllRanks) const;

    std::string m_path;
    std::string m_runName;
    std::vector<std::string> m_names;
    uint32_t m_ranks;
    std::vector<LayerTimes> m_layers;
    std::array<ns3::TimeSum, 7> m_exposedByGroup{}; ///< by GroupKind
    ns3::TimeSum m_bubble;
    bool m_isPipeline{false}; ///< stages have waited for each other
    TimePs m_finished{0};
    ns3::TimeSum m_sumOfFinishes; ///< over ranks
    uint32_t m_ranksFinished{0};
};

} // namespace AstraSim

#endif /* END_TO_END_WRITER_H */
