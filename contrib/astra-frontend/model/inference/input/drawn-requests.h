/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DRAWN_REQUESTS_H
#define DRAWN_REQUESTS_H

#include "ns3/serving-request.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// A whole number: fixed, or drawn from a distribution.
struct DrawnCount
{
    enum class Kind : uint8_t
    {
        Fixed,
        Uniform,     ///< whole numbers from first to second
        Exponential, ///< with mean first, rounded up
        Lognormal,   ///< with mean first and standard deviation second, rounded
    };

    static constexpr uint64_t MOST = 1U << 24;
    static constexpr const char* EXPECTED =
        "N, uniform LOW HIGH, exponential MEAN, or lognormal MEAN DEVIATION";

    Kind kind{Kind::Fixed};
    uint32_t first{0}; ///< 0: not given
    uint32_t second{0};

    /// @return the count that @p text describes, or nothing if it has none of these forms
    static std::optional<DrawnCount> Parse(std::string_view text);

    bool IsGiven() const
    {
        return first > 0;
    }

    bool operator==(const DrawnCount&) const = default;
};

/**
 * @ingroup astra-frontend
 * @brief Requests as load generators make them.
 *
 * Gaps between arrivals are exponential, or gamma
 * distributed as in `vllm bench serve`.
 *
 * A session is a user's or an agent's conversation. Each of its requests, the turns, has the
 * conversation so far at the beginning of its prompt, and comes when the one before it has been
 * answered and its user has thought.
 */
struct DrawnRequests
{
    uint64_t count{0};
    double perSecond{0};   ///< arrivals; of sessions, where there are any; infinite: all at once
    double burstiness{1};  ///< shape of the gaps' gamma distribution; infinite: equal gaps
    uint32_t burst{1};     ///< requests or sessions that arrive together
    DrawnCount prompt;     ///< tokens; of a session, those of its first prompt
    DrawnCount output;     ///< tokens
    DrawnCount turns;      ///< requests of a session; not given: there are no sessions
    DrawnCount turnTokens; ///< that a user adds to the conversation; not given: as the prompt
    DrawnCount thinkMs;    ///< from an answer to the user's next request; not given: none
    uint64_t seed{1};
    uint32_t sharedTokens{0};        ///< at the beginning of each prompt, at most
    std::vector<double> classShares; ///< relative to each other; empty: there is one class
    uint32_t sharedPrefixes{1}; ///< how many beginnings there are; one is drawn for each session
};

/// @return requests by arrival, the same for the same seed on every machine. The turns of a session
/// stand together, all with its time of arrival.
std::vector<ServingRequest> DrawRequests(const DrawnRequests& description);

} // namespace AstraSim

#endif /* DRAWN_REQUESTS_H */
