/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_TRANSFER_H
#define FLUID_TRANSFER_H

#include "max-min-solver.h"

#include "ns3/event-loop.h"

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <utility>

namespace AstraSim
{

class FluidTransfers;
struct FluidBundle;

/// Bytes on their way at a rate that changes as others come and go. Owned by FluidTransfers.
struct FluidTransfer
{
    /// Called when a transfer has moved all bytes, or all but the held ones.
    using Handler = void (*)(void* arg);

    FluidBundle* bundle{nullptr}; ///< the transfers over the same links, this one included
    double bytes{0};              ///< to be moved over the bundle's links
    double end{0};                ///< bytes each of the bundle will have moved when it is through
    double held{0};               ///< bytes before end that onReached does not wait for
    uint64_t order{0};            ///< number among all transfers
    double frameBytes{0};         ///< of a full frame; 0: it takes no turns
    double idleRate{0};           ///< bytes per picosecond on idle links
    TimePs soonestPs{0};          ///< end of the transfer if its links stay idle
    TimePs beganPs{0};            ///< when it began
    double credited{0};           ///< bytes that GetCarried() counts already
    uint32_t firstLink{0};        ///< where it starts
    bool startsOnAll{false};      ///< it starts on each of its links, on all at the same time
    bool reached{false};          ///< onReached has been told
    Handler onReached{nullptr};   ///< all but the held bytes have left
    Handler onDrained{nullptr};   ///< all have
    void* owner{nullptr};         ///< argument of both
    FluidTransfer* next{nullptr};
};

/// Transfers over the same links with the same limit: they have one rate.
struct FluidBundle
{
    MaxMinSolver::FlowId flow{0};
    uint64_t key{0};          ///< in the map of bundles
    bool inUse{false};        ///< has transfers
    bool isNew{true};         ///< the solver has it since just now
    bool isChanged{false};    ///< transfers have come or gone just now
    bool isRenewed{false};    ///< ends of its transfers have just changed
    bool isUncertain{false};  ///< packets might do otherwise just now
    bool startsOnAll{false};  ///< as its transfers do
    uint32_t known{1};        ///< transfers that the solver counts
    double changeLengthPs{0}; ///< shortest time of those that came or went
    double excess{0}; ///< bytes per picosecond that each sender would put into queues, as packets
    /// Such bytes of all transfers, by the link before which they would queue.
    boost::container::small_vector<std::pair<uint32_t, double>, 2> queued;
    boost::container::small_vector<MaxMinSolver::Use, 10> uses;
    double cap{0};
    double moved{0};     ///< bytes that each transfer has moved since the bundle began
    double rate{0};      ///< of each, bytes per picosecond
    TimePs beganPs{0};   ///< when it began
    TimePs updatedPs{0}; ///< when moved was worked out
    TimePs duePs{0};     ///< when its first transfer gets somewhere
    TimePs armedPs{0};   ///< the earliest of its events
    uint32_t events{0};  ///< its events in the event loop
    /// Heap, the one that gets somewhere first on top.
    boost::container::small_vector<FluidTransfer*, 2> transfers;
    FluidTransfers* engine{nullptr};
    FluidBundle* next{nullptr};
};

} // namespace AstraSim

#endif /* FLUID_TRANSFER_H */
