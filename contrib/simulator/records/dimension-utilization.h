/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIMENSION_UTILIZATION_H
#define DIMENSION_UTILIZATION_H

#include "astra-frontend/model/system/run-observer.h"

#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief SimAI's file of how busy the logical dimensions were: for each 10 us, the share of the
 * time in which one rank had a stream in the dimension.
 */
class DimensionUtilization : public RunObserver
{
  public:
    /**
     * @param path file to write
     * @param rank of the network; its streams count
     * @param dimensions of the job
     * @param queues stream queues of each dimension
     */
    DimensionUtilization(std::string path, int rank, uint32_t dimensions, uint32_t queues)
        : m_path(std::move(path)),
          m_rank(rank),
          m_queues(queues),
          m_busy(dimensions)
    {
    }

    void StreamPhaseEnded(const StreamPhaseRecord& record) override;

    /// @throw ns3::InputError if the file cannot be written
    void Finish();

  private:
    struct Interval
    {
        TimePs start;
        TimePs end;
    };

    std::string m_path;
    int m_rank;
    uint32_t m_queues;
    std::vector<std::vector<Interval>> m_busy; ///< by dimension
};

} // namespace AstraSim

#endif /* DIMENSION_UTILIZATION_H */
