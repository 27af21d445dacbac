/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_HASH_H
#define FLOW_HASH_H

#include <cstdint>

namespace ns3
{

/// @return @p value with its bits mixed so that every input bit moves every output bit
/// (the finalizer of MurmurHash3, Appleby 2011)
constexpr uint32_t
MixBits(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x85ebca6bU;
    value ^= value >> 13;
    value *= 0xc2b2ae35U;
    value ^= value >> 16;
    return value;
}

/// @return the hash of a 5-tuple (the protocol is always UDP), worked out once per queue pair
constexpr uint32_t
FlowHash(uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
    uint32_t hash = MixBits(src + 0x9e3779b9U);
    hash = MixBits(hash ^ dst);
    return MixBits(hash ^ (static_cast<uint32_t>(sport) << 16 | dport));
}

/**
 * @param flowHash of the 5-tuple
 * @param seed the switch's own: switches with different seeds choose independently
 * @param choices 1 or more
 * @return a choice in [0, choices)
 */
constexpr uint32_t
EcmpChoice(uint32_t flowHash, uint32_t seed, uint32_t choices)
{
    return static_cast<uint32_t>(static_cast<uint64_t>(MixBits(flowHash ^ seed)) * choices >> 32);
}

} // namespace ns3

#endif /* FLOW_HASH_H */
