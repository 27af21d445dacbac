/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_TRANSFERS_H
#define FLUID_TRANSFERS_H

#include "fluid-transfer.h"
#include "fluid-turns.h"
#include "fluid-watch.h"
#include "max-min-solver.h"

#include "ns3/event-loop.h"
#include "ns3/object-pool.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

namespace AstraSim
{

/// A rate in bit/s over this is one in bytes per picosecond.
inline constexpr double PS_BITS_PER_BYTE = 8e12;

/**
 * @ingroup astra-frontend
 * @brief Moves bytes over links at max-min fair rates.
 *
 * Links are resources of a MaxMinSolver with capacities in bytes per picosecond. Rates are worked
 * out once per point in time, after all that begins and ends then. Transfers over the same links
 * are one flow of the solver; each is through when the bundle has moved its bytes, so one event
 * serves all of them.
 *
 * Where each beginning or end changes the rates of dozens of flows, as in an AllToAll, several of
 * them are worked out together, within a twenty-fifth of the time that the shortest of those
 * transfers takes. A flow's bytes are then corrected as if the new rates had held from the
 * mean time of the changes on. In shorter times there are more groups of changes, which differ from
 * rank to rank: with a hundredth, ranks of an AllToAll between equals drift apart.
 *
 * Transfers take turns frame by frame at the link where they begin: FluidTurns. The difference to
 * fluids, which move at the same time, is small, but at every meeting it moves two apart. That is
 * what makes collectives leave lockstep, hide the latency of one step behind the data of another,
 * and stay so: fluids that meet would meet again at every step.
 */
class FluidTransfers
{
  public:
    static constexpr double NO_RATE = 1e300; ///< no limit

    /// Part by which rates may differ from fair ones: a transfer that comes or goes concerns those
    /// whose rates it changes by more. A link may carry as much above its capacity meanwhile.
    static constexpr double SHARE_TOLERANCE = 5e-3;

    /// A transfer to be started.
    struct Request
    {
        std::span<const MaxMinSolver::Use> uses; ///< its links
        double bytes{0};                         ///< on the wire
        double held{0};                          ///< bytes that onReached does not wait for
        double frameBytes{0};                    ///< of a full frame; 0: it takes no turns
        bool keepsTurn{false};                   ///< it follows one that ends now, without a gap
        bool startsOnAll{false};                 ///< it starts on each of its links
        double idleRate{NO_RATE};                ///< bytes per picosecond on idle links
        double cap{MaxMinSolver::NO_CAP};        ///< bytes per picosecond
        FluidTransfer::Handler onReached{nullptr};
        FluidTransfer::Handler onDrained{nullptr};
        void* owner{nullptr};
    };

    /// @param loop outlives the object, which takes its hook
    explicit FluidTransfers(EventLoop& loop);

    /**
     * @param rateBps bit/s
     * @param quietBytes that packets may have queued before it without a sender being told
     * @return number of a new link, from 0
     */
    uint32_t AddLink(uint64_t rateBps, double quietBytes = NO_RATE);

    /// Change a link's rate; 0 stops its transfers.
    void SetLinkRate(uint32_t link, uint64_t rateBps);

    /// @param share of a transfer's time for which its beginning or end may wait for others
    void SetWaitingShare(double share)
    {
        m_waitingShare = share;
    }

    /// @return links so far
    uint32_t GetLinkCount() const
    {
        return static_cast<uint32_t>(m_carried.size());
    }

    /// @param watch observes all transfers from now on; null for none
    void SetWatch(FluidWatch* watch)
    {
        m_watch = watch;
    }

    /// Begin. The transfer is there until onDrained has been told.
    FluidTransfer* Start(const Request& request);

    /// A transfer continues on other links.
    void Move(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap);

    /// Count the bytes that transfers under way have moved up to now.
    void UpdateCarried();

    /// @return bytes that a link has carried, as of UpdateCarried()
    double GetCarried(uint32_t link) const
    {
        return m_carried[link];
    }

    /// Work out rates now, whoever might wait for more changes.
    void Settle();

    /// Call f(transfer) for each transfer under way, in no particular but a fixed order.
    template <typename Function>
    void ForEach(Function f) const
    {
        for (const FluidBundle* bundle : m_byFlow)
        {
            if (bundle)
            {
                for (FluidTransfer* transfer : bundle->transfers)
                {
                    f(*transfer);
                }
            }
        }
    }

    /**
     * Fluids have no queues and share a link in no order. As long as packets have queues only at
     * the links where they begin, and take turns there, both take the same time.
     * @return time up to now in which packets might have done otherwise
     */
    TimePs GetUncertainPs() const
    {
        return m_uncertainPs + (m_uncertain > 0 ? m_loop.Now() - m_uncertainSincePs : 0);
    }

