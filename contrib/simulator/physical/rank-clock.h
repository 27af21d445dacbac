/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_CLOCK_H
#define RANK_CLOCK_H

#include "rank-communicator.h"

#include "ns3/rank-network.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The offset and drift of this rank's clock against that of rank 0, from comparisons before
 * and after the run.
 *
 * Ranks of one machine share its clock. Every call is made by all ranks.
 */
class RankClock
{
  public:
    explicit RankClock(const RankCommunicator& ranks);

    /// Before the run: find the offset.
    void Compare();

    /// After the run: find the drift.
    void CompareAgain();

    /// @return the time of this clock when that of rank 0 shows @p ns, as of Compare()
    int64_t FromFirst(int64_t ns) const
    {
        return ns + m_offsetNs;
    }

    /// @return a time that was measured from @p startNs (clock of rank 0) on, without the drift
    TimePs WithoutDrift(int64_t startNs, TimePs time) const;

    int64_t GetOffsetNs() const
    {
        return m_offsetNs;
    }

    /// @return the most by which the offset may be wrong
    int64_t GetErrorNs() const
    {
        return m_errorNs;
    }

    /// @return seconds per second that this clock gains on that of rank 0
    double GetDrift() const
    {
        return m_drift;
    }

  private:
    ClockOffset Find() const;

    const RankCommunicator& m_ranks;
    bool m_isShared; ///< with rank 0
    int64_t m_offsetNs{0};
    int64_t m_errorNs{0};
    int64_t m_comparedNs{0}; ///< clock of rank 0
    double m_drift{0};
};

} // namespace AstraSim

#endif /* RANK_CLOCK_H */
