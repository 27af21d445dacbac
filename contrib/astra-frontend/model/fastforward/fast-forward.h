/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FAST_FORWARD_H
#define FAST_FORWARD_H

#include "astra-frontend/model/fastforward/patterns/operation-shape.h"
#include "astra-frontend/model/fastforward/patterns/part-pattern.h"
#include "astra-frontend/model/fastforward/patterns/part-store.h"
#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "live-simulation.h"
#include "reuse-payoff.h"

#include "ns3/rank-network.h"

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/// Options of fast-forward.
struct FastForwardConfig
{
    bool verifies{false}; ///< simulate a sample of the reused patterns again
    /// Share of its time that an operation's end may be cut off when another begins in its part.
    double tail{0.01};
    /// Share of the shortest operation's time by which starts may differ within one pattern.
    double tolerance{5e-3};
    uint64_t memoryBytes{uint64_t{1} << 30}; ///< of the store
    ReusePatience patience{};
    /// Work for which a part is simulated again before it goes live, where that is between twice
    /// and 16 times its own; 0: it goes live at once.
    uint64_t againWork{200'000};
};

/// Totals of a run's traffic.
struct FastForwardReport
{
    ns3::CarriedTraffic carried; ///< all together
    uint64_t simulatedWork{0};   ///< packet-hops (flows without packets) that were simulated
    uint64_t workByFlows{0};     ///< packet-hops for which flows stood
    uint64_t reusedWork{0};      ///< and that were not, as they repeat
    uint64_t repeatedWork{0};    ///< of the simulated: again, as something began in a part
    uint64_t parts{0};
    uint64_t simulations{0};
    uint64_t reuses{0};
    uint64_t inferred{0};   ///< reuses with ends that follow from several outcomes
    uint64_t choices{0};    ///< operations on connections with a choice between paths
    uint64_t live{0};       ///< operations that were simulated in step with the run
    uint64_t cutTails{0};   ///< operations that ended beside a new one of their part
    uint64_t late{0};       ///< ends that were known only when they were past
    uint64_t verified{0};   ///< reused ends that were simulated again
    double largestError{0}; ///< of those, relative to the time since the part began
    double meanError{0};
    std::size_t storedPatterns{0};
    uint64_t storedBytes{0};
    uint64_t forgottenPatterns{0};
    /// The most by which a part's ends may differ from those of packets, as a share of its time.
    double largestDoubt{0};
};

/**
 * @ingroup astra-frontend
 * @brief Simulates each pattern of traffic once and reuses its outcome.
 *
 * Operations (collectives and messages) that are under way together and share links, directly or
 * over others, are a part. Nothing outside a part has an influence on it, so its outcome depends on
 * its operations, their paths and sizes, and the starts of their ranks relative to its first start:
 * its pattern. A new pattern is simulated beside the run (PatternSimulation), on a network in its
 * first state, where connections are new and at full rate. Afterwards, and wherever in the network
 * the pattern comes again, each rank ends at the same time after the part's first start. An
 * operation that begins in a part makes a new pattern of it, with all that began before; past ends
 * stay as they are, as the past does not depend on the future. A pattern is looked up or simulated
 * as late as possible, before the first end that may be next.
 *
 * Four approximations keep patterns few, and can be turned off: an operation that has nearly ended
 * (its tail) does not join a new one to its part; a collective counts once all its ranks have
 * begun; starts that differ by less than a tolerance are the same, and ends follow the last of
 * them, where it does not matter by how much more than its own time a rank is early; and when the
 * ranks of a collective that is alone end may follow from outcomes with other starts (EndBounds).
 *
 * Where one operation after the other begins in a part, simulating it from its first start each
 * time would take the square of their number. Such a part goes live: its beginning is simulated
 * once more, on the run's own network, and the rest in step with the run (LiveSimulation).
 * Operations that meet live ones are live, too.
 *
 * Reuse gives up before a simulation that would not pay (ReusePayoff). The run then begins anew
 * without reuse.
 */
class FastForward
{
  public:
    class Operation;

    /**
     * @param clock the time of the run and its events
     * @param shapes finds the links that operations share
     * @param patterns simulates patterns
     * All outlive the object.
     */
    FastForward(FastForwardConfig config,
                RankNetwork& clock,
                ShapeFinder& shapes,
                PatternSimulation& patterns);
    ~FastForward();
    FastForward(const FastForward&) = delete;
    FastForward& operator=(const FastForward&) = delete;

    /// Called at an end, from the event loop, once per rank that began.
    using EndHandler = std::function<void(uint32_t rank)>;

    /**
     * An operation that ranks will begin; it is gone after its last end.
     * @param shape outlives the operation
     */
    Operation& Open(PartOperation what, const OperationShape& shape, EndHandler ended);

    /// A rank (index in the group) begins its part now.
    void Begin(Operation& operation, uint32_t rank);

    /// An operation that all ranks begin at one time, and that is alone on its links.
    struct Alone
    {
        TimePs first{0}; ///< end of a rank, since the start
        TimePs last{0};
        ns3::CarriedTraffic traffic;
        uint64_t work{0};        ///< of its simulation in a run without reuse
        uint64_t workByFlows{0}; ///< of its simulation, if flows stood for packets
        bool wasSimulated{false};
        bool isCounted{false}; ///< CountAlone() has taken in the occurrence for which it was found
    };

    /// @return the course of @p what without anything else on its links, which is simulated unless
    /// it is known; nothing with FastForwardConfig::verifies or once reuse has given up
    std::optional<Alone> FindAlone(const PartOperation& what, const OperationShape& shape);

