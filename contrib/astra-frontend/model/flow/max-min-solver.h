/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MAX_MIN_SOLVER_H
#define MAX_MIN_SOLVER_H

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace AstraSim
{

// Hot path: Add, Remove and Solve run once per message of a flow-level simulation.

/**
 * @ingroup astra-frontend
 * @brief Max-min fair rates of flows over shared resources, kept up to date as flows come and go.
 *
 * A flow of rate r uses r x weight of the capacity of each of its resources, and may have a cap of
 * its own. Rates are max-min fair when every flow is at its cap or crosses a full resource on which
 * no flow is faster (Bertsekas and Gallager, "Data Networks", 6.5.2). That condition is local, so
 * Solve() works outwards from the changes: it fills the changed flows with the others left as they
 * are, looks for flows that the condition does not hold for any more, takes them in, and fills
 * again. A flow that comes or goes where nothing is full concerns no other.
 *
 * A follower of a flow that does not hold it back, as acknowledgements, takes its part of a
 * resource before the others share the rest: no flow is slower because of its followers.
 *
 * @code
 * MaxMinSolver solver;
 * const uint32_t link = solver.AddResource(100);
 * const MaxMinSolver::Use use[] = {{link, 1}};
 * const auto a = solver.Add(use, 30);
 * const auto b = solver.Add(use);
 * solver.Solve(); // a gets 30, b 70
 * @endcode
 *
 * Rates have the unit of the capacities.
 */
class MaxMinSolver
{
  public:
    using FlowId = uint32_t;

    static constexpr double NO_CAP = std::numeric_limits<double>::infinity();

    /// A flow's demand on a resource.
    struct Use
    {
        uint32_t resource; ///< as AddResource() numbered it; at most once in a flow
        float weight;      ///< capacity used per unit of the flow's rate, above 0
        /// Whether its use comes before the shares of others. Up to half of a capacity is taken so.
        bool follows{false};
    };

    /**
     * @param tolerance relative difference from fair that is let pass. Flows of a changed rate may
     * overfill, or leave free, this part of a resource before the others that it holds are given
     * new rates. So a change ends where it has faded, and changes that cancel out concern nobody.
     */
    explicit MaxMinSolver(double tolerance = 1e-9);

    /// @return the number of the new resource, from 0 @param capacity 0 or more
    uint32_t AddResource(double capacity);

    /// Change a capacity; rates follow in Solve().
    void SetCapacity(uint32_t resource, double capacity);

    /// @return the capacity
    double GetCapacity(uint32_t resource) const
    {
        return m_resources[resource].capacity;
    }

    /**
     * A flow begins; its rate is 0 until Solve(). Numbers of flows that ended are used again.
     * @param uses one or more
     * @param cap the most it can use, above 0
     */
    FlowId Add(std::span<const Use> uses, double cap = NO_CAP);

    /**
     * A flow stands for so many like ones, each of its rate; 1 at first.
     * @param count 1 or more
     */
    void SetCount(FlowId flow, uint32_t count);

    /// A flow ends.
    void Remove(FlowId flow);

    /**
     * Make all rates max-min fair.
     * @return the flows with a changed rate; valid until the next call of anything
     */
    std::span<const FlowId> Solve();

    /// @return whether something has changed since Solve()
    bool IsDirty() const
    {
        return !m_new.empty() || !m_relaxed.empty();
    }

    /// @return a flow's rate as of the last Solve()
    double GetRate(FlowId flow) const
    {
        return m_flows[flow].rate;
    }

    /// @return the full resource that holds a flow, as of the last Solve(); nothing: its cap does
    std::optional<uint32_t> GetBottleneck(FlowId flow) const
    {
        const uint32_t resource = m_flows[flow].bottleneck;
        return resource == NONE ? std::nullopt : std::optional(resource);
    }

    /// @return sum of rate x weight of the flows on a resource
    double GetLoad(uint32_t resource) const
    {
        return m_resources[resource].load;
    }

    /// @return flows that were filled since the start: a measure of the work
    uint64_t GetFillCount() const
    {
        return m_fillCount;
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    /// A flow on a resource; index is its place in the resource's list.
    struct Place
    {
        uint32_t resource;
        float weight;
        uint32_t index;
        bool follows;
    };

    /// All that the lists of resources look for in a flow: two in a line of the cache.
    struct Flow
    {
        double rate{0};
        double count{1};           ///< like flows that it stands for
        uint32_t bottleneck{NONE}; ///< the full resource that holds it; NONE: its cap
        uint32_t affected{0};      ///< number of the last Solve() that took it in
        uint32_t filled{0};        ///< number of the last filling that gave it a rate
        bool present{false};
    };

    /// Its links, and the most that it can use.
    struct Demand
    {
        double cap{NO_CAP};
        double before{0};       ///< rate when Solve() began, of affected flows
        double alone{0};        ///< rate if no other affected flow had one
        uint32_t aloneAt{NONE}; ///< the resource that limits `alone`; NONE: the cap does
        boost::container::small_vector<Place, 16> places; ///< resources that follow it come last
        uint32_t sharing{0};                              ///< places before them

        /// @return the resources that may hold the flow
        std::span<const Place> Sharing() const
        {
            return {places.data(), sharing};
        }
    };

    /// A flow in a resource's list; place is the index in the flow's own list.
    struct Member
    {
        FlowId flow;
        uint32_t place;
        float weight;
        bool follows;
    };

    struct Resource
    {
        double capacity{0};
        double load{0};
        double following{0}; ///< part of the load that follows flows
        double residual{0};  ///< left for affected flows without a rate yet
        /// How far flows without a rate may overfill it, so that those that it holds keep theirs.
        double slack{0};
        double level{0};          ///< rate of the flows that it holds
        double open{0};           ///< their weights
        double demand{0};         ///< of affected flows, if each had its rate alone
        uint32_t openFlows{0};    ///< their number
        uint32_t openHeld{0};     ///< those of them that it held
        uint32_t filling{0};      ///< number of the last filling that touched it
        uint32_t bottlenecked{0}; ///< flows that it holds
        uint32_t takenIn{0};      ///< number of the last Solve() that took in all its flows
        uint32_t updates{0};      ///< changes of load since it was last summed up
        bool relaxed{false};
        bool contested{false}; ///< demand is more than residual
        std::vector<Member> members;
    };

    struct Level
    {
        double rate;
        uint32_t resource;
    };

    /// A flow's rate alone.
    struct Bound
    {
        double rate;
        FlowId flow;
    };

    /// @return the rate that a weight of affected flows may have
    static double ShareOf(const Resource& resource, double weight);
    static double LevelOf(const Resource& resource);
    /// @return the room left for flows besides their followers
    static double RoomOf(const Resource& resource);
    /// @return the load of flows beyond their room, as a part of the capacity
    static double ExcessOf(const Resource& resource);
    /// @return the part of a resource's capacity by which its load may be off
    double ToleranceOf(const Resource& resource) const;
    /// @return that load
    double SlackOf(const Resource& resource) const;
    /// @return the excess from which on a resource shares its room anew
    double ShiftOf(const Resource& resource) const;
    bool IsFull(const Resource& resource) const;
    static void AddLoad(Resource& resource, bool follows, double load);
    void Relax(uint32_t resource);
    void SetBottleneck(Flow& flow, uint32_t resource);
    void Affect(FlowId flow);
    void SeedFromRelaxed();
    void Fill();
    void Touch();
    void FillOne();
    void FindContested();
    void FillMany();
    void Freeze(FlowId id, double rate, uint32_t bottleneck);
    void SumUp(Resource& resource) const;
    void FindViolations();
    void CheckResource(uint32_t index);
    void TakeInConnected();

    double m_tolerance;
    std::vector<Resource> m_resources;
    std::vector<Flow> m_flows;
    std::vector<Demand> m_demands; ///< of each flow
    std::vector<FlowId> m_free;
    std::vector<FlowId> m_new;
    std::vector<uint32_t> m_relaxed;
    std::vector<FlowId> m_affected;
    std::vector<uint32_t> m_touched;
    std::vector<Level> m_levels;  ///< heap, lowest rate first
    std::vector<Bound> m_bounded; ///< affected flows of contested resources, lowest first
    std::vector<FlowId> m_changed;
    uint32_t m_solve{0};
    uint32_t m_filling{0};
    double m_precision{1}; ///< part of the slack by which the followers' load may be off
    bool m_shifted{false}; ///< whether the load has changed by more, so that Fill() runs again
    uint64_t m_fillCount{0};
};

} // namespace AstraSim

#endif /* MAX_MIN_SOLVER_H */
