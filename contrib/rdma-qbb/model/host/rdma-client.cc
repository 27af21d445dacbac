/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-client.h"

#include "ns3/abort.h"
#include "ns3/callback.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaClient");

NS_OBJECT_ENSURE_REGISTERED(RdmaClient);

TypeId
RdmaClient::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaClient")
                            .SetParent<Application>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RdmaClient>()
                            .AddAttribute("Remote",
                                          "Number of the destination host",
                                          UintegerValue(0),
                                          MakeUintegerAccessor(&RdmaClient::m_remote),
                                          MakeUintegerChecker<uint32_t>())
                            .AddAttribute("RemotePort",
                                          "Destination port, for records",
                                          UintegerValue(100),
                                          MakeUintegerAccessor(&RdmaClient::m_remotePort),
                                          MakeUintegerChecker<uint16_t>())
                            .AddAttribute("Bytes",
                                          "Size of the message",
                                          UintegerValue(1000000),
                                          MakeUintegerAccessor(&RdmaClient::m_bytes),
                                          MakeUintegerChecker<uint64_t>(1))
                            .AddAttribute("Priority",
                                          "Priority group of its frames",
                                          UintegerValue(3),
                                          MakeUintegerAccessor(&RdmaClient::m_priority),
                                          MakeUintegerChecker<uint8_t>(1, 7))
                            .AddTraceSource("Complete",
                                            "The last byte has been acknowledged",
                                            MakeTraceSourceAccessor(&RdmaClient::m_completeTrace),
                                            "ns3::RdmaClient::CompleteCallback");
    return tid;
}

RdmaClient::RdmaClient() = default;

RdmaClient::~RdmaClient() = default;

void
RdmaClient::DoDispose()
{
    m_qp = nullptr;
    m_waitsForPath = false;
    Application::DoDispose();
}

void
RdmaClient::StartApplication()
{
    NS_LOG_FUNCTION(this << m_remote << m_bytes);
    Ptr<RdmaDriver> driver = GetNode()->GetObject<RdmaDriver>();
    NS_ABORT_MSG_UNLESS(driver, "an RdmaClient needs an RdmaDriver on its node");
    m_started = Simulator::Now();
    Send();
    m_waitsForPath = !m_qp;
    if (m_waitsForPath)
    {
        driver->TraceConnectWithoutContext("RoutesChanged",
                                           MakeCallback(&RdmaClient::OnRoutesChanged, this));
    }
}

void
RdmaClient::OnRoutesChanged()
{
    if (m_waitsForPath)
    {
        Send();
        m_waitsForPath = !m_qp;
    }
}

void
RdmaClient::Send()
{
    Ptr<RdmaDriver> driver = GetNode()->GetObject<RdmaDriver>();
    RdmaConnectionOptions options;
    options.priority = m_priority;
    options.dport = m_remotePort;
    m_qp = driver->Connect(m_remote, options);
    if (!m_qp)
    {
        NS_LOG_INFO("no path leads to host " << m_remote);
        return;
    }
    driver->GetHw().PostMessage(
        *m_qp,
        m_bytes,
        [this] { OnSent(); },
        nullptr,
        m_started.GetTimeStep());
}

void
RdmaClient::OnSent()
{
    NS_LOG_INFO("node " << GetNode()->GetId() << " has sent " << m_bytes << " bytes to host "
                        << m_remote << " in " << (Simulator::Now() - m_started).As(Time::US));
    m_complete = true;
    m_completeTrace(m_bytes, Simulator::Now() - m_started);
}

void
RdmaClient::StopApplication()
{
    NS_LOG_FUNCTION(this);
    m_waitsForPath = false;
    if (m_qp)
    {
        m_qp->hw->Close(*m_qp);
        m_qp = nullptr;
    }
}

} // namespace ns3
