/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_COMMUNICATOR_H
#define RANK_COMMUNICATOR_H

#include "ns3/qbb-bytes.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

/// Difference of the clock of a rank's machine from that of rank 0.
struct ClockOffset
{
    int64_t offsetNs{0}; ///< this clock minus that of rank 0
    int64_t errorNs{0};  ///< the offset is right within this much
};

/**
 * @ingroup simulator
 * @brief Agreement of the ranks by MPI, before and after the messages of the workload.
 *
 * One object per process, between MPI_Init and MPI_Finalize. Every call is made by all ranks.
 */
class RankCommunicator
{
  public:
    RankCommunicator();

    int GetRank() const
    {
        return m_rank;
    }

    int GetSize() const
    {
        return m_size;
    }

    /// @return number of this rank on its host: its rail
    int GetLocalRank() const
    {
        return m_localRank;
    }

    /// @return how many ranks are on this host
    int GetLocalSize() const
    {
        return m_localSize;
    }

    /// @return the texts of all ranks, by rank
    std::vector<std::string> GatherAll(const std::string& text) const;

    /// @return the data of all ranks, by rank, on rank 0; nothing on the others
    std::vector<ns3::QbbBytes> GatherAtFirst(const ns3::QbbBytes& data) const;

    /// @return rank 0's value @param whileWaiting as in Barrier()
    int64_t Broadcast(int64_t value, const std::function<void()>& whileWaiting) const;

    /// @return the largest value
    int64_t Max(int64_t value) const;

    /**
     * Wait for all ranks.
     * @param whileWaiting called again and again; may throw
     */
    void Barrier(const std::function<void()>& whileWaiting) const;

    /**
     * Compare clocks with rank 0 by messages there and back; the fastest of them counts.
     * @param clock in ns
     */
    ClockOffset CompareClocks(const std::function<int64_t()>& clock) const;

  private:
    static void Await(void* request, const std::function<void()>& whileWaiting);

    int m_rank{0};
    int m_size{1};
    int m_localRank{0};
    int m_localSize{1};
};

} // namespace AstraSim

#endif /* RANK_COMMUNICATOR_H */
