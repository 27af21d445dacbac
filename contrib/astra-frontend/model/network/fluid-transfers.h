/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_TRANSFERS_H
#define FLUID_TRANSFERS_H

#include "event-loop.h"
#include "max-min-solver.h"
#include "object-pool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace AstraSim
{

/// Bytes on their way at a rate that changes as others come and go. Owned by FluidTransfers.
struct FluidTransfer
{
    /// Told when a transfer has got so far.
    using Handler = void (*)(void* arg);

    MaxMinSolver::FlowId flow{0};
    double left{0};             ///< bytes that have not left, as of updatedPs
    double held{0};             ///< bytes of left that onReached does not wait for
    double framePs{0};          ///< time of a frame when nobody shares the links
    double turnsAfter{0};       ///< frames of others that follow its own in a turn
    double threshold{0};        ///< bytes left when what it waits for comes
    uint32_t firstLink{0};      ///< where it starts
    double credited{0};         ///< bytes of left that GetCarried() had to count when it began
    double rate{0};             ///< bytes per picosecond
    TimePs updatedPs{0};        ///< when left and rate were worked out
    TimePs duePs{0};            ///< when what it waits for comes at this rate
    TimePs armedPs{0};          ///< the earliest of its events
    uint32_t events{0};         ///< its events in the event loop
    bool active{false};         ///< has bytes left
    bool reached{false};        ///< onReached has been told
    Handler onReached{nullptr}; ///< all but the held bytes have left
    Handler onDrained{nullptr}; ///< all have
    void* owner{nullptr};       ///< argument of both
    class FluidTransfers* engine{nullptr};
    FluidTransfer* next{nullptr};
};

/**
 * @brief Moves bytes over links at max-min fair rates.
 *
 * Links are resources of a MaxMinSolver with capacities in bytes per picosecond. Rates are worked
 * out once per point in time, after all that begins and ends then.
 *
 * Transfers take turns frame by frame. Those that begin together at a link therefore do not end
 * together, as fluids would, but a frame apart in the order in which they began; a transfer that
 * begins a frame or more after another ends as a fluid does. The difference is small, but it is
 * what makes collectives leave lockstep and hide the latency of one step behind the data of
 * another: equal fluids would stay in lockstep for ever.
 */
class FluidTransfers
{
  public:
    /// What a transfer asks for.
    struct Request
    {
        std::span<const MaxMinSolver::Use> uses; ///< its links
        double bytes{0};                         ///< on the wire
        double held{0};                          ///< bytes that onReached does not wait for
        double framePs{1};                       ///< time of a frame when nobody shares the links
        double cap{MaxMinSolver::NO_CAP};        ///< bytes per picosecond
        FluidTransfer::Handler onReached{nullptr};
        FluidTransfer::Handler onDrained{nullptr};
        void* owner{nullptr};
    };

    /// @param loop outlives the object, which takes its hook
    explicit FluidTransfers(EventLoop& loop);

    /// @return number of a new link, from 0 @param rateBps bit/s
    uint32_t AddLink(uint64_t rateBps);

    /// Change a link's rate; 0 stops what is on it.
    void SetLinkRate(uint32_t link, uint64_t rateBps);

    /// Begin. The transfer is there until onDrained has been told.
    FluidTransfer* Start(const Request& request);

    /// A transfer continues on other links.
    void Move(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap);

    /// Count what transfers under way have moved up to now.
    void UpdateCarried();

    /// @return bytes that a link has carried, as of UpdateCarried()
    double GetCarried(uint32_t link) const
    {
        return m_carried[link];
    }

    /// Call f(transfer) for each transfer under way, in no particular but a fixed order.
    template <typename Function>
    void ForEach(Function f) const
    {
        for (std::size_t i = 0; i < m_byFlow.size(); ++i)
        {
            if (m_byFlow[i])
            {
                f(*m_byFlow[i]);
            }
        }
    }

    /// @return the solver, for its counters
    const MaxMinSolver& GetSolver() const
    {
        return m_solver;
    }

  private:
    /// Transfers that begin at a link, each within a frame's time of the one before.
    struct Beginners
    {
        std::vector<FluidTransfer*> transfers;
        TimePs lastPs{0};
    };

    void TakeTurns(FluidTransfer& transfer);
    void Enter(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap);
    void Leave(FluidTransfer& transfer);
    void Advance(FluidTransfer& transfer);
    void Credit(FluidTransfer& transfer);
    void Plan(FluidTransfer& transfer);
    void OnEvent(FluidTransfer& transfer);
    void Reach(FluidTransfer& transfer);
    void UpdateRates();

    EventLoop& m_loop;
    MaxMinSolver m_solver;
    std::vector<FluidTransfer*> m_byFlow; ///< by the solver's number
    std::vector<double> m_carried;        ///< by link
    std::vector<Beginners> m_beginners;   ///< by link
    ObjectPool<FluidTransfer> m_pool;
};

} // namespace AstraSim

#endif /* FLUID_TRANSFERS_H */
