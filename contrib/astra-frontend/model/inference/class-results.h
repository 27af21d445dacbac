/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CLASS_RESULTS_H
#define CLASS_RESULTS_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "astra-frontend/model/system/run-observer.h"

#include "ns3/sequence.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// Distribution of a value over all requests.
struct Distribution
{
    double mean{0};
    double p50{0}; ///< nearest rank: the smallest value that so many per cent do not exceed
    double p90{0};
    double p99{0};
    double max{0};

    static Distribution Of(std::vector<double> values);
};

/// @return mean time of a token after the first; -1 where there is none
TimePs PerToken(const Sequence& sequence);

/// @return whether the times of a request that has ended were within its limits
bool IsWithin(const Sequence& sequence, const ServingLimits& limits);

/// Sums over the requests of a class.
struct ClassTotals
{
    uint64_t finished{0};
    uint64_t refused{0}; ///< those that are too long included
    uint64_t dropped{0};
    uint64_t withinLimits{0};
    uint64_t outputTokens{0};
    std::vector<double> firstToken{}; ///< times of those that finished, in microseconds
    std::vector<double> perToken{};
    std::vector<double> endToEnd{};

    uint64_t CountArrived() const
    {
        return finished + refused + dropped;
    }

    void Add(const Sequence& sequence, const ServingLimits& limits);
};

/**
 * @ingroup astra-frontend
 * @brief Counts requests by class, and writes classes.csv.
 */
class ClassResults
{
  public:
    /// @param config borrowed
    explicit ClassResults(const ServingConfig& config);

    /// @return the sums of the class of @p sequence
    ClassTotals& Of(const Sequence& sequence)
    {
        return m_totals[sequence.request->requestClass];
    }

    /// @return a number of requests of all classes together
    uint64_t Sum(uint64_t ClassTotals::*count) const;

    /// Write a row for each class that the file has. @return the same for people
    std::string Write(double seconds, RunObserver& observer) const;

  private:
    const ServingConfig& m_config;
    std::vector<ClassTotals> m_totals; ///< by class
};

/// @return the columns of classes.csv, as Columns::ToCsv() has them
std::string DescribeClassColumns();

} // namespace AstraSim

#endif /* CLASS_RESULTS_H */
