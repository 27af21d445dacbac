/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cache-transfers.h"

#include "astra-frontend/model/system/sys.h"
#include "collectives/model/collective/traffic-purpose.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// Tags of caches are told from those of pipelines by this bit.
constexpr uint32_t CACHE_TAG = 1U << 29;

/// @return tokens that leave with a step: those that it computed, and with a prompt's first part
/// those in the cache before it, without those that the decoding instance has
uint64_t
TokensToMove(const BatchItem& item)
{
    const Sequence& sequence = *item.sequence;
    const uint64_t first = item.before == sequence.cached ? 0 : item.before;
    const uint64_t end = uint64_t{item.before} + item.count;
    return end - std::min(end, std::max<uint64_t>(first, sequence.cachedThere));
}

} // namespace

CacheTransfers::CacheTransfers(const ServingConfig& config,
                               const std::vector<std::unique_ptr<ServingInstance>>& instances,
                               Hooks hooks,
                               uint32_t layer)
    : m_config(config),
      m_instances(instances),
      m_hooks(std::move(hooks)),
      m_layer(layer),
      m_router(PolicyKind<RequestRouter>::Create(config.decodeRouter))
{
    const auto* prefill = config.Find(InstanceRole::Prefill);
    const auto* decode = config.Find(InstanceRole::Decode);
    m_shares = ShareHeads(config.kvHeads, prefill->tp, decode->tp);
    m_prefillStages = std::make_unique<StepCost>(*prefill, config.layers);
    m_decodeStages = std::make_unique<StepCost>(*decode, config.layers);
    for (const auto& instance : instances)
    {
        if (instance->GetPool().role != InstanceRole::Decode)
        {
            continue;
        }
        for (uint32_t replica = 0; replica < instance->GetPool().dp; ++replica)
        {
            m_destinations.push_back({instance.get(), replica, {}});
            m_targets.push_back(
                {{instance->GetNumber(), replica}, &instance->GetScheduler(replica), 0});
        }
    }
}

CacheTransfers::Destination&
CacheTransfers::DestinationOf(const Sequence& sequence)
{
    return *std::ranges::find_if(m_destinations, [&](const auto& each) {
        return each.instance->GetNumber() == sequence.decode.instance &&
               each.replica == sequence.decode.replica;
    });
}

void
CacheTransfers::Begin(Sequence& sequence, TimePs now)
{
    const std::size_t chosen = m_router->Choose(m_targets, sequence);
    sequence.decode = m_targets[chosen].place;
    ++m_targets[chosen].coming;
    Destination& destination = m_destinations[chosen];
    if (destination.pending.empty() && TryReserve(destination, sequence, now))
    {
        sequence.streams = m_config.layerByLayer;
        return;
    }
    destination.pending.push_back(&sequence);
}

bool
CacheTransfers::TryReserve(Destination& destination, Sequence& sequence, TimePs now)
{
    // Room up to the first token that is computed there: the prompt's last token, or the first
    // output.
    const uint32_t more = m_config.firstTokenAtDecode ? 0 : 1;
    return destination.instance->GetScheduler(destination.replica)
        .Reserve(sequence, uint64_t{sequence.prompt} + more, now);
}

void
CacheTransfers::BlocksFreed(const ServingPlace& place, TimePs now)
{
    for (Destination& destination : m_destinations)
    {
        if (destination.instance->GetNumber() != place.instance ||
            destination.replica != place.replica)
        {
            continue;
        }
        while (!destination.pending.empty() &&
               TryReserve(destination, *destination.pending.front(), now))
        {
            Sequence& sequence = *destination.pending.front();
            destination.pending.pop_front();
            if (sequence.promptEnded >= 0)
            {
                SendWhole(sequence);
            }
        }
    }
}

