/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WATCHED_TRACE_H
#define WATCHED_TRACE_H

#include "ns3/traced-callback.h"

#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A trace source that calls its owner when a sink is connected.
 *
 * The owner raises a flag among its hot fields and tests that, instead of one list per trace
 * source. The flag stays raised when everybody has disconnected.
 *
 * @tparam Owner has a method OnWatched()
 */
template <typename Owner, typename... Ts>
class WatchedTrace : public TracedCallback<Ts...>
{
  public:
    explicit WatchedTrace(Owner& owner)
        : m_owner(owner)
    {
    }

    /// Connect a sink without a context.
    void ConnectWithoutContext(const CallbackBase& callback)
    {
        m_owner.OnWatched();
        TracedCallback<Ts...>::ConnectWithoutContext(callback);
    }

    /// Connect a sink that gets @p path as its first argument.
    void Connect(const CallbackBase& callback, std::string path)
    {
        m_owner.OnWatched();
        TracedCallback<Ts...>::Connect(callback, path);
    }

  private:
    Owner& m_owner;
};

} // namespace ns3

#endif /* WATCHED_TRACE_H */
