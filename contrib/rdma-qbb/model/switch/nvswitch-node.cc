/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvswitch-node.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(NVSwitchNode);

TypeId
NVSwitchNode::GetTypeId()
{
    static TypeId tid = TypeId("ns3::NVSwitchNode")
                            .SetParent<SwitchNode>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<NVSwitchNode>();
    return tid;
}

NVSwitchNode::NVSwitchNode()
{
    SetEcnEnabled(false);
}

NVSwitchNode::~NVSwitchNode() = default;

} // namespace ns3
