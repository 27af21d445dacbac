/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_RESULTS_H
#define SERVING_RESULTS_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "astra-frontend/model/system/run-observer.h"
#include "class-results.h"
#include "serving-instance.h"

#include "ns3/sequence.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Writes requests.csv as requests end; in the end inference.csv, the distributions of times
 * and the throughput, and instances.csv.
 */
class ServingResults
{
  public:
    /// @param config borrowed
    explicit ServingResults(const ServingConfig& config);

    /// @p sequence has all of its output.
    void RequestEnded(const Sequence& sequence, RunObserver& observer);

    /// @p sequence was not admitted when it arrived.
    void RequestRefused(const Sequence& sequence)
    {
        ++m_classes.Of(sequence).refused;
    }

    /// @p sequence has waited too long.
    void RequestDropped(const Sequence& sequence)
    {
        ++m_classes.Of(sequence).dropped;
    }

    /// All requests have ended.
    /// @param remote a cache outside the instances, or null
    void Finish(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                const RemoteCache* remote,
                TimePs now,
                RunObserver& observer);

    /// @return a table for people; empty before Finish()
    const std::string& GetSummary() const
    {
        return m_summary;
    }

  private:
    /// @param ofUsers the times that users see, else those of phases
    void WriteTimes(bool ofUsers, RunObserver& observer);
    void WriteRates(TimePs now, RunObserver& observer);
    /// Of the GPUs that instances had, for the time that they had them.
    void WriteCosts(RunObserver& observer);
    void WriteInstances(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                        TimePs now,
                        RunObserver& observer) const;

    void WriteCaches(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                     const RemoteCache* remote,
                     RunObserver& observer);

    const ServingConfig& m_config;
    std::vector<std::vector<double>> m_times; ///< of requests, in microseconds, by kind of time
    ClassResults m_classes;
    uint64_t m_requests{0};
    double m_gpuHours{0};
    uint64_t m_promptTokens{0};
    uint64_t m_cachedTokens{0}; ///< of those, in a cache when their request began
    uint64_t m_outputTokens{0};
    double m_underWay{0}; ///< seconds of all requests from arrival to end
    std::string m_summary;
};

/// @return the columns of requests.csv, as Columns::ToCsv() has them
std::string DescribeRequestColumns();

/// @return those of instances.csv
std::string DescribeInstanceColumns();

} // namespace AstraSim

#endif /* SERVING_RESULTS_H */
