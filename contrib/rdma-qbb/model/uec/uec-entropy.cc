/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-entropy.h"

#include "ns3/flow-hash.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

namespace
{

/// Names of the ways to spread, in their order.
constexpr std::array<std::string_view, 3> SPREADINGS{"Oblivious", "Avoid", "Recycle"};

/// All values in turn; each round has an order of its own.
class InTurn : public UecEntropy
{
  public:
    InTurn(uint32_t values, uint32_t seed)
        : UecEntropy(values, seed),
          m_order(Draw())
    {
    }

    uint16_t Next(int64_t) override
    {
        const auto value = static_cast<uint16_t>((m_turn ^ m_order) & m_mask);
        m_turn = (m_turn + 1) & m_mask;
        if (m_turn == 0)
        {
            m_order = Draw();
        }
        return value;
    }

  private:
    uint32_t m_turn{0};
    uint16_t m_order;
};

/// In turn, but a value with bad answers misses some of its turns.
class Avoiding : public InTurn
{
  public:
    Avoiding(uint32_t values, uint32_t seed)
        : InTurn(values, seed),
          m_turnsToMiss(values, 0)
    {
    }

    uint16_t Next(int64_t nowPs) override
    {
        uint16_t value = InTurn::Next(nowPs);
        for (uint32_t skipped = 0; m_turnsToMiss[value] > 0 && skipped <= m_mask; ++skipped)
        {
            --m_turnsToMiss[value];
            value = InTurn::Next(nowPs);
        }
        return value;
    }

    void OnOutcome(uint16_t value, Outcome outcome, int64_t) override
    {
        // By outcome. uet-htsim has the same weights.
        constexpr std::array<uint8_t, 4> TURNS{0, 1, 4, MOST};
        uint8_t& turns = m_turnsToMiss[value & m_mask];
        turns = std::min<uint8_t>(MOST, turns + TURNS[static_cast<uint8_t>(outcome)]);
    }

  private:
    static constexpr uint8_t MOST = 15;

    std::vector<uint8_t> m_turnsToMiss; ///< by value
};

/// REPS (Bonato et al., "REPS: Recycled Entropy Packet Spraying", 2024): a cache of the latest good
/// values, each used once. After a timeout it is frozen: old values are better than unknown ones.
class Recycling : public UecEntropy
{
  public:
    Recycling(uint32_t values, uint32_t seed)
        : UecEntropy(values, seed)
    {
    }

    uint16_t Next(int64_t nowPs) override
    {
        if (m_fresh > 0)
        {
            const uint32_t oldest = (m_end + SIZE - m_fresh) % SIZE;
            --m_fresh;
            return m_cache[oldest];
        }
        if (nowPs < m_frozenUntilPs && m_filled > 0)
        {
            m_again = (m_again + 1) % m_filled;
            return m_cache[m_again];
        }
        return Draw();
    }

    void OnOutcome(uint16_t value, Outcome outcome, int64_t nowPs) override
    {
        if (outcome == Outcome::Good)
        {
            m_cache[m_end] = value;
            m_end = (m_end + 1) % SIZE;
            m_fresh = std::min(m_fresh + 1, SIZE);
            m_filled = std::min(m_filled + 1, SIZE);
        }
        else if (outcome == Outcome::Lost)
        {
            m_frozenUntilPs = nowPs + FREEZE_PS;
        }
    }

  private:
    static constexpr uint32_t SIZE = 8;                  ///< of the paper
    static constexpr int64_t FREEZE_PS = 10'000'000'000; ///< of uet-htsim

    std::array<uint16_t, SIZE> m_cache{};
    uint32_t m_end{0};    ///< place of the next value
    uint32_t m_fresh{0};  ///< values not used since they came
    uint32_t m_filled{0}; ///< places in use
    uint32_t m_again{0};  ///< place used last while frozen
    int64_t m_frozenUntilPs{0};
};

} // namespace

ATTRIBUTE_HELPER_CPP(UecSpreading);

std::ostream&
operator<<(std::ostream& text, const UecSpreading& spreading)
{
    return text << SPREADINGS[static_cast<std::size_t>(spreading)];
}

std::istream&
operator>>(std::istream& text, UecSpreading& spreading)
{
    std::string word;
    text >> word;
    const auto named = std::ranges::find(SPREADINGS, word);
    const bool isLegal = named != SPREADINGS.end();
    if (isLegal)
    {
        spreading = static_cast<UecSpreading>(named - SPREADINGS.begin());
    }
    text.clear(isLegal ? std::ios::eofbit : std::ios::eofbit | std::ios::failbit);
    return text;
}

std::unique_ptr<UecEntropy>
UecEntropy::Make(UecSpreading spreading, uint32_t values, uint32_t seed)
{
    switch (spreading)
    {
    case UecSpreading::Avoid:
        return std::make_unique<Avoiding>(values, seed);
    case UecSpreading::Recycle:
        return std::make_unique<Recycling>(values, seed);
    default:
        return std::make_unique<InTurn>(values, seed);
    }
}

uint16_t
UecEntropy::Draw()
{
    return static_cast<uint16_t>(MixBits(m_seed ^ MixBits(++m_draws)) & m_mask);
}

} // namespace ns3
