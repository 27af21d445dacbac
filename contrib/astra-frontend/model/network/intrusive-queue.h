/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INTRUSIVE_QUEUE_H
#define INTRUSIVE_QUEUE_H

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A first in, first out list of objects that others own, in the space of one pointer.
 *
 * @tparam NEXT the member of an object that leads to the next; the last one leads to the first
 */
template <typename T, T* T::*NEXT>
class IntrusiveQueue
{
  public:
    bool IsEmpty() const
    {
        return !m_last;
    }

    /// @return the oldest object; there is one
    T& Front() const
    {
        return *(m_last->*NEXT);
    }

    /// Add an object, which stays at its address until it is taken out.
    void Push(T& object)
    {
        if (m_last)
        {
            object.*NEXT = m_last->*NEXT;
            m_last->*NEXT = &object;
        }
        else
        {
            object.*NEXT = &object;
        }
        m_last = &object;
    }

    /// Take the oldest object out.
    void Pop()
    {
        T* first = m_last->*NEXT;
        if (first == m_last)
        {
            m_last = nullptr;
        }
        else
        {
            m_last->*NEXT = first->*NEXT;
        }
        first->*NEXT = nullptr;
    }

  private:
    T* m_last{nullptr};
};

} // namespace AstraSim

#endif /* INTRUSIVE_QUEUE_H */
