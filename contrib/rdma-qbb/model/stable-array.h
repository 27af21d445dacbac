/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STABLE_ARRAY_H
#define STABLE_ARRAY_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

namespace ns3
{

/**
 * @brief An array that grows at its end and whose elements stay at their addresses.
 *
 * Elements are allocated a few at a time, side by side, at the alignment of their type.
 */
template <typename T>
class StableArray
{
  public:
    StableArray() = default;

    ~StableArray()
    {
        Clear();
    }

    StableArray(const StableArray&) = delete;
    StableArray& operator=(const StableArray&) = delete;

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
            AddSlab();
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
        for (std::size_t slab = 0; slab * SLAB < m_size; ++slab)
        {
            delete[] m_slabs[slab];
        }
        FreeTable();
        m_slabs = m_first;
        m_capacity = FIRST;
        m_size = 0;
    }

  private:
    static constexpr std::size_t SLAB = 4;
    static constexpr std::size_t LINE = 64;
    static constexpr uint32_t FIRST = 2; ///< slabs without a table of their own

    void AddSlab()
    {
        const std::size_t count = m_size / SLAB;
        if (count == m_capacity)
        {
            const std::size_t more = std::max<std::size_t>(LINE / sizeof(T*), 2 * count);
            auto** table =
                static_cast<T**>(::operator new (more * sizeof(T*), std::align_val_t{LINE}));
            std::copy_n(m_slabs, count, table);
            FreeTable();
            m_slabs = table;
            m_capacity = static_cast<uint32_t>(more);
        }
        m_slabs[count] = new T[SLAB];
    }

    void FreeTable()
    {
        if (m_slabs != m_first)
        {
            ::operator delete (m_slabs, std::align_val_t{LINE});
        }
    }

    // Two of these share a line of the cache, and a short one's elements are one step away from it.
    T** m_slabs{m_first};
    uint32_t m_size{0};
    uint32_t m_capacity{FIRST};
    T* m_first[FIRST]{};
};

} // namespace ns3

#endif /* STABLE_ARRAY_H */
