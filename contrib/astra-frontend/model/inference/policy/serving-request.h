/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_REQUEST_H
#define SERVING_REQUEST_H

#include "ns3/rank-network.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// Names of contents leave room for the number of a block, and for those of conversations.
constexpr uint64_t MOST_PREFIXES = (uint64_t{1} << 38) - 1;

/// A request as users send it.
struct ServingRequest
{
    TimePs arrival{0};
    uint32_t promptTokens{1};
    uint32_t outputTokens{1}; ///< the first one comes from the prompt's own pass
    /// Contents of the prompt that other requests may have, too, from its beginning: the same
    /// number, the same tokens up to the end of its part of prefixTokens.
    std::vector<uint64_t> prefix{};
    uint32_t prefixTokens{0};
    uint32_t priority{0};     ///< smaller ones go first, where a policy asks for it
    uint32_t requestClass{0}; ///< its number among the classes of the file
    uint32_t number{0};       ///< by arrival, from 0, those that are refused included
    /// Requests of the same session come one after another, each when the one before has been
    /// answered; `arrival` is then the earliest time.
    std::optional<uint32_t> session{};
    TimePs think{0}; ///< from its answer until its user sends another request
    /// Contents of all tokens after the prefix, those of the output included: requests with the
    /// same number have the same tokens, as far as both have them.
    std::optional<uint64_t> conversation{};

    /**
     * @param block of the prompt and the output @param blockTokens of a block
     * @return a name of its content and of all tokens before it; nothing if no other request can
     * have them
     */
    std::optional<uint64_t> ContentOf(uint64_t block, uint32_t blockTokens) const
    {
        constexpr unsigned BLOCK_BITS = 25;
        const uint64_t end = (block + 1) * blockTokens;
        const uint64_t part = prefixTokens > 0 ? (end - 1) / prefixTokens : prefix.size();
        if (part < prefix.size() && end <= promptTokens)
        {
            return prefix[part] << BLOCK_BITS | block;
        }
        if (conversation && end <= uint64_t{promptTokens} + outputTokens)
        {
            return (MOST_PREFIXES + 1 + *conversation) << BLOCK_BITS | block;
        }
        return std::nullopt;
    }
};

} // namespace AstraSim

#endif /* SERVING_REQUEST_H */
