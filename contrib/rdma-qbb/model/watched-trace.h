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
 * @brief A trace source that raises a flag of its owner when somebody connects to it.
 *
 * The owner tests one flag among its hot fields instead of one list per trace source. The flag
 * stays raised when everybody has disconnected.
 */
template <typename... Ts>
class WatchedTrace : public TracedCallback<Ts...>
{
  public:
    /// @param watched a field of the owner
    explicit WatchedTrace(bool& watched)
        : m_watched(watched)
    {
    }

    /// Connect a sink without a context.
    void ConnectWithoutContext(const CallbackBase& callback)
    {
        m_watched = true;
        TracedCallback<Ts...>::ConnectWithoutContext(callback);
    }

    /// Connect a sink that is told @p path.
    void Connect(const CallbackBase& callback, std::string path)
    {
        m_watched = true;
        TracedCallback<Ts...>::Connect(callback, path);
    }

  private:
    bool& m_watched;
};

} // namespace ns3

#endif /* WATCHED_TRACE_H */
