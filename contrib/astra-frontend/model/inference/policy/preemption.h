/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PREEMPTION_H
#define PREEMPTION_H

#include "sequence.h"
#include "serving-policy.h"

#include <cstddef>
#include <optional>
#include <span>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Makes room in the cache where a running sequence needs a block and none is free. Key
 * `preemption_mode`.
 *
 * A subclass overrides one or both of its decisions: which sequence loses its blocks, and whether
 * their content moves to the host's memory and back or is computed again.
 */
class Preemption : public ServingPolicy
{
  public:
    /// @param running at least one sequence, all younger than the one that needs a block, oldest
    /// first
    /// @return index of the one that is preempted
    virtual std::size_t Choose(std::span<Sequence* const> running) const
    {
        return running.size() - 1;
    }

    /// @return whether some caches move to the host
    virtual bool Swaps() const
    {
        return false;
    }

    /// @param bytes of a token in the cache of a rank
    /// @return time to move a token of @p sequence to the host, or back; nothing: its tokens are
    /// computed again
    virtual std::optional<TimePs> GetSwapTime(const Sequence& sequence, double bytes) const
    {
        return std::nullopt;
    }
};

} // namespace AstraSim

#endif /* PREEMPTION_H */
