/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REQUEST_ROUTER_H
#define REQUEST_ROUTER_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "batch-scheduler.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Chooses the replica that a request, or a cache, goes to.
 *
 * round_robin takes them in turn. least_loaded takes the one with the fewest tokens to compute.
 * kv_aware takes the one where the blocks of the prompt that are not in its cache, together with
 * the blocks in use and those that its waiting prompts will take, are fewest (as the KV router of
 * NVIDIA's Dynamo does, which weighs both alike). The first wins a tie, so the choice is the same
 * in every run.
 */
class RequestRouter
{
  public:
    /// A replica that requests may go to.
    struct Target
    {
        ServingPlace place;
        const BatchScheduler* scheduler;
        uint64_t coming{0}; ///< sequences that are on their way to it
    };

    explicit RequestRouter(RouterPolicy policy)
        : m_policy(policy)
    {
    }

    /// @param targets at least one @param sequence that goes to it @return index of one of them
    std::size_t Choose(const std::vector<Target>& targets, const Sequence& sequence);

  private:
    RouterPolicy m_policy;
    std::size_t m_next{0};
};

} // namespace AstraSim

#endif /* REQUEST_ROUTER_H */
