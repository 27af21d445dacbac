/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-driver.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaDriver);

TypeId
RdmaDriver::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaDriver")
                            .SetParent<Object>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RdmaDriver>();
    return tid;
}

RdmaDriver::RdmaDriver() = default;

RdmaDriver::~RdmaDriver() = default;

void
RdmaDriver::DoDispose()
{
    if (m_hw)
    {
        m_hw->Dispose();
        m_hw = nullptr;
    }
    Object::DoDispose();
}

void
RdmaDriver::Install(Ptr<RdmaHw> hw, RdmaPathPlanner* planner)
{
    m_hw = hw;
    m_planner = planner;
}

RdmaQueuePair*
RdmaDriver::Connect(uint32_t dst, const RdmaConnectionOptions& options)
{
    const RdmaPath path = m_planner->PlanPath(m_hw->GetHostIndex(), dst, options);
    if (!path.peer)
    {
        return nullptr;
    }
    RdmaQueuePairConfig config;
    config.peer = path.peer;
    config.nic = path.nic;
    config.sport = path.sport;
    config.dport = options.dport;
    config.priority = options.priority;
    config.lossless = path.nvlink;
    config.closeWhenDone = options.closeWhenDone;
    config.baseRttPs = path.baseRttPs;
    config.bottleneckBps = path.bottleneckBps;
    config.windowBytes = path.windowBytes;
    config.variableWindow = path.variableWindow;
    config.paced = path.paced;
    config.rateCapBps = options.rateCapBps;
    return m_hw->Connect(config);
}

} // namespace ns3
