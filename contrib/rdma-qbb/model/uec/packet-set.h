/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACKET_SET_H
#define PACKET_SET_H

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Packet numbers that have arrived: all below a bound, and any above it.
 *
 * A ring of bits, which grows to the farthest number beyond the bound.
 */
class PacketSet
{
  public:
    /// @return the lowest number that is missing, or above it while Advance() is not called
    uint64_t GetBound() const
    {
        return m_bound;
    }

    /// @return whether a number is in the set
    bool Contains(uint64_t number) const
    {
        return number < m_bound ||
               (number - m_bound < GetReach() && WordOf(number) & BitOf(number));
    }

    /// Add a number at or above the bound.
    void Add(uint64_t number)
    {
        if (number - m_bound >= GetReach())
        {
            Grow(number);
        }
        m_words[IndexOf(number)] |= BitOf(number);
    }

    /// Let the bound pass one number, which is in the set from now on.
    void Advance()
    {
        if (!m_words.empty())
        {
            m_words[IndexOf(m_bound)] &= ~BitOf(m_bound);
        }
        ++m_bound;
    }

    /// @return the 64 numbers that end with @p number: its own is the highest bit. Those below 0
    /// count as in the set.
    uint64_t Last64(uint64_t number) const
    {
        uint64_t bits = 0;
        for (uint64_t back = 0; back < 64; ++back)
        {
            const bool isIn = number < back || Contains(number - back);
            bits |= uint64_t{isIn} << (63 - back);
            if (number - back < m_bound)
            {
                return bits | ((uint64_t{1} << (63 - back)) - 1); // and so are all before it
            }
        }
        return bits;
    }

  private:
    static uint64_t BitOf(uint64_t number)
    {
        return uint64_t{1} << (number & 63);
    }

    uint64_t GetReach() const
    {
        return 64 * m_words.size();
    }

    std::size_t IndexOf(uint64_t number) const
    {
        return number / 64 & (m_words.size() - 1);
    }

    uint64_t WordOf(uint64_t number) const
    {
        return m_words[IndexOf(number)];
    }

    void Grow(uint64_t number)
    {
        std::size_t words = m_words.empty() ? 1 : m_words.size();
        while (64 * words <= number - m_bound)
        {
            words *= 2;
        }
        std::vector<uint64_t> grown(words, 0);
        for (uint64_t each = m_bound; each < m_bound + GetReach(); ++each)
        {
            grown[each / 64 & (words - 1)] |= WordOf(each) & BitOf(each);
        }
        m_words = std::move(grown);
    }

    uint64_t m_bound{0};
    std::vector<uint64_t> m_words; ///< a power of two of them; bits below the bound are clear
};

} // namespace ns3

#endif /* PACKET_SET_H */