    /// @return whether queues may have become so long that marks or pauses slowed senders down
    bool HasLongQueues() const
    {
        return m_hasLongQueues;
    }

    /// @return whether a transfer moves so slowly that it has no end before that of the clock. It
    /// may still become faster, when others end.
    bool IsBeyondClock() const;

    /// @return the solver, for its counters
    const MaxMinSolver& GetSolver() const
    {
        return m_solver;
    }

  private:
    /// @param starts the links where it begins @param keepsTurn see Request
    void JoinTurns(FluidTransfer& transfer,
                   std::span<const MaxMinSolver::Use> starts,
                   bool keepsTurn);
    void LeaveTurns(FluidTransfer& transfer);
    /// Transfers that begin at a link have come or gone, and rates are worked out.
    void RenewTurns(uint32_t link);
    void RenewAllTurns();
    FluidBundle& FindBundle(std::span<const MaxMinSolver::Use> uses, double cap);
    /// @return the links where a transfer begins
    static std::span<const MaxMinSolver::Use> StartsOf(const FluidTransfer& transfer);
    void Enter(FluidTransfer& transfer,
               std::span<const MaxMinSolver::Use> uses,
               double cap,
               double bytes);
    /// Transfers of a bundle have come or gone: the solver is told before the clock goes on.
    /// @param lengthPs time of such a transfer
    void MarkChanged(FluidBundle& bundle, double lengthPs);
    /// Tell it how many transfers the changed bundles have now.
    void TellSolver();
    /// A bundle has no transfers any more.
    void Remove(FluidBundle& bundle);
    void Advance(FluidBundle& bundle);
    /// @return bytes that a transfer has not moved yet
    double LeftBytes(const FluidTransfer& transfer);
    /// Count the bytes that it has moved. @param left those that it has not
    void Credit(FluidTransfer& transfer, double left);
    void Plan(FluidBundle& bundle);
    void OnEvent(FluidBundle& bundle);
    void GiveBackIfUnused(FluidBundle& bundle);
    /// A transfer that takes about so long begins or ends now: rates are to follow it.
    void NoteChange(double lengthPs);
    /// @return whether there is time for more changes before rates are worked out
    bool MayWait();
    void UpdateRates();
    /// Rates follow the changes since the last time.
    void Solve();
    void Correct(FluidBundle& bundle, double newRate);
    /// @return the rate at which its first link would send each transfer of a bundle
    double FindShare(const FluidBundle& bundle) const;
    /// Rates have changed: find out whether packets might do otherwise.
    void Judge(FluidBundle& bundle);
    void SetUncertain(FluidBundle& bundle, bool isUncertain);
    /// Senders have put bytes into queues. @param bytes of each transfer
    void Queue(FluidBundle& bundle, double bytes);
    /// A transfer of a bundle has left, and its bytes no queue.
    void Unqueue(FluidBundle& bundle);
    /// The first transfer of a bundle has got somewhere.
    void Progress(FluidBundle& bundle);

    EventLoop& m_loop;
    MaxMinSolver m_solver;
    boost::unordered_flat_map<uint64_t, FluidBundle*> m_bundles; ///< by a hash of links and limit
    std::vector<FluidBundle*> m_byFlow;                          ///< by the solver's number
    std::vector<double> m_carried;                               ///< by link
    std::vector<FluidTurns> m_turns;                             ///< by link
    std::vector<uint32_t> m_changedLinks; ///< where turns have changed since rates were worked out
    ObjectPool<FluidTransfer> m_pool;
    ObjectPool<FluidBundle> m_bundlePool;
    std::vector<FluidBundle*> m_renewed;        ///< of one link
    std::vector<FluidBundle*> m_changedBundles; ///< where transfers came or went just now
    uint64_t m_order{0};
    FluidWatch* m_watch{nullptr};

    std::vector<double> m_quietBytes; ///< by link
    std::vector<double> m_queued;     ///< by link, an upper bound
    bool m_hasLongQueues{false};
    uint32_t m_uncertain{0};      ///< bundles that are
    TimePs m_uncertainSincePs{0}; ///< while there are some
    TimePs m_uncertainPs{0};      ///< until the last time that there were none

    double m_waitingShare{0.04};

    // Changes since rates were worked out.
    uint32_t m_changes{0};
    double m_changeTimes{0};    ///< sum of their times since the first
    TimePs m_firstChangePs{0};  ///< time of the first
    TimePs m_updateByPs{0};     ///< when rates are to be worked out
    TimePs m_updateArmedPs{-1}; ///< the event that does so
    double m_flowsPerChange{0}; ///< flows with a new rate in a solution, smoothed
};

} // namespace AstraSim

#endif /* FLUID_TRANSFERS_H */
