/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "drawn-requests.h"

#include "ns3/clock-range.h"
#include "ns3/rows.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

namespace AstraSim
{

namespace
{

constexpr TimePs PS_PER_THINK_MS = 1'000'000'000;

/// Draws the same numbers on every machine.
class Draw
{
  public:
    explicit Draw(uint64_t seed)
        : m_engine(seed)
    {
    }

    /// @return a number above 0 and below 1
    double Uniform()
    {
        return (static_cast<double>(m_engine() >> 11) + 0.5) * 0x1.0p-53;
    }

    double Exponential(double mean)
    {
        return -std::log(Uniform()) * mean;
    }

    /// @return a number with mean 0 and deviation 1 (Box and Muller)
    double Normal()
    {
        const double radius = std::sqrt(-2 * std::log(Uniform()));
        return radius * std::cos(2 * std::numbers::pi * Uniform());
    }

    /// @return a number with mean 1 and a coefficient of variation of 1 / sqrt(@p shape)
    double Gamma(double shape)
    {
        if (shape == 1)
        {
            return Exponential(1);
        }
        if (std::isinf(shape))
        {
            return 1;
        }
        if (shape < 1)
        {
            // One more than the shape, times a power of a uniform number.
            const double power = std::pow(Uniform(), 1 / shape);
            return Gamma(shape + 1) * (shape + 1) / shape * power;
        }
        // Marsaglia and Tsang, 2000: a cubed normal number, accepted in most cases.
        const double d = shape - 1.0 / 3;
        while (true)
        {
            const double normal = Normal();
            const double root = 1 + normal / std::sqrt(9 * d);
            const double cube = root * root * root;
            if (root > 0 &&
                std::log(Uniform()) < normal * normal / 2 + d - d * cube + d * std::log(cube))
            {
                return d * cube / shape;
            }
        }
    }

    uint32_t Count(const DrawnCount& count)
    {
        const auto within = [](double value) {
            return static_cast<uint32_t>(
                std::clamp(value, 1.0, static_cast<double>(DrawnCount::MOST)));
        };
        const double mean = count.first;
        switch (count.kind)
        {
        case DrawnCount::Kind::Fixed:
            return count.first;
        case DrawnCount::Kind::Uniform:
            return count.first + static_cast<uint32_t>(
                                     Uniform() * (static_cast<double>(count.second) - mean + 1));
        case DrawnCount::Kind::Exponential:
            return within(std::ceil(Exponential(mean)));
        case DrawnCount::Kind::Lognormal: {
            const double ratio = count.second / mean;
            const double variance = std::log1p(ratio * ratio); // of the logarithm
            const double logarithm = std::log(mean) - variance / 2 + std::sqrt(variance) * Normal();
            return within(std::round(std::exp(logarithm)));
        }
        }
        return 1;
    }

  private:
    std::mt19937_64 m_engine;
};

/// Each kind of draw has a stream of its own, so that arrivals do not depend on how sizes are
/// drawn.
struct Draws
{
    explicit Draws(uint64_t seed)
        : arrivals(seed),
          sizes(seed ^ 0x9E3779B97F4A7C15ULL),
          prefixes(seed ^ 0xC2B2AE3D27D4EB4FULL),
          sessions(seed ^ 0x165667B19E3779F9ULL),
          classes(seed ^ 0x85EBCA77C2B2AE63ULL)
    {
    }

    Draw arrivals;
    Draw sizes;
    Draw prefixes;
    Draw sessions;
    Draw classes;
};

/// @return the number of a share, each as likely as it is large
uint32_t
DrawClass(const std::vector<double>& shares, Draw& draw)
{
    double left = draw.Uniform() * std::accumulate(shares.begin(), shares.end(), 0.0);
    uint32_t drawn = 0;
    while (drawn + 1 < shares.size() && left >= shares[drawn])
    {
        left -= shares[drawn++];
    }
    return drawn;
}

/// @return a request, or the first one of a session, without its time
ServingRequest
DrawRequest(const DrawnRequests& description, Draws& draws)
{
    ServingRequest request;
    request.promptTokens = draws.sizes.Count(description.prompt);
    request.outputTokens = draws.sizes.Count(description.output);
    if (description.sharedTokens > 0)
    {
        request.prefixTokens = description.sharedTokens;
        const double drawn = draws.prefixes.Uniform() * description.sharedPrefixes;
        request.prefix.push_back(static_cast<uint64_t>(drawn));
    }
    if (!description.classShares.empty())
    {
        request.requestClass = DrawClass(description.classShares, draws.classes);
    }
    return request;
}

/// Make @p turn the next one of its session: its prompt has all of the one before, the answer, and
/// what the user adds.
void
Continue(ServingRequest& turn, const DrawnRequests& description, Draws& draws)
{
    const DrawnCount& added =
        description.turnTokens.IsGiven() ? description.turnTokens : description.prompt;
    const uint64_t tokens =
        uint64_t{turn.promptTokens} + turn.outputTokens + draws.sizes.Count(added);
    turn.promptTokens = static_cast<uint32_t>(std::min<uint64_t>(tokens, UINT32_MAX / 2));
    turn.outputTokens = draws.sizes.Count(description.output);
}

} // namespace

std::optional<DrawnCount>
DrawnCount::Parse(std::string_view text)
{
    using enum Kind;
    const std::string_view word = text.substr(0, text.find(' '));
    const Kind kind = word == "uniform"       ? Uniform
                      : word == "exponential" ? Exponential
                      : word == "lognormal"   ? Lognormal
                                              : Fixed;
    const std::size_t count = kind == Uniform || kind == Lognormal ? 2 : 1;
    const auto numbers =
        ns3::WholesWithin(kind == Fixed ? text : text.substr(word.size()), 1, MOST, count);
    if (!numbers || numbers->size() != count ||
        (kind == Uniform && numbers->back() < numbers->front()))
    {
        return std::nullopt;
    }
    return DrawnCount{kind, numbers->front(), count == 2 ? numbers->back() : 0};
}

std::vector<ServingRequest>
DrawRequests(const DrawnRequests& description)
{
    Draws draws(description.seed);
    std::vector<ServingRequest> requests;
    double seconds = 0;
    for (uint32_t session = 0; requests.size() < description.count; ++session)
    {
        if (session % description.burst == 0)
        {
            seconds += draws.arrivals.Gamma(description.burstiness) * description.burst /
                       description.perSecond;
        }
        ServingRequest turn = DrawRequest(description, draws);
        turn.arrival = ns3::RoundToPs(seconds * static_cast<double>(ns3::PS_PER_SECOND));
        const uint32_t turns =
            description.turns.IsGiven() ? draws.sessions.Count(description.turns) : 1;
        for (uint32_t number = 0; number < turns && requests.size() < description.count; ++number)
        {
            if (number > 0)
            {
                Continue(turn, description, draws);
            }
            if (description.turns.IsGiven())
            {
                turn.session = session;
                turn.conversation = session;
            }
            if (description.thinkMs.IsGiven())
            {
                turn.think = PS_PER_THINK_MS * draws.sessions.Count(description.thinkMs);
            }
            requests.push_back(turn);
        }
    }
    return requests;
}

} // namespace AstraSim
