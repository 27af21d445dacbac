/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_HOOK_H
#define IN_NETWORK_HOOK_H

#include "ns3/object.h"
#include "ns3/qbb-frame.h"

#include <cstdint>

namespace ns3
{

class RdmaHw;
class SwitchNode;

/// Handles frames of in-network operations (contributions and results) at switches and hosts.
class InNetworkHook : public Object
{
  public:
    /// A contribution or a result arrived at a switch. Takes the frame.
    virtual void OnSwitchFrame(SwitchNode& node, QbbFrame* frame, int64_t nowPs) = 0;

    /// A result arrived at a host. Does not take the frame.
    virtual void OnHostFrame(const RdmaHw& host, const QbbFrame& frame) = 0;
};

} // namespace ns3

#endif /* IN_NETWORK_HOOK_H */
