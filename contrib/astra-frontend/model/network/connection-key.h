/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONNECTION_KEY_H
#define CONNECTION_KEY_H

#include <boost/functional/hash.hpp>
#include <cstddef>
#include <cstdint>

namespace AstraSim
{

/// Tells the connections of a network apart.
struct ConnectionKey
{
    uint32_t src;
    uint32_t dst;
    uint64_t lane;       ///< a channel, or another number that separates messages between two hosts
    uint32_t part;       ///< number of the part of a message that goes over several connections
    uint64_t rateCapBps; ///< speed limit, which a connection keeps for life

    bool operator==(const ConnectionKey&) const = default;

    /// For hash maps.
    struct Hash
    {
        std::size_t operator()(const ConnectionKey& key) const
        {
            std::size_t hash = 0;
            boost::hash_combine(hash, uint64_t{key.src} << 32 | key.dst);
            boost::hash_combine(hash, key.lane);
            boost::hash_combine(hash, key.part);
            boost::hash_combine(hash, key.rateCapBps);
            return hash;
        }
    };
};

} // namespace AstraSim

#endif /* CONNECTION_KEY_H */
