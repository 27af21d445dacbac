/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OCCUPANCY_BITMAP_H
#define OCCUPANCY_BITMAP_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Which of many slots are in use, with a fast search for the next one that is.
 *
 * Two levels of 64-bit words: a bit per slot, and above it a bit per word that is not zero. A
 * search reads at most two words plus one for each 4096 slots it passes over.
 */
class OccupancyBitmap
{
  public:
    static constexpr std::size_t NONE = SIZE_MAX; ///< what FindNext() returns when it finds nothing

    /// Make @p slots slots, all free.
    explicit OccupancyBitmap(std::size_t slots = 0)
        : m_words((slots + 63) / 64),
          m_summary((m_words.size() + 63) / 64)
    {
    }

    /// Mark a slot as used.
    void Set(std::size_t slot)
    {
        const std::size_t word = slot / 64;
        m_words[word] |= Bit(slot);
        m_summary[word / 64] |= Bit(word);
    }

    /// Mark a slot as free.
    void Clear(std::size_t slot)
    {
        const std::size_t word = slot / 64;
        m_words[word] &= ~Bit(slot);
        if (!m_words[word])
        {
            m_summary[word / 64] &= ~Bit(word);
        }
    }

    /// @return the used slots among the 64 of the word that @p slot is in: a bit each
    [[nodiscard]] uint64_t WordOf(std::size_t slot) const
    {
        return m_words[slot / 64];
    }

    /// @return the first used slot that is @p from or above it, or NONE
    [[nodiscard]] std::size_t FindNext(std::size_t from) const
    {
        std::size_t word = from / 64;
        if (word >= m_words.size())
        {
            return NONE;
        }
        if (const uint64_t rest = m_words[word] & From(from))
        {
            return word * 64 + std::countr_zero(rest);
        }
        if (++word == m_words.size())
        {
            return NONE;
        }
        uint64_t rest = m_summary[word / 64] & From(word);
        for (std::size_t group = word / 64;; rest = m_summary[group])
        {
            if (rest)
            {
                word = group * 64 + std::countr_zero(rest);
                return word * 64 + std::countr_zero(m_words[word]);
            }
            if (++group == m_summary.size())
            {
                return NONE;
            }
        }
    }

  private:
    static uint64_t Bit(std::size_t index)
    {
        return uint64_t{1} << (index % 64);
    }

    /// @return the bits of a word at @p index and above it
    static uint64_t From(std::size_t index)
    {
        return ~uint64_t{0} << (index % 64);
    }

    std::vector<uint64_t> m_words;
    std::vector<uint64_t> m_summary;
};

} // namespace ns3

#endif /* OCCUPANCY_BITMAP_H */
