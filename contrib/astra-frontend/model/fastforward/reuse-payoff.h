/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REUSE_PAYOFF_H
#define REUSE_PAYOFF_H

#include "astra-frontend/model/fastforward/patterns/digest.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>

namespace AstraSim
{

/// Work that may be simulated in vain before reuse ends: packet-hops, or flows on networks
/// without packets.
struct ReusePatience
{
    uint64_t work{0};          ///< in any run; 0: reuse never ends
    double share{0.1};         ///< and this share of the run's expected work
    uint64_t perPattern{0};    ///< that a simulation takes besides its traffic, to make its network
    uint64_t perConnection{0}; ///< and to open a connection on it
    uint64_t perFlow{0};       ///< of flows that stand for packets, which take nothing else
};

/**
 * @ingroup astra-frontend
 * @brief Whether reuse pays: the work of simulations so far, and the work that they have saved.
 *
 * Simulations of a kind of part that was never seen before are of use, as a run without reuse needs
 * them, too. In vain are those of a part before something begins in it, and those of a known kind
 * at other times. The work that reuse has saved makes up for them; by how much more they may take
 * is ReusePatience. Work is counted, not measured, so the same inputs have the same results.
 */
class ReusePayoff
{
  public:
    explicit ReusePayoff(const ReusePatience& patience)
        : m_patience(patience)
    {
    }

    /// Work of a simulation's traffic, and what the simulation took, in the same units.
    struct Effort
    {
        uint64_t work;
        uint64_t cost;
    };

    /// The work of a part as it is now.
    struct Account
    {
        uint64_t learned{0}; ///< that was of use when it was simulated
        uint64_t saved{0};   ///< that was not simulated
        double again{0};     ///< of simulations after something began in it

        Account& operator+=(const Account& other);
    };

    /// Set the number of collectives in the run, to expect its work by; 0: unknown.
    void SetCollectiveCount(uint64_t count)
    {
        m_collectives = count;
    }

    /// Set the bytes of all collectives together, to expect the run's work by these instead.
    void SetCollectiveBytes(double bytes)
    {
        m_collectiveBytes = bytes;
    }

    /// Collectives of @p bytes altogether begin.
    void Begin(uint64_t collectives, double bytes)
    {
        m_begun += collectives;
        m_begunBytes += bytes;
    }

    /// @return work besides its traffic of simulating a part with so many connections
    uint64_t GetOverhead(uint64_t connections) const
    {
        return m_patience.perPattern + m_patience.perConnection * connections;
    }

    /// @return work of a simulation by flows that stand for packets
    uint64_t CostOfFlows(uint64_t flows) const
    {
        return flows * m_patience.perFlow;
    }

    /// A part has been simulated. Another outcome that it had before was in vain.
    /// @param again share of the work that something took that began in the part
    void Simulated(Account& part, const Digest& kind, Effort effort, double again);

    /// A part has an outcome that was known. @param isAgain something has begun in it
    void Reused(Account& part, uint64_t work, bool isAgain);

    /// Work was saved that no part has.
    void Saved(uint64_t work)
    {
        m_saved += work;
    }

    /// A part goes live, so its outcomes were in vain.
    void Drop(Account& part)
    {
        Set(part, 0, 0);
    }

    /**
     * Where something begins in a part once or twice, that may come again. Where it goes on, each
     * simulation costs more than the one before.
     * @param work of the part as it was
     * @param most work for which it is simulated again, where that is between twice and 16 times
     * its own; 0: none
     * @return whether the part is better carried on the run's own network
     */
    bool IsBetterLive(const Account& part, uint64_t work, uint64_t most) const;

    /**
     * @param kind of the part
     * @param work that it had before, of a kind not known
     * @param overhead of simulating it
     * @return whether its simulation would exceed the work that may be in vain
     */
    bool WouldBeInVain(const Account& part,
                       const Digest& kind,
                       uint64_t work,
                       uint64_t overhead) const;

  private:
    void Set(Account& part, uint64_t learned, uint64_t saved);
    /// @return all collectives of the run over those that have begun, 1 or more
    double WholeOfBegun() const;

    ReusePatience m_patience;
    uint64_t m_collectives{0};   ///< of the run
    uint64_t m_begun{0};         ///< of these
    double m_collectiveBytes{0}; ///< of the run; 0: unknown
    double m_begunBytes{0};      ///< of those that have begun
    /// By kind of part that was simulated: the last time.
    boost::unordered_flat_map<Digest, Effort, Digest::Hash> m_kinds;
    uint64_t m_learned{0}; ///< work that was simulated for kinds of parts that were new, and of use
    uint64_t m_saved{0};   ///< work that was reused, of parts as they are now or ended
    uint64_t m_spent{0};   ///< on simulations
    uint64_t m_spentAgain{0}; ///< of it on parts in which something began
    uint64_t m_savedAgain{0}; ///< work that was reused of such parts
};

} // namespace AstraSim

#endif /* REUSE_PAYOFF_H */
