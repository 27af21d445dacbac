/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FAST_FORWARD_H
#define FAST_FORWARD_H

#include "astra-frontend/model/fastforward/patterns/operation-shape.h"
#include "astra-frontend/model/fastforward/patterns/part-pattern.h"
#include "astra-frontend/model/fastforward/patterns/part-store.h"
#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "astra-frontend/model/fastforward/patterns/varying-operations.h"
#include "plain-simulation.h"

#include "ns3/rank-network.h"

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// What a user asks of fast-forward.
struct FastForwardConfig
{
    bool verifies{false}; ///< simulate a sample of what is reused again
    /// Share of its time that an operation's end may be cut off when another begins in its part.
    double tail{0.01};
    /// Share of the shortest operation's time by which starts may differ in what is one pattern.
    double tolerance{5e-3};
    /// Standard error, relative to it, of the mean time of a collective whose times vary by draws,
    /// before times are drawn from those that were simulated.
    double drawError{1e-2};
    uint64_t memoryBytes{uint64_t{1} << 30}; ///< of the store
    /// Work in vain after which to give up, where the run can begin anew without reuse; 0: never.
    uint64_t patience{0};
};

/// What became of a run's traffic.
struct FastForwardReport
{
    ns3::CarriedTraffic carried; ///< all together
    uint64_t simulatedWork{0};   ///< packet-hops (flows without packets) that were simulated
    uint64_t reusedWork{0};      ///< and that were not, as they repeat
    uint64_t repeatedWork{0};    ///< of the simulated: again, as something began in a part
    uint64_t inPlaceWork{0};     ///< of the simulated: in place
    uint64_t parts{0};
    uint64_t simulations{0};
    uint64_t reuses{0};
    uint64_t inferred{0};   ///< of the reuses, those whose ends follow from several outcomes
    uint64_t draws{0};      ///< of the reuses, those drawn among outcomes that vary
    double drawError{0};    ///< the largest standard error of a mean time that was drawn from
    uint64_t inPlace{0};    ///< operations that began in place
    uint64_t sampled{0};    ///< of these, those to know what to reuse, as marks are random
    uint64_t ghosts{0};     ///< of these, those whose ends were foreseen in the end
    uint64_t cutTails{0};   ///< operations that ended beside a new one of their part
    uint64_t late{0};       ///< ends that were known only when they were past
    uint64_t verified{0};   ///< reused ends that were simulated again
    double largestError{0}; ///< of those, relative to the time since the part began
    double meanError{0};
    std::size_t storedPatterns{0};
    uint64_t storedBytes{0};
    uint64_t forgottenPatterns{0};
};

/**
 * @ingroup astra-frontend
 * @brief Simulates each pattern of traffic once and reuses what came of it.
 *
 * Operations (collectives and messages) that are under way together and share links, directly or
 * over others, are a part. Nothing that is not in a part has an influence on it, so what happens in
 * it follows from its operations, their paths and sizes, and when their ranks began, relative to
 * its first start: its pattern. A pattern that has not come before is simulated beside the run
 * (SideSimulation); afterwards, and wherever in the network it comes again, each end is at the time
 * at which it was then. An operation that begins in a part makes a new pattern of it, with all that
 * began before; what is over stays as it was, as the past does not depend on it. Patterns are
 * looked up and simulated as late as possible, before the first end that may be next.
 *
 * Six approximations keep patterns few, and can be turned off: an operation that has all but
 * ended (its tail) does not join a new one to its part; a collective counts once all its ranks have
 * begun; starts that differ by less than a tolerance are the same, and ends follow the last of
 * them; by how much more than its own time a rank is early does not matter; when the ranks of a
 * collective that is alone end may follow from how it ended when they began at other times
 * (EndBounds); and where a collective alone takes another time whenever it comes, as congestion
 * marks at random, it is simulated until the mean is known well enough, and takes one of these
 * times from then on. While it is, it is simulated time after time on one network, where its ranks
 * keep their gaps (VaryingOperations): those that have ended early begin the next while others are
 * still busy with the last.
 *
 * A part begins on a network in its first state: connections are new, at full rate.
 *
 * An operation of a shape that has not come before has nothing to reuse, so it runs in place, on
 * the network of the run: that costs what it would without a FastForward. If it was alone there,
 * and nothing was drawn at random on that network, what came of it is reused. Where such an
 * operation meets others that are forwarded, what comes of all of them is foreseen, as ever; its
 * packets go on as ghosts that nobody hears of.
 *
 * A collective that was alone in place and marked at random has nothing to reuse either, until so
 * many have come that their mean may be known, or a pattern of its ranks' starts comes again. Until
 * then it runs in place, too.
 */
