/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PAIR_TABLE_H
#define RDMA_PAIR_TABLE_H

#include "ns3/abort.h"
#include "ns3/stable-array.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The queue pairs of one half of a host's RDMA engine, by number.
 *
 * Places are used again. A number (qpn) is the index of a place and a generation that grows with
 * each use, so that a late frame of a connection that has ended cannot reach the one that has its
 * place. @tparam Pair has a field qpn
 */
template <typename Pair>
class RdmaPairTable
{
  public:
    /// @return the place of a number, among Size() places
    static uint32_t IndexOf(uint32_t qpn)
    {
        return qpn & INDEX_MASK;
    }

    /// @return the pair at the place of @p qpn, which may have another number by now
    Pair& AtPlaceOf(uint32_t qpn)
    {
        return m_pairs[IndexOf(qpn)];
    }

    /// @return the pair at place @p index
    const Pair& operator[](std::size_t index) const
    {
        return m_pairs[index];
    }

    /// @return places up to now
    std::size_t Size() const
    {
        return m_pairs.Size();
    }

    /// @return a pair that is free, with its number; and whether it has never been used
    std::pair<Pair&, bool> Take()
    {
        if (!m_free.empty())
        {
            const uint32_t index = m_free.back();
            m_free.pop_back();
            return {m_pairs[index], false};
        }
        const auto index = static_cast<uint32_t>(m_pairs.Size());
        NS_ABORT_MSG_IF(index > INDEX_MASK, "more than 2^20 queue pairs on one host");
        Pair& pair = m_pairs.Add();
        pair.qpn = index;
        return {pair, true};
    }

    /// A pair is free again. @param qpn the number that it had
    void GiveBack(Pair& pair, uint32_t qpn)
    {
        pair.qpn = qpn + (1U << INDEX_BITS);
        m_free.push_back(IndexOf(qpn));
    }

    /// Destroy all pairs.
    void Clear()
    {
        m_pairs.Clear();
    }

  private:
    static constexpr uint32_t INDEX_BITS = 20;
    static constexpr uint32_t INDEX_MASK = (1U << INDEX_BITS) - 1;

    StableArray<Pair> m_pairs;
    std::vector<uint32_t> m_free;
};

} // namespace ns3

#endif /* RDMA_PAIR_TABLE_H */
