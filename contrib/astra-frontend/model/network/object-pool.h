/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OBJECT_POOL_H
#define OBJECT_POOL_H

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace AstraSim
{

/// Objects that come and go often: taken from and given back to slabs, never freed before the pool.
/// @tparam T has a member `next`, a pointer to T or to a base of it
template <typename T>
class ObjectPool
{
  public:
    /// @return an object in its first state; stays at its address until it is given back
    T* Take()
    {
        static_assert(std::is_nothrow_default_constructible_v<T>, "or it would be destroyed twice");
        constexpr std::size_t SLAB = 256;
        if (!m_free)
        {
            m_slabs.push_back(std::make_unique<T[]>(SLAB));
            for (std::size_t i = SLAB; i > 0; --i)
            {
                GiveBack(&m_slabs.back()[i - 1]);
            }
        }
        T* object = m_free;
        m_free = static_cast<T*>(object->next);
        std::destroy_at(object);
        // Not T(), which would fill it with zeros before its members get their values.
        return ::new (object) T;
    }

    /// @param object from Take()
    void GiveBack(T* object)
    {
        object->next = m_free;
        m_free = object;
    }

  private:
    T* m_free{nullptr};
    std::vector<std::unique_ptr<T[]>> m_slabs;
};

} // namespace AstraSim

#endif /* OBJECT_POOL_H */
