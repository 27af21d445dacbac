/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONNECTION_KEY_H
#define CONNECTION_KEY_H

#include <cstddef>
#include <cstdint>

namespace AstraSim
{

/// Tells the connections of a network apart.
struct ConnectionKey
{
    uint32_t src;
    uint32_t dst;
    uint64_t lane;       ///< a channel, or what else separates messages between two hosts
    uint32_t part;       ///< of a message that goes over several connections
    uint64_t rateCapBps; ///< one connection for each speed limit, so that none changes its own

    bool operator==(const ConnectionKey&) const = default;

    /// For hash maps.
    struct Hash
    {
        std::size_t operator()(const ConnectionKey& key) const
        {
            const uint64_t pair = static_cast<uint64_t>(key.src) << 32 | key.dst;
            const uint64_t lane = (key.lane << 8 ^ key.part) ^ key.rateCapBps << 20;
            const uint64_t value = (pair ^ lane * 0xc2b2ae3d27d4eb4fU) * 0x9e3779b97f4a7c15U;
            return value ^ value >> 31;
        }
    };
};

} // namespace AstraSim

#endif /* CONNECTION_KEY_H */
