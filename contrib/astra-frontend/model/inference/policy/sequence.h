/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "serving-request.h"

#include "ns3/rank-network.h"

#include <array>
#include <cstdint>

namespace AstraSim
{

/// The replica of an instance that computes a sequence's prompt, or its output.
struct ServingPlace
{
    uint32_t instance{UINT32_MAX}; ///< of all pools together; UINT32_MAX: none
    uint32_t replica{0};

    bool IsSet() const
    {
        return instance != UINT32_MAX;
    }

    bool operator==(const ServingPlace&) const = default;
};

/// A request while it is served. Times are -1 until they are known.
struct Sequence
{
    uint32_t id{0};
    uint32_t prompt{0};
    uint32_t output{0};
    uint32_t generated{0};     ///< tokens of the output
    uint32_t verifications{0}; ///< steps that verified a draft for it
    uint32_t computed{0};      ///< tokens with keys and values in the cache
    uint64_t blocks{0};        ///< of the cache, held where it is now
    uint64_t named{0};         ///< of those, from the first on, the ones that others may share
    uint32_t cached{0};        ///< tokens of the prompt that were in a cache when it began
    std::array<uint32_t, 3> tierTokens{};   ///< of those: on the host, on NVMe, in the remote pool
    const ServingRequest* request{nullptr}; ///< borrowed; has the content that others may share
    bool inFlight{false};                   ///< in a batch that has not ended
    TimePs readyAt{0};                      ///< it is being moved between memories until then
    TimePs swapTime{0};                     ///< of its cache to or from the host, where it is
    uint32_t preemptions{0};
    uint32_t restarts{0}; ///< on another instance, since one failed
    bool isOver{false};   ///< refused or dropped: it gets no answer

    ServingPlace prefill;
    ServingPlace decode;

    TimePs arrival{0};
    TimePs scheduled{-1};   ///< its first step began
    TimePs promptEnded{-1}; ///< the step that computed the last of its prompt ended
    TimePs firstToken{-1};  ///< the step that made it ended
    TimePs cacheMoved{-1};  ///< all of the cache has reached the decoding instance
    TimePs finished{-1};
    TimePs transferStart{-1}; ///< the first message left
    TimePs transferEnd{-1};   ///< the last message came

    uint64_t cacheBytes{0};     ///< that were moved
    uint64_t reservedBlocks{0}; ///< where it will decode
    uint64_t reservedNamed{0};  ///< of those, the ones that were there
    uint32_t cachedThere{0};    ///< tokens in them, which need not be moved
    uint32_t messages{0};       ///< of the cache, under way
    bool streams{false};        ///< layers leave as they are computed

    /// @return tokens that must be in the cache before the next one is made
    uint32_t Tokens() const
    {
        return prompt + generated;
    }

    uint32_t Missing() const
    {
        return Tokens() - computed;
    }

    /// Forget the first token: the last token of the prompt is to be computed again.
    void DropFirstToken()
    {
        generated = 0;
        computed = prompt - 1;
    }
};

} // namespace AstraSim

#endif /* SEQUENCE_H */