class FastForward
{
  public:
    class Operation;

    /**
     * @param clock the time of the run and its events
     * @param shapes works out what operations share
     * @param patterns simulates them; of one that does not repeat, outcomes do not vary
     * @param inPlace the network of the run, with the same clock; null if nothing may run there
     * All outlive the object.
     */
    FastForward(FastForwardConfig config,
                RankNetwork& clock,
                ShapeFinder& shapes,
                PatternSimulation& patterns,
                PlainSimulation* inPlace = nullptr);
    ~FastForward();
    FastForward(const FastForward&) = delete;
    FastForward& operator=(const FastForward&) = delete;

    /// Told of an end. From the event loop, once per rank that began.
    using EndHandler = std::function<void(uint32_t rank)>;

    /**
     * An operation that ranks will begin; it is gone after its last end.
     * @param shape outlives the operation
     */
    Operation& Open(PartOperation what, const OperationShape& shape, EndHandler ended);

    /// The same for one whose shape may have to be worked out later.
    Operation& Open(PartOperation what, const DeferredShape& shape, EndHandler ended);

    /// A rank (index in the group) begins its part now.
    void Begin(Operation& operation, uint32_t rank);

    FastForwardReport GetReport() const;

    /// Say what to do when more is simulated in vain than the configuration's patience allows, and
    /// three times what a run without reuse would have come to by then.
    void SetGiveUpHandler(std::function<void()> handler);

    bool HasGivenUp() const
    {
        return m_hasGivenUp;
    }

    /// @return one line that says what a rank waits for that has begun and not ended
    static std::string DescribeWait(const Operation& operation, uint32_t rank);

    TimePs Now() const
    {
        return m_clock.Now();
    }

  private:
    struct Part;
    using TimeByShape = boost::unordered_flat_map<Digest, TimePs, Digest::Hash>;