void
CacheTransfers::LayerComputed(ServingInstance& instance,
                              const ServingStep& step,
                              uint32_t place,
                              uint32_t layer)
{
    const auto [first, end] = m_prefillStages->LayersOf(instance.StageAt(place));
    const uint32_t group = m_config.layersPerMessage;
    const uint32_t inGroup = (layer - first) % group + 1;
    if (inGroup < group && layer + 1 < end)
    {
        return;
    }
    for (const BatchItem& item : step.items[instance.ReplicaAt(place)])
    {
        if (item.sequence->streams)
        {
            SendLayers(*item.sequence,
                       instance,
                       place,
                       layer + 1 - inGroup,
                       layer + 1,
                       TokensToMove(item));
        }
    }
}

void
CacheTransfers::PromptEnded(Sequence& sequence)
{
    if (sequence.streams)
    {
        CompleteIfMoved(sequence);
    }
    else if (sequence.reservedBlocks > 0)
    {
        SendWhole(sequence);
    }
}

void
CacheTransfers::SendWhole(Sequence& sequence)
{
    const ServingInstance& from = *m_instances[sequence.prefill.instance];
    for (uint32_t place = 0; place < from.CountRanks(); ++place)
    {
        if (from.ReplicaAt(place) == sequence.prefill.replica)
        {
            const auto [first, end] = m_prefillStages->LayersOf(from.StageAt(place));
            SendLayers(sequence, from, place, first, end, sequence.prompt - sequence.cachedThere);
        }
    }
    if (sequence.messages == 0) // all of the prompt is there
    {
        CompleteIfMoved(sequence);
    }
}

void
CacheTransfers::SendLayers(Sequence& sequence,
                           const ServingInstance& from,
                           uint32_t place,
                           uint32_t firstLayer,
                           uint32_t endLayer,
                           uint64_t tokens)
{
    if (tokens == 0)
    {
        return;
    }
    const ServingInstance& to = *m_instances[sequence.decode.instance];
    const uint32_t shard = from.ShardAt(place);
    const uint32_t source = from.JobRankAt(from.StageAt(place), sequence.prefill.replica, shard);
    for (uint32_t layer = firstLayer; layer < endLayer;)
    {
        const uint32_t stage = m_decodeStages->StageOf(layer);
        const uint32_t next = std::min(endLayer, m_decodeStages->LayersOf(stage).second);
        const uint64_t bytes = tokens * (next - layer) * m_config.kvBytes;
        for (const CacheShare& share : m_shares)
        {
            if (share.from == shard)
            {
                Send(sequence,
                     source,
                     to.JobRankAt(stage, sequence.decode.replica, share.to),
                     bytes * share.heads);
            }
        }
        layer = next;
    }
}

void
CacheTransfers::Send(Sequence& sequence, uint32_t from, uint32_t to, uint64_t bytes)
{
    Sys& sender = m_hooks.sys(from);
    Sys& receiver = m_hooks.sys(to);
    if (sequence.transferStart < 0)
    {
        sequence.transferStart = sender.Now();
    }
    ++sequence.messages;
    sequence.cacheBytes += bytes;
    const uint32_t tag = CACHE_TAG | (sequence.id & (CACHE_TAG - 1));
    const WorkloadPosition position{m_layer, 0, TrainingPhase::Forward};
    receiver.ReceiveMessage(sender.get_rank(), bytes, tag, [this, &sequence, &receiver](TimePs) {
        Arrived(sequence, receiver.Now());
    });
    sender.SendMessage(receiver.get_rank(), bytes, tag, position, {}, KV_CACHE_PURPOSE);
}

void
CacheTransfers::Arrived(Sequence& sequence, TimePs now)
{
    --sequence.messages;
    sequence.transferEnd = now;
    CompleteIfMoved(sequence);
}

void
CacheTransfers::CompleteIfMoved(Sequence& sequence)
{
    // Until the prompt is computed, more may leave; whole caches leave at once.
    if (sequence.promptEnded < 0 || sequence.messages > 0)
    {
        return;
    }
    const std::size_t index =
        static_cast<std::size_t>(&DestinationOf(sequence) - m_destinations.data());
    --m_targets[index].coming;
    m_hooks.complete(sequence);
}

} // namespace AstraSim
