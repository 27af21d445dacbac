/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PORT_EVENT_H
#define QBB_PORT_EVENT_H

#include "qbb-simulator-impl.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A timed event that calls a method of its owner.
 *
 * @tparam T the owner
 * @tparam METHOD what to call, with the time in picoseconds, when the event expires
 */
template <typename T, void (T::*METHOD)(int64_t nowPs)>
class QbbPortEvent final : public QbbTimedEvent
{
  public:
    /// @param owner who is called
    explicit QbbPortEvent(T* owner)
        : m_owner(owner)
    {
    }

    /// The owner ends: expiries that are still scheduled do nothing.
    void Detach()
    {
        m_owner = nullptr;
    }

    void Fire(int64_t nowPs) override
    {
        if (m_owner)
        {
            (m_owner->*METHOD)(nowPs);
        }
    }

  private:
    T* m_owner;
};

} // namespace ns3

#endif /* QBB_PORT_EVENT_H */
