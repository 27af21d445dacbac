/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STABLE_ARRAY_H
#define STABLE_ARRAY_H

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <memory>

namespace ns3
{

/**
 * @ingroup base
 * @brief An array that grows at its end and whose elements stay at their addresses.
 *
 * Elements are allocated a few at a time, side by side, at the alignment of their type.
 */
template <typename T>
class StableArray
{
  public:
    /// @return element @p index, which exists
    T& operator[](std::size_t index) const
    {
        return m_slabs[index / SLAB][index % SLAB];
    }

    /// Add an element at the end. @return it
    T& Add()
    {
        if (m_size % SLAB == 0)
        {
            m_slabs.push_back(std::make_unique<T[]>(SLAB));
        }
        return (*this)[m_size++];
    }

    /// @return number of elements
    std::size_t Size() const
    {
        return m_size;
    }

    /// Destroy all elements.
    void Clear()
    {
        m_slabs.clear();
        m_size = 0;
    }

  private:
    static constexpr std::size_t SLAB = 4;
    static constexpr std::size_t INLINE = 2; ///< slabs with their pointers in this object

    boost::container::small_vector<std::unique_ptr<T[]>, INLINE> m_slabs;
    std::size_t m_size{0};
};

} // namespace ns3

#endif /* STABLE_ARRAY_H */
