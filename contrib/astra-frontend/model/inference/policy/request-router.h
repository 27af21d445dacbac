/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REQUEST_ROUTER_H
#define REQUEST_ROUTER_H

#include "serving-policy.h"
#include "serving-replica.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Chooses the replica that a request goes to when it arrives, or a cache when its prompt
 * begins. Keys `router` and `decode_router`.
 */
class RequestRouter : public ServingPolicy
{
  public:
    /// A replica that requests may go to.
    struct Target
    {
        ServingPlace place;
        const ServingReplica* replica;
        uint64_t coming{0}; ///< sequences that are on their way to it
    };

    /// @param targets at least one, in the same order each time; those of an instance that has
    /// failed are left out
    /// @param sequence that goes to it
    /// @return index of one of them
    virtual std::size_t Choose(std::span<const Target> targets, const Sequence& sequence) = 0;
};

/// Takes the target of the lowest rank, and the first of several, so that every run has the same
/// choices.
class RankingRouter : public RequestRouter
{
  public:
    virtual int64_t RankOf(const Target& target, const Sequence& sequence) const = 0;

    std::size_t Choose(std::span<const Target> targets, const Sequence& sequence) final;
};

} // namespace AstraSim

#endif /* REQUEST_ROUTER_H */