    /// @p alone came @p times times, without Open().
    void CountAlone(Alone& alone, uint32_t times);

    FastForwardReport GetReport() const;

    /// @return whether reuse pays, to be told how much the run has
    ReusePayoff& GetPayoff()
    {
        return m_payoff;
    }

    /// Have parts go live in which one operation after the other begins. @param live outlives the
    /// object
    void SetLive(LiveSimulation& live)
    {
        m_live = &live;
    }

    /// Set the function that stops the clock when reuse does not pay; without one, reuse goes on at
    /// any cost. Ends are unknown from then on.
    void SetGiveUpHandler(std::function<void()> handler);

    bool HasGivenUp() const
    {
        return m_hasGivenUp;
    }

    TimePs Now() const
    {
        return m_clock.Now();
    }

  private:
    struct Part;
    using TimeByShape = boost::unordered_flat_map<Digest, TimePs, Digest::Hash>;

    // operations that begin and end
    void JoinPart(Operation& operation);
    /// An operation takes its links. Call meet(part) for each part with users of these that have
    /// not nearly ended, and are not live.
    template <typename Function>
    void TakeLinks(Operation& operation, Function meet);
    /// @return whether a live operation may take a link of @p operation
    bool MeetsLive(const Operation& operation) const;
    /// An operation begins on the run's own network, as do all that may share links with it.
    void BeginLive(Operation& operation);
    /// The operations of a part go on on the run's own network.
    void GoLive(Part& part);
    void OpenLive(Operation& operation);
    void OnLiveEnd(Operation& operation, uint32_t rank);
    bool IsNearlyOver(const Operation& operation, TimePs now) const;
    void Detach(Operation& operation);
    void Merge(Part& into, Part& from);
    void Arm(Operation& operation);
    void OnEnd(Operation& operation);
    void Leave(Operation& operation);
    void Release(Operation& operation);
    void End(Part& part);
    /// Call @p handler, a lambda without captures, with @p object after @p delay.
    template <typename T, typename Handler>
    void Schedule(T& object, TimePs delay, Handler handler);

    // when the ends of a part are worked out
    /// Have a part evaluated at @p time, or at an earlier time if one is planned.
    void Plan(Part& part, TimePs time);
    void OnPlanned(Part& part);
    void Evaluate(Part& part);
    void Apply(Part& part, const PartOutcome& outcome);

    // a part's pattern
    static void SortByLikeness(Part& part);
    static PartPattern PatternOf(const Part& part);
    /// @return when the operations of a part and their ranks began, beside each other
    std::vector<TimePs> TimesOf(const Part& part) const;
    /// @return a digest of a part's operations and the links that they share, without times
    static Digest KeyOf(const Part& part);
    /// @return whether the only operation of @p part is a collective that all its ranks have begun
    static bool IsOneCollective(const Part& part);
    TimePs ToleranceOf(const Part& part) const;
    /// @return the time before the last start from which on a collective that is alone has done all
    /// that it can without the last rank, below 0
    TimePs EarliestStart(const Part& part) const;

    // its outcome: ends counted from each operation's anchor, operations in the order of likeness
    /// @return null if the simulation that it needs would not pay
    const PartOutcome* Find(Part& part);
    /// @return the outcome as bounded by others with its key, or null
    const PartOutcome* Infer(Part& part, const Digest& key, const std::vector<TimePs>& times);
    /// Simulate a part and keep the outcome. @param kind its key without times
    const PartOutcome& FindNew(Part& part,
                               const Digest& kind,
                               const Digest& key,
                               std::vector<TimePs> times);
    void Verify(const Part& part, const PartOutcome& outcome);
    static PartOutcome InOrderOfLikeness(const Part& part, PartOutcome outcome);

    // how long operations take
    /// @return a time before which no rank of an operation ends, after all have begun
    TimePs ShortestTime(const Operation& operation) const;
    void LearnTimes(const Part& part, const PartOutcome& outcome);

    // whether reuse pays
    /// @return the work that a run without reuse has with the part
    static uint64_t WorkOf(const Part& part, const PartOutcome& outcome);
    static uint64_t ConnectionsOf(const Part& part);
    /// @return what a simulation of a part took, in units of work
    uint64_t CostOf(const Part& part, const PartOutcome& outcome) const;
    /// @return whether @p part is better carried on the run's own network than simulated beside it
    bool IsBetterLive(const Part& part) const;
    /// @return whether the simulation of @p part would exceed the work that may be in vain
    bool WouldBeInVain(const Part& part, const Digest& kind) const;
    void GiveUp();

    FastForwardConfig m_config;
    std::function<void()> m_giveUp;
    RankNetwork& m_clock;
    ShapeFinder& m_shapes;
    PatternSimulation& m_patterns;
    PartStore m_store;
    LiveSimulation* m_live{nullptr};
    uint64_t m_liveNow{0};                 ///< operations that are live
    bool m_isCatchingUp{false};            ///< the clock is set back
    std::vector<Operation*> m_endedBefore; ///< with ends at times before now
    /// By directed link: operations under way that may take it.
    std::vector<boost::container::small_vector<Operation*, 2>> m_users;
    std::list<Part> m_parts;
    /// By shape: the shortest time from when all ranks have begun to the first end.
    TimeByShape m_shortest;
    PartOutcome m_inferred; ///< the last

    ReusePayoff m_payoff;
    bool m_hasGivenUp{false};

    uint64_t m_nextOrder{0};
    FastForwardReport m_report;
    double m_errorSum{0};
};

} // namespace AstraSim

#endif /* FAST_FORWARD_H */
