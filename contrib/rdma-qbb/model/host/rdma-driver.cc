/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-driver.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/pointer.h"
#include "ns3/trace-source-accessor.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaDriver");

NS_OBJECT_ENSURE_REGISTERED(RdmaDriver);

TypeId
RdmaDriver::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaDriver")
                            .SetParent<Object>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RdmaDriver>()
                            .AddAttribute("RdmaHw",
                                          "The host's RDMA engine",
                                          TypeId::ATTR_GET,
                                          PointerValue(),
                                          MakePointerAccessor(&RdmaDriver::GetRdmaHw),
                                          MakePointerChecker<RdmaHw>())
                            .AddAttribute("HasWindow",
                                          "A connection has at most the bytes in flight that fill "
                                          "its path while nothing queues; NVLink has no window",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&RdmaDriver::m_hasWindow),
                                          MakeBooleanChecker())
                            .AddAttribute("VariableWindow",
                                          "The window shrinks with the sending rate",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&RdmaDriver::m_variableWindow),
                                          MakeBooleanChecker())
                            .AddAttribute("RateBound",
                                          "Frames are spaced by the sending rate",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&RdmaDriver::m_rateBound),
                                          MakeBooleanChecker())
                            .AddTraceSource("RoutesChanged",
                                            "Paths may lead where none did, or no longer",
                                            MakeTraceSourceAccessor(&RdmaDriver::m_routesChanged),
                                            "ns3::TracedCallback::Void");
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
RdmaDriver::Install(Ptr<RdmaHw> hw)
{
    m_hw = hw;
}

void
RdmaDriver::SetPathPlanner(RdmaPathPlanner* planner)
{
    m_planner = planner;
}

RdmaQueuePair*
RdmaDriver::Connect(uint32_t dst, const RdmaConnectionOptions& options)
{
    NS_LOG_FUNCTION(this << dst << +options.priority);
    NS_ABORT_MSG_UNLESS(m_planner, "no RdmaFabric was built of this host");
    const RdmaPath path = m_planner->PlanPath(m_hw->GetHostIndex(), dst, options);
    if (!path.peer)
    {
        NS_LOG_INFO("host " << m_hw->GetHostIndex() << " has no path to host " << dst);
        return nullptr;
    }
    NS_LOG_INFO("host " << m_hw->GetHostIndex() << " connects to host " << dst << " by port "
                        << path.nic << (path.nvlink ? ", over NVLink" : ""));
    RdmaQueuePairConfig config;
    config.peer = path.peer;
    config.nic = path.nic;
    config.sport = path.sport;
    config.dport = options.dport;
    config.priority = options.priority;
    config.lossless = path.nvlink;
    config.closeWhenDone = options.closeWhenDone;
    config.baseRttPs = path.baseRttPs;
    config.bdpBytes = path.bdpBytes;
    config.spreadPs = path.spreadPs;
    config.droppable = path.droppable;
    config.drainPs = path.drainPs;
    const bool hasWindow = m_hasWindow && !path.nvlink;
    config.flightBytes = path.windowBytes;
    config.windowBytes = hasWindow ? path.windowBytes : 0;
    config.variableWindow = hasWindow && m_variableWindow;
    config.paced = m_rateBound || path.nvlink;
    config.rateCapBps = options.rateCapBps;
    return m_hw->Connect(config);
}

} // namespace ns3