    Operation& Open(PartOperation what, EndHandler ended);
    /// @return whether it may be known only later in this picosecond how @p operation goes on
    bool MayRunInPlace(const Operation& operation);
    /// @return whether an operation of this shape has begun before
    bool HasBegunBefore(const Operation& operation);
    void NoteBegun(const Operation& operation);
    /// Decide for all that began in this picosecond and may run in place.
    void Decide();
    /// @return whether nothing that is forwarded would meet @p operation
    bool MeetsNothingForwarded(const Operation& operation);
    bool MeetsWhatIsInPlace(const Operation& operation);
    /// Enter the links of the operation that was under way alone.
    void EnterLone();
    void OpenInPlace(Operation& operation);
    void OnEndInPlace(Operation& operation, uint32_t rank);
    /// Have what came of an operation that was alone in place all the time kept, to be reused.
    void KeepIfAlone(Operation& operation);
    /// Outcomes for each batch of a PartStore from which a mean may be known.
    static constexpr std::size_t FEWEST = 4;
    /// @return whether an operation that begins runs in place to learn what comes of those like it
    bool IsToBeSampled(const Operation& operation);
    /// Learn from what came in place of a collective that draws had a part in, and that was alone.
    void Sample(Operation& operation, const ns3::CarriedTraffic& traffic);
    /// @return what came of an operation that was alone in place
    static PartOutcome OutcomeOf(const Operation& operation, const ns3::CarriedTraffic& traffic);
    /// Keep what KeepIfAlone() has put off, before anything is looked up.
    void KeepNow();
    /// A part runs in place and meets others that do not: its ends are foreseen from now on.
    void ForeseeAfterAll(Part& part);
    /// What came of the ghosts of a part that has ended has been simulated twice.
    void DiscountGhosts(const Part& part);
    /// A rank has begun, or several at once, that count or may count.
    void TakeIn(Operation& operation);
    void JoinPart(Operation& operation);
    bool IsNearlyOver(const Operation& operation, TimePs now) const;
    void Detach(Operation& operation);
    void Merge(Part& into, Part& from);
    /// @return a time before which no rank of an operation ends, after all have begun
    TimePs ShortestTime(const Operation& operation) const;
    void LearnTimes(const Part& part, const PartOutcome& outcome);
    static void LearnTime(TimeByShape& times, const Operation& operation, TimePs time);
    /// Evaluate a part at @p time, unless it is earlier anyway.
    void Plan(Part& part, TimePs time);
    void OnPlanned(Part& part);
    void Evaluate(Part& part);
    static void SortByLikeness(Part& part);
    static PartPattern PatternOf(const Part& part);
    /// @return @p pattern with starts counted from the first of them
    static PartPattern SinceFirstStart(PartPattern pattern);
    TimePs ToleranceOf(const Part& part) const;
    /// @return the time before the last start from which on a collective that is alone has done all
    /// that it can without the last rank, below 0
    TimePs EarliestStart(const Part& part) const;
    Digest KeyOf(const Part& part) const;

    /// What a pattern is kept under.
    struct Address
    {
        Digest key;
        std::vector<TimePs> times; ///< none where they must be the same to the picosecond
    };

    Address AddressOf(const Part& part) const;
    /// @return when the operations of a part and their ranks began, beside each other
    std::vector<TimePs> TimesOf(const Part& part) const;
    /// @return what comes of a part, as InOrderOfLikeness() has it
    PartOutcome Simulate(const Part& part);
    /// @return what came of the pattern of a part, its ends counted from each operation's anchor,
    /// operations in the order of likeness
    static PartOutcome InOrderOfLikeness(const Part& part, PartOutcome outcome);
    const PartOutcome& Find(Part& part);
    /// @return whether the only operation of @p part is a collective that all its ranks have begun
    static bool IsOneCollective(const Part& part);
    /// @return what comes of a part as follows from what came of others with its key, or null
    const PartOutcome* Infer(Part& part, const Digest& key, const std::vector<TimePs>& times);
    void GiveUpIfInVain();
    /// Simulate a part and keep what comes of it.
    const PartOutcome& FindNew(Part& part, const Digest& key, std::vector<TimePs> times);
    /// @return whether @p part may have another outcome each time though it looks the same
    bool MayVary(const Part& part) const;
    /// Whether ranks that end early get in the way of those that are busy with the last time.
    enum class Crowding : uint8_t
    {
        None,
        MayCome, ///< hardly ever, but a rare event may make it last
        Steady,  ///< most of the time
    };

