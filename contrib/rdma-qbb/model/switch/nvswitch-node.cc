/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvswitch-node.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("NVSwitchNode");

NS_OBJECT_ENSURE_REGISTERED(NVSwitchNode);

TypeId
NVSwitchNode::GetTypeId()
{
    static TypeId tid = TypeId("ns3::NVSwitchNode")
                            .SetParent<SwitchNode>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<NVSwitchNode>()
                            .AddAttribute("BufferBytes",
                                          "Packet buffer of the NVSwitch; 0: NVLink's credits are "
                                          "per link, so all headroom, as much again to share, and "
                                          "ExtraBytes",
                                          UintegerValue(0),
                                          MakeUintegerAccessor(&NVSwitchNode::m_bufferBytes),
                                          MakeUintegerChecker<uint64_t>())
                            .AddAttribute("ExtraBytes",
                                          "What the buffer has beyond its headroom, and as much "
                                          "again, where BufferBytes does not say its size; 1 GiB "
                                          "or more where NVSwitches are linked to each other",
                                          UintegerValue(4 << 20),
                                          MakeUintegerAccessor(&NVSwitchNode::m_extraBytes),
                                          MakeUintegerChecker<uint64_t>())
                            .AddAttribute("DynamicThreshold",
                                          "Pause at alpha times the free shared buffer, else at "
                                          "SwitchMmu's StaticThreshold",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&NVSwitchNode::SetDynamicThreshold,
                                                              &NVSwitchNode::HasDynamicThreshold),
                                          MakeBooleanChecker());
    return tid;
}

NVSwitchNode::NVSwitchNode() = default;

void
NVSwitchNode::NotifyConstructionCompleted()
{
    SwitchNode::NotifyConstructionCompleted();
    // Defaults of switches are those of the network's.
    SetEcnEnabled(false);
    RouteByEcmp();
    GetMmu()->SetPolicyType(BufferPolicy::GetTypeId());
}

void
NVSwitchNode::SetDynamicThreshold(bool dynamic)
{
    GetMmu()->SetAttribute("DynamicThreshold", BooleanValue(dynamic));
}

bool
NVSwitchNode::HasDynamicThreshold() const
{
    BooleanValue dynamic;
    GetMmu()->GetAttribute("DynamicThreshold", dynamic);
    return dynamic.Get();
}

void
NVSwitchNode::ConfigureBuffer(bool isLinkedToOthers)
{
    // Links with virtual channels never wait for each other in a circle; without these, pauses
    // would. So waiting frames stay here, never more than senders have slots for.
    constexpr uint64_t UNPAUSED_BYTES = 1 << 30;
    SwitchMmu& mmu = *GetMmu();
    const uint64_t extraBytes =
        isLinkedToOthers ? std::max(m_extraBytes, UNPAUSED_BYTES) : m_extraBytes;
    const uint64_t bytes =
        m_bufferBytes ? m_bufferBytes : 2 * mmu.GetLimits().GetAllHeadroom() + extraBytes;
    NS_LOG_INFO("NVSwitch " << GetId() << " has a buffer of " << bytes << " bytes");
    mmu.SetAttribute("BufferBytes", UintegerValue(bytes));
}

NVSwitchNode::~NVSwitchNode() = default;

} // namespace ns3
