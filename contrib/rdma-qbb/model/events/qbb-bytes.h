/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_BYTES_H
#define QBB_BYTES_H

#include "ns3/assert.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace ns3
{

/// Bytes that processes of a run send each other.
using QbbBytes = std::vector<std::byte>;

/// Append memory as it is.
inline void
PutMemory(QbbBytes& bytes, const void* from, std::size_t count)
{
    const std::size_t before = bytes.size();
    bytes.resize(before + count);
    if (count > 0)
    {
        std::memcpy(bytes.data() + before, from, count);
    }
}

/// Append a value as it is in memory.
template <typename T>
void
PutValue(QbbBytes& bytes, const T& value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    PutMemory(bytes, &value, sizeof(T));
}

/// Append the number of values, and the values. @tparam Values is contiguous
template <typename Values>
void
PutValues(QbbBytes& bytes, const Values& values)
{
    using T = typename Values::value_type;
    static_assert(std::is_trivially_copyable_v<T>);
    PutValue(bytes, uint64_t{values.size()});
    PutMemory(bytes, values.data(), values.size() * sizeof(T));
}

/**
 * @ingroup rdma-qbb
 * @brief Takes out the values of PutValue() and PutValues(), in the same order.
 */
class QbbByteReader
{
  public:
    explicit QbbByteReader(const QbbBytes& bytes)
        : m_bytes(bytes)
    {
    }

    template <typename T>
    T Get()
    {
        T value;
        Copy(&value, sizeof(T));
        return value;
    }

    template <typename T>
    void GetTo(T& value)
    {
        value = Get<T>();
    }

    /// Append values to @p to.
    template <typename Values>
    void GetValues(Values& to)
    {
        const auto count = Get<uint64_t>();
        const std::size_t before = to.size();
        to.resize(before + count);
        Copy(to.data() + before, count * sizeof(typename Values::value_type));
    }

    template <typename Values>
    Values GetValues()
    {
        Values values;
        GetValues(values);
        return values;
    }

    bool IsAtEnd() const
    {
        return m_place == m_bytes.size();
    }

  private:
    void Copy(void* to, std::size_t bytes)
    {
        NS_ASSERT_MSG(m_place + bytes <= m_bytes.size(), "processes disagree on what they send");
        if (bytes > 0)
        {
            std::memcpy(to, m_bytes.data() + m_place, bytes);
            m_place += bytes;
        }
    }

    const QbbBytes& m_bytes;
    std::size_t m_place{0};
};

} // namespace ns3

#endif /* QBB_BYTES_H */
