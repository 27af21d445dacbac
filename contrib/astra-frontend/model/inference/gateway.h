/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GATEWAY_H
#define GATEWAY_H

#include "astra-frontend/model/inference/input/request-class.h"

#include "ns3/sequence.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Stands before the instances: lets requests through, holds them back or refuses them.
 *
 * A request waits from its arrival to its first step. It is refused if it arrives while too many
 * wait, of all or of its class, or if its first token is predicted to come too late. If instances
 * have as many of its class as they may have, it is held until one of these ends. A request that
 * has waited too long is dropped.
 *
 * @code
 * Gateway gateway(limits, classes);
 * if (gateway.Arrive(sequence, now, predict) == Gateway::Verdict::Forward) { ... }
 * gateway.Began(sequence);
 * if (Sequence* held = gateway.Ended(sequence)) { ... } // it is its turn
 * @endcode
 */
class Gateway
{
  public:
    enum class Verdict : uint8_t
    {
        Forward,
        Hold,
        Refuse,
    };

    /// @param limits borrowed @param classes at least one; borrowed
    Gateway(const AdmissionLimits& limits, const std::vector<RequestClass>& classes);

    /// @param predict gives the time from now to the first token; it is called if there is a limit
    Verdict Arrive(Sequence& sequence, TimePs now, const std::function<TimePs()>& predict);

    /// The first step of @p sequence begins.
    void Began(const Sequence& sequence);

    /// @p sequence has ended, or has been dropped. @return the next held sequence of its class,
    /// which the caller sends to the instances; null if there is none
    Sequence* Ended(const Sequence& sequence);

    /// @return when the next request has waited too long, if none of those that wait begins before
    std::optional<TimePs> GetNextDrop();

    /// @return a request that has waited too long at @p now; null if there is none. The caller
    /// takes it from its instance, and then calls Ended()
    Sequence* Drop(TimePs now);

  private:
    /// The requests of a class.
    struct Load
    {
        uint64_t waiting{0};
        uint64_t forwarded{0}; ///< to instances, until they end
        std::deque<Sequence*> held;
    };

    static bool Waits(const Sequence& sequence)
    {
        return sequence.scheduled < 0 && !sequence.isOver;
    }

    const AdmissionLimits& m_limits;
    const std::vector<RequestClass>& m_classes;
    std::vector<Load> m_loads; ///< by class
    uint64_t m_waiting{0};
    std::deque<std::pair<TimePs, Sequence*>> m_deadlines; ///< ascending
};

} // namespace AstraSim

#endif /* GATEWAY_H */
