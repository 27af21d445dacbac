/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_SUMMARY_H
#define COLLECTIVE_SUMMARY_H

#include "astra-frontend/model/system/run-observer.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace AstraSim
{

/// Collects time and bandwidth of each kind of collective, for a table at the end of the run.
class CollectiveSummary : public RunObserver
{
  public:
    void CollectiveEnded(const CollectiveRecord& record) override;

    bool NeedsEach() const override
    {
        return false;
    }

    void WorkedInStep(const InStepRecord& record) override;

    /// @return a table, a row per operation, kind of group, ranks and bytes; empty without any.
    /// Bandwidths are from the first rank's start; those from the last one's have a column where
    /// they differ.
    std::string Table() const;

    /// @return collectives that have ended; may be called by any thread
    uint64_t GetCount() const
    {
        return m_count.load(std::memory_order_relaxed);
    }

  private:
    using Key = std::tuple<CollectiveOp, GroupKind, uint32_t, uint64_t, std::string>;

    struct Row
    {
        uint64_t count{0};
        TimePs slowest{0};
        double totalPs{0};
        double togetherPs{0}; ///< from the last ranks' starts
    };

    /// @return whether some collective's time from its last rank's start is noticeably shorter than
    /// its whole time
    bool StartsLate() const;

    /// @return the row of a kind of collectives, which get @p more
    Row& RowOf(CollectiveOp op,
               const CommGroup& group,
               uint64_t bytes,
               const CollectiveChoice& choice,
               uint64_t more);

    std::map<Key, Row> m_rows;
    std::atomic<uint64_t> m_count{0}; ///< changed by one thread
};

} // namespace AstraSim

#endif /* COLLECTIVE_SUMMARY_H */
