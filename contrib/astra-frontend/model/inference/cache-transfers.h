/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CACHE_TRANSFERS_H
#define CACHE_TRANSFERS_H

#include "astra-frontend/model/inference/cache/cache-layout.h"
#include "serving-instance.h"

#include "ns3/request-router.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace AstraSim
{

class Sys;

/**
 * @ingroup astra-frontend
 * @brief Moves caches from instances that prefill to instances that decode, as messages between
 * their ranks.
 *
 * When the first step of a request begins, a decoding instance is chosen, and blocks are reserved
 * there; requests get blocks in the order of their first steps. If blocks are free, each layer of
 * each part of the prompt leaves as soon as a rank has computed it, or all layers when the prompt
 * is done (kv_transfer whole). If none are free, the cache waits for blocks, and then moves whole.
 * Every rank sends the heads that the receivers keep.
 */
class CacheTransfers
{
  public:
    /// Functions of the serving engine that transfers call.
    struct Hooks
    {
        std::function<Sys&(uint32_t jobRank)> sys;
        /// The cache of a sequence is complete where it will decode.
        std::function<void(Sequence&)> complete;
    };

    /**
     * @param config borrowed
     * @param instances of all pools; borrowed
     * @param hooks called from the event loop
     * @param layer of the workload that messages belong to
     */
    CacheTransfers(const ServingConfig& config,
                   const std::vector<std::unique_ptr<ServingInstance>>& instances,
                   Hooks hooks,
                   uint32_t layer);

    /// The first step of @p sequence begins.
    void Begin(Sequence& sequence, TimePs now);

    /// A rank has computed a layer of a step.
    void LayerComputed(ServingInstance& instance,
                       const ServingStep& step,
                       uint32_t place,
                       uint32_t layer);

    /// The prompt of @p sequence is computed.
    void PromptEnded(Sequence& sequence);

    /// Blocks are free again where sequences decode.
    void BlocksFreed(const ServingPlace& place, TimePs now);

  private:
    /// A decoding replica, and the sequences that wait until it has blocks for them.
    struct Destination
    {
        ServingInstance* instance;
        uint32_t replica;
        std::deque<Sequence*> pending;
    };

    bool TryReserve(Destination& destination, Sequence& sequence, TimePs now);
    void SendWhole(Sequence& sequence);
    void SendLayers(Sequence& sequence,
                    const ServingInstance& from,
                    uint32_t place,
                    uint32_t firstLayer,
                    uint32_t endLayer,
                    uint64_t tokens);
    void Send(Sequence& sequence, uint32_t from, uint32_t to, uint64_t bytes);
    void Arrived(Sequence& sequence, TimePs now);
    void CompleteIfMoved(Sequence& sequence);
    Destination& DestinationOf(const Sequence& sequence);

    const ServingConfig& m_config;
    const std::vector<std::unique_ptr<ServingInstance>>& m_instances;
    Hooks m_hooks;
    uint32_t m_layer;
    std::unique_ptr<RequestRouter> m_router;
    std::vector<RequestRouter::Target> m_targets; ///< by destination
    std::vector<Destination> m_destinations;
    std::vector<CacheShare> m_shares;
    std::unique_ptr<StepCost> m_prefillStages; ///< to look up the layers of each stage
    std::unique_ptr<StepCost> m_decodeStages;
};

} // namespace AstraSim

#endif /* CACHE_TRANSFERS_H */