    /// @return whether it happens to the outcomes with a key. @param gaps by rank; none: it cannot
    Crowding CrowdingOf(const Digest& key, const std::vector<TimePs>& gaps) const;
    /// @return what outcomes that vary are kept under
    static Digest KindOf(Digest key, const std::vector<TimePs>& gaps);
    /// @return the gaps before a part that has another outcome each time; nothing for others
    std::optional<std::vector<TimePs>> FindGapsIfVarying(const Part& part, const Digest& key);
    /// @return which outcomes may be drawn, if their mean is known well enough
    std::optional<PartStore::Steady> FindKnownMean(const Digest& key,
                                                   const std::vector<TimePs>& gaps) const;
    void LearnSoonest(const Operation& operation, const PartOutcome& outcome);
    /// @return what comes of a part that has another outcome each time; null for others
    const PartOutcome* FindIfVarying(Part& part,
                                     const Digest& key,
                                     const std::vector<TimePs>& times);
    const PartOutcome& FindVarying(Part& part,
                                   const Digest& key,
                                   const std::vector<TimePs>& times,
                                   const std::vector<TimePs>& gaps);
    PartStore::Entry* FindDrawn(const Digest& key, const std::vector<TimePs>& gaps);
    PartStore::Entry* SimulateVarying(Part& part,
                                      const Digest& key,
                                      const std::vector<TimePs>& times,
                                      const std::vector<TimePs>& gaps);
    /// Simulate what begins now after what was simulated last, if it follows that.
    PartOutcome GoOn(const Part& part, const Digest& key, const std::vector<TimePs>& gaps);
    void Verify(const Part& part, const PartOutcome& outcome);
    void Apply(Part& part, const PartOutcome& outcome);
    void Arm(Operation& operation);
    void ScheduleEnd(Operation& operation, TimePs delay);
    void OnEnd(Operation& operation);
    void Leave(Operation& operation);
    void Release(Operation& operation);
    void End(Part& part);
    void Schedule(TimePs delay, MessageHandler handler, void* arg);

    FastForwardConfig m_config;
    std::function<void()> m_giveUp;
    bool m_hasGivenUp{false};
    uint64_t m_expectedWork{0}; ///< of the parts under way, as of their last evaluations
    RankNetwork& m_clock;
    ShapeFinder& m_shapes;
    PatternSimulation& m_patterns;
    RepeatingSimulation* m_repeating; ///< the same; null if times cannot vary
    PlainSimulation* m_inPlace;
    PartStore m_store;
    /// By directed link: operations under way that may take it.
    std::vector<boost::container::small_vector<Operation*, 2>> m_users;
    /// The only operation under way, if its links are not entered there.
    Operation* m_lone{nullptr};
    std::size_t m_holding{0}; ///< operations under way
    std::list<Part> m_parts;
    std::vector<Part*> m_toKeep;  ///< parts that KeepNow() is for
    std::size_t m_ranksToKeep{0}; ///< in them
    std::list<Part> m_keptParts;  ///< of these, those that are over
    /// The shortest time from when all ranks have begun to the first end, of patterns that were
    /// simulated by themselves.
    TimeByShape m_shortest;
    /// The same of all that was simulated.
    TimeByShape m_soonest;
    VaryingOperations m_varying;
    PartOutcome m_inferred; ///< the last

    /// How the repetition beside the run goes on.
    struct
    {
        uint64_t number{0};
        Digest key;
        std::vector<TimePs> starts; ///< beside the last of them
    } m_ahead;

    boost::unordered_flat_set<Digest, Digest::Hash> m_begun; ///< shapes
    /// By rough shape: the only one that has begun, if it is not in m_begun; null if all are.
    boost::unordered_flat_map<Digest, const DeferredShape*, Digest::Hash> m_begunRoughly;
    std::vector<Operation*> m_undecided; ///< began in this picosecond
    uint32_t m_running{0};               ///< operations in place
    uint32_t m_ghosts{0};                ///< of them

    /// What is in place, if all of it is of one shape and group.
    struct
    {
        const void* shape{nullptr};
        ns3::CarriedTraffic before; ///< what the network had carried when it began
    } m_alone;

    /// A collective that is marked at random where it runs in place.
    struct Sampled
    {
        Digest key;
        bool varies{false};  ///< each takes another time: their mean has to be known
        bool isKnown{false}; ///< it may be by now, or a pattern came again
    };

    boost::unordered_flat_map<const void*, Sampled> m_sampled; ///< by the name of the shape

    ns3::CarriedTraffic m_ghostTraffic; ///< of those that are over

    uint64_t m_nextOrder{0};
    FastForwardReport m_report;
    double m_errorSum{0};
};

} // namespace AstraSim

#endif /* FAST_FORWARD_H */
