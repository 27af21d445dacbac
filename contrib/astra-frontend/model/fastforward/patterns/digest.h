/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIGEST_H
#define DIGEST_H

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief 128 bits that stand for a sequence of numbers: equal sequences have equal digests, and two
 * different ones of a run have the same with a probability of less than 10^-20.
 */
class Digest
{
  public:
    void Add(uint64_t value)
    {
        m_low = Mix(m_low ^ value) + m_high;
        m_high = Mix(std::rotl(m_high, 29) + value * 0xc2b2ae3d27d4eb4fU) ^ m_low;
    }

    void Add(double value)
    {
        Add(std::bit_cast<uint64_t>(value));
    }

    void Add(const Digest& other)
    {
        Add(other.m_low);
        Add(other.m_high);
    }

    auto operator<=>(const Digest&) const = default;

    struct Hash
    {
        std::size_t operator()(const Digest& digest) const
        {
            return digest.m_low;
        }
    };

  private:
    /// splitmix64's finalizer (Steele, Lea and Flood, OOPSLA 2014).
    static uint64_t Mix(uint64_t value)
    {
        value += 0x9e3779b97f4a7c15U;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
        value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
        return value ^ (value >> 31);
    }

    uint64_t m_low{0x243f6a8885a308d3U};
    uint64_t m_high{0x13198a2e03707344U};
};

} // namespace AstraSim

#endif /* DIGEST_H */
