/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TRACE_SOURCE_H
#define TRACE_SOURCE_H

#include "ns3/abort.h"
#include "ns3/callback.h"
#include "ns3/ptr.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/type-id.h"

#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A trace source of all objects of a class.
 *
 * ObjectBase::TraceConnectWithoutContext() searches the class's trace sources by name for each
 * object, which is most of the time that it takes; here that is done once.
 *
 * @code
 * const TraceSource<QbbNetDevice> pfc("Pfc");
 * pfc.Connect(device, MakeCallback(&OnPfc));
 * @endcode
 */
template <typename Owner>
class TraceSource
{
  public:
    /// @param name of a trace source of Owner
    explicit TraceSource(const std::string& name)
        : m_accessor(Owner::GetTypeId().LookupTraceSourceByName(name))
    {
        NS_ABORT_MSG_UNLESS(m_accessor, "no trace source " << name);
    }

    /// Call @p sink whenever the source of @p object fires.
    void Connect(Owner& object, const CallbackBase& sink) const
    {
        m_accessor->ConnectWithoutContext(&object, sink);
    }

    /// Call a sink no more that was connected.
    void Disconnect(Owner& object, const CallbackBase& sink) const
    {
        m_accessor->DisconnectWithoutContext(&object, sink);
    }

  private:
    Ptr<const TraceSourceAccessor> m_accessor;
};

} // namespace ns3

#endif /* TRACE_SOURCE_H */
