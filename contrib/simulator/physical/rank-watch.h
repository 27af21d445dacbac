/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_WATCH_H
#define RANK_WATCH_H

#include "phy-network.h"
#include "rank-failure.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace AstraSim
{

/// A rank's process, for other ranks on its host.
struct RankProcess
{
    std::string host;
    int64_t pid{0};
};

/**
 * @ingroup simulator
 * @brief Ends all ranks when one fails: tells the others of a failure, and notices silent ranks.
 *
 * Each rank sends a sign of life to the next one every second. A rank that fails tells every other
 * the cause. A rank with a silent predecessor tells the others in its place.
 */
class RankWatch
{
  public:
    /// Time that ranks may take to answer the first greeting: a provider may have gigabytes of
    /// buffers to make then, on a machine that has other work.
    static constexpr double GREETING_SECONDS = 30;
    /// Ranks of a run in which everyone greets everyone.
    static constexpr int ALL_PAIRS = 64;
    /// The cause of a failure that others see before they are told of any.
    static constexpr const char* DEATH = "its process has died";

    /**
     * @param network carries the signs; borrowed
     * @param processes of all ranks
     * @param timeoutSeconds of silence after which a rank is taken for dead
     */
    RankWatch(PhyNetwork& network, std::vector<RankProcess> processes, double timeoutSeconds);

    /**
     * Make sure that messages pass: each rank greets all others, of many those 1, 2, 4, ... places
     * away. The lower one begins, so that the two do not connect to each other at the same time.
     * @param seconds for all to answer
     * @return the ranks that do not answer, in words; empty if all do
     */
    std::string Greet(double seconds = GREETING_SECONDS);

    /// Send a sign of life if it is time, and look for the predecessor's. @throw RankFailure
    void Look();

    /// Tell all others of a failure of this rank, or of one that this rank has noticed.
    /// @return whether no other rank has told of one before, nor a lower one at the same time
    bool TellAll(const RankFailure& failure);

    /// @return a rank of this host with an ended process, if there is one
    std::optional<int> FindDead() const;

    /// @return whether this rank is the lowest living one on the host of a dead rank
    bool SpeaksFor(int dead) const;

    /// @return whether this rank itself has not looked for so long that others take it for dead
    bool WasAway() const
    {
        const int64_t now = PhysicalLoop::MonotonicNs();
        return now - m_lastLookNs > m_timeoutNs / 2 || now - m_backNs < 3 * m_timeoutNs;
    }

    /// The run is over: silence is no failure any more.
    void End()
    {
        m_ended = true;
    }

    /// @return "rank 3 (host b)"
    std::string Name(int rank) const;

  private:
    void OnControl(uint32_t src, const std::string& text);
    int Other(int distance) const;
    std::set<int> GreetedRanks() const;
    /// @return whether another rank's failure has come and not been looked at
    bool WasToldMeanwhile();
    /// @return whether a rank of this host has ended
    bool HasDied(int rank) const;

    PhyNetwork& m_network;
    std::vector<RankProcess> m_processes;
    int m_rank;
    int m_ranks;
    int64_t m_timeoutNs;
    int64_t m_nextSignNs{0};
    int64_t m_lastSeenNs;
    int64_t m_lastLookNs;
    int64_t m_backNs{INT64_MIN / 2}; ///< when this rank ran again after a long stop
    std::vector<bool> m_greeted;     ///< by rank
    int m_lastTeller{0};             ///< the rank that told of a failure last
    bool m_ended{false};
};

} // namespace AstraSim

#endif /* RANK_WATCH_H */
