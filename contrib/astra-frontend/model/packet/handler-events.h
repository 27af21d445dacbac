/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HANDLER_EVENTS_H
#define HANDLER_EVENTS_H

#include "ns3/qbb-simulator-impl.h"
#include "ns3/rank-network.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Runs handlers at times to come, by ns-3 events that are used again and again.
 *
 * They come in the order in which ns-3's own events would. Nothing is allocated once there are as
 * many as wait at once.
 */
class HandlerEvents
{
  public:
    /// @param context node that the events belong to; that of none if they are of several
    explicit HandlerEvents(uint32_t context = ns3::Simulator::NO_CONTEXT);

    /// Handlers that still wait are forgotten.
    ~HandlerEvents();

    HandlerEvents(const HandlerEvents&) = delete;
    HandlerEvents& operator=(const HandlerEvents&) = delete;

    /// Run @p handler with @p arg after @p delay, which may be 0.
    void Schedule(TimePs delay, MessageHandler handler, void* arg);

  private:
    class Event;

    uint32_t m_context;
    ns3::QbbSimulatorImpl* m_simulator{nullptr}; ///< null if another implementation runs
    std::vector<Event*> m_events;                ///< all; each holds a reference of its own
    Event* m_free{nullptr};
};

} // namespace AstraSim

#endif /* HANDLER_EVENTS_H */
