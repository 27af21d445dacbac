/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "switch-node.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/pointer.h"
#include "ns3/string.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SwitchNode");

// OnFrameArrival() chooses the egress port: the forwarding table lists the ports of shortest
// paths, and ECMP's hash or the routing policy takes one. If the egress port is idle and the
// buffer is far from its thresholds (PassThrough), the frame leaves at once and no queue is
// touched. Otherwise Store() admits it to the buffer, pauses the partner at its ingress if the
// ingress is over its threshold, and enqueues it. When the port begins to send it,
// OnFrameDeparture() releases the buffer, resumes the partner if it may, marks the frame by the
// length of the queue behind it, and adds telemetry.

NS_OBJECT_ENSURE_REGISTERED(SwitchNode);

namespace
{

constexpr const char* ECMP = "ns3::EcmpRouting"; ///< carried out here, without an object

} // namespace

TypeId
SwitchNode::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SwitchNode")
            .SetParent<Node>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<SwitchNode>()
            .AddAttribute("EcmpSeed",
                          "Seed of the ECMP hash; the node id is added, so that switches choose "
                          "independently",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(1),
                          MakeUintegerAccessor(&SwitchNode::m_seedOfAll),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("EcnEnabled",
                          "Mark CE at the thresholds of the MMU",
                          BooleanValue(true),
                          MakeBooleanAccessor(&SwitchNode::m_ecnEnabled),
                          MakeBooleanChecker())
            .AddAttribute("RoutingPolicyType",
                          "Class of what chooses among the ports of several shortest paths: a "
                          "RoutingPolicy",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          StringValue(ECMP),
                          MakeTypeIdAccessor(&SwitchNode::SetRoutingPolicyType,
                                             &SwitchNode::GetRoutingPolicyType),
                          MakeTypeIdChecker())
            .AddAttribute("RoutingPolicy",
                          "The object of RoutingPolicyType; null for ECMP, which is built in",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&SwitchNode::GetRoutingPolicy),
                          MakePointerChecker<RoutingPolicy>())
            .AddAttribute("Mmu",
                          "The shared buffer",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&SwitchNode::GetMmu),
                          MakePointerChecker<SwitchMmu>())
            .AddTraceSource("Drop",
                            "A frame found no room in the buffer, or no path",
                            MakeTraceSourceAccessor(&SwitchNode::m_drop),
                            "ns3::SwitchNode::DropCallback")
            .AddTraceSource("Trim",
                            "A buffer policy cuts off the payload of a frame, which still has it",
                            MakeTraceSourceAccessor(&SwitchNode::m_trim),
                            "ns3::SwitchNode::DropCallback")
            .AddTraceSource("Mark",
                            "A frame is marked CE as it begins to be sent",
                            MakeTraceSourceAccessor(&SwitchNode::m_mark),
                            "ns3::SwitchNode::MarkCallback");
    return tid;
}

SwitchNode::SwitchNode()
    : m_mmu(CreateObject<SwitchMmu>())
{
    m_mmu->SetNode(this);
}

SwitchNode::~SwitchNode()
{
    m_mmu->SetNode(nullptr); // others may keep it
}

void
SwitchNode::SetRoutingPolicyType(TypeId type)
{
    NS_ABORT_MSG_UNLESS(type.IsChildOf(RoutingPolicy::GetTypeId()),
                        type.GetName() << " is not a RoutingPolicy");
    if (type.GetName() == ECMP)
    {
        RouteByEcmp();
        return;
    }
    ObjectFactory factory;
    factory.SetTypeId(type);
    m_policy = factory.Create<RoutingPolicy>();
    m_policyWatches = m_policy->WatchesFrames();
}

void
SwitchNode::RouteByEcmp()
{
    m_policy = nullptr;
    m_policyWatches = false;
}

TypeId
SwitchNode::GetRoutingPolicyType() const
{
    return m_policy ? m_policy->GetInstanceTypeId() : TypeId::LookupByName(ECMP);
}

uint16_t
SwitchNode::AddPort(Ptr<QbbNetDevice> device)
{
    AddDevice(device);
    m_ports.push_back(PeekPointer(device));
    m_marks.push_back(0);
    m_trims.push_back(0);
    const uint16_t port = device->JoinNode(*this, *this);
    if (m_marksWatched && port == 0)
    {
        NeedDeparturesInTime();
    }
    return port;
}

void
SwitchNode::OnWatched()
{
    if (!std::exchange(m_marksWatched, true) && !m_ports.empty())
    {
        NeedDeparturesInTime();
    }
}

void
SwitchNode::DoInitialize()
{
    m_seed = MixBits(m_seedOfAll + GetId());
    Node::DoInitialize();
    m_returnsCredits = std::ranges::any_of(m_ports, [](auto* port) { return port->GetCredits(); });
    if (m_returnsCredits)
    {
        NeedDeparturesInTime(); // each sends an ordered set by another port
    }
}

void
SwitchNode::DoDispose()
{
    RemoveLinkPorts();
    m_mmu->SetNode(nullptr);
    m_ports.clear();
    m_policy = nullptr;
    m_pintEncoder = nullptr;
    m_inNetwork = nullptr;
    m_table = nullptr;
    Node::DoDispose();
}

void
SwitchNode::SetPintEncoder(Ptr<PintEncoder> encoder)
{
    m_pintEncoder = encoder;
    m_pintPorts.assign(m_ports.size(), PintPortState());
}

int64_t
SwitchNode::AssignStreams(int64_t stream)
{
    int64_t used = m_mmu->AssignStreams(stream);
    if (m_policy)
    {
        used += m_policy->AssignStreams(stream + used);
    }
    if (m_pintEncoder)
    {
        used += m_pintEncoder->AssignStreams(stream + used);
    }
    return used;
}

uint16_t
SwitchNode::Route(const QbbFrame& frame, int64_t nowPs) const
{
    if (!m_table || frame.dst == UINT32_MAX)
    {
        return NO_PORT; // the second: an ordinary packet to an address that is no host's
    }
    const std::span<const uint16_t> ports = m_table->NextHops(frame.dst);
    if (ports.size() <= 1)
    {
        return ports.empty() ? NO_PORT : ports.front();
    }
    if (m_policy)
    {
        return m_policy->Choose(ports, frame, *this, nowPs);
    }
    return ports[EcmpChoice(frame.hash, m_seed, static_cast<uint32_t>(ports.size()))];
}

inline void
SwitchNode::Forward(QbbFrame* frame, uint16_t outPort, int64_t nowPs)
{
    QbbNetDevice& device = *m_ports[outPort];
    if (device.CanSendNow(nowPs) &&
        m_mmu->PassThrough(frame->inPort, frame->priority, frame->wireBytes))
    {
        // Same result as Store(): nothing waits at the egress, so the frame leaves now and is not
        // marked.
        Record(outPort, *frame, nowPs);
        device.SendNow(frame, nowPs);
        return;
    }
    Store(frame, outPort, nowPs);
}

void
SwitchNode::Store(QbbFrame* frame, uint16_t outPort, int64_t nowPs)
{
    const uint16_t inPort = frame->inPort;
    const uint8_t priority = frame->priority;
    if (!m_mmu->AdmitEasily(inPort, outPort, priority, frame->wireBytes))
    {
        const bool admitted = m_mmu->GetPolicy()
                                  ? Admit(*frame, outPort, nowPs)
                                  : m_mmu->Admit(inPort, outPort, priority, frame->wireBytes);
        if (!admitted)
        {
            ++m_bufferDrops;
            m_losslessDrops += m_mmu->GetLimits().IsLossless(priority);
            Drop(frame, nowPs);
            return;
        }
        if (m_mmu->ShouldPause(inPort, priority))
        {
            m_mmu->SetPaused(inPort, priority, true);
            NS_LOG_INFO("switch " << GetId() << " pauses priority " << +priority << " at port "
                                  << inPort);
            m_ports[inPort]->SendPfc(priority, true, nowPs);
        }
    }
    NS_LOG_LOGIC("switch " << GetId() << " stores " << *frame);
    m_ports[outPort]->Enqueue(frame, nowPs);
}

bool
SwitchNode::Admit(QbbFrame& frame, uint16_t outPort, int64_t nowPs)
{
    switch (m_mmu->GetPolicy()->OnArrival(frame, outPort, *this, nowPs))
    {
    case BufferPolicy::Verdict::Drop:
        return false;
    case BufferPolicy::Verdict::Trim: {
        const uint8_t priority = frame.priority;
        const uint32_t bytes = frame.wireBytes;
        if (!Trim(frame, outPort))
        {
            return false;
        }
        m_ports[frame.inPort]->ReturnCredit(priority, bytes, nowPs);
        break;
    }
    case BufferPolicy::Verdict::Mark:
        Mark(frame, outPort);
        break;
    case BufferPolicy::Verdict::Admit:
        break;
    }
    return m_mmu->Admit(frame.inPort, outPort, frame.priority, frame.wireBytes);
}

bool
SwitchNode::LeadsToHost(uint16_t port) const
{
    const Ptr<QbbNetDevice> peer = m_ports[port]->GetPeer();
    return peer && !dynamic_cast<const SwitchNode*>(PeekPointer(peer->GetNode()));
}

bool
SwitchNode::Trim(QbbFrame& frame, uint16_t outPort)
{
    if (frame.kind != QbbFrameKind::Data || frame.payloadBytes == 0)
    {
        return false;
    }
    NS_LOG_LOGIC("switch " << GetId() << " trims " << frame);
    m_trim(this, frame);
    ++m_trims[outPort];
    m_droppedPayload += frame.payloadBytes;
    frame.payloadBytes = 0;
    frame.trimmedAtEdge = LeadsToHost(outPort);
    frame.wireBytes = QbbNetDevice::MIN_WIRE_BYTES;
    frame.priority = 0;
    return true;
}

void
SwitchNode::Mark(QbbFrame& frame, uint16_t outPort)
{
    if (frame.ecn == EcnCodepoint::NotEct)
    {
        return;
    }
    frame.ecn = EcnCodepoint::Ce;
    ++m_marks[outPort];
    NS_LOG_LOGIC("switch " << GetId() << " marks " << frame);
    if (m_marksWatched) [[unlikely]]
    {
        m_mark(this, outPort, frame);
    }
}

void
SwitchNode::OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    if ((frame->flags & (QBB_FLAG_REDUCE | QBB_FLAG_MULTICAST)) &&
        frame->kind == QbbFrameKind::Data)
    {
        m_inNetwork->OnSwitchFrame(*this, frame, nowPs);
        return;
    }
    const uint16_t outPort = Route(*frame, nowPs);
    if (outPort == NO_PORT)
    {
        ++m_routeDrops;
        Drop(frame, nowPs);
        return;
    }
    NS_LOG_LOGIC("switch " << GetId() << " forwards " << *frame << " from port " << port
                           << " to port " << outPort);
    if (m_policyWatches) [[unlikely]]
    {
        m_policy->OnForward(*frame, outPort, *this, nowPs);
    }
    Forward(frame, outPort, nowPs);
}

LinkNode::ArrivalCall
SwitchNode::GetArrivalCall() const
{
    return ArrivalCallOf<SwitchNode>();
}

void
SwitchNode::AcknowledgeContribution(QbbFrame* frame, uint64_t seq, int64_t nowPs)
{
    frame->kind = QbbFrameKind::Ack;
    frame->answerFlags = 0;
    frame->expectedSeq = seq;
    frame->namedMtus = 0;
    frame->dst = frame->src;
    frame->qpn = frame->senderQpn;
    frame->wireBytes = QbbNetDevice::MIN_WIRE_BYTES;
    Forward(frame, frame->inPort, nowPs);
}

void
SwitchNode::Drop(QbbFrame* frame, int64_t nowPs)
{
    m_ports[frame->inPort]->ReturnCredit(frame->priority, frame->wireBytes, nowPs);
    if (frame->kind == QbbFrameKind::Data)
    {
        m_droppedPayload += frame->payloadBytes;
    }
    NS_LOG_INFO("switch " << GetId() << " drops " << *frame);
    m_drop(this, *frame);
    m_ports[frame->inPort]->GetPool().Free(frame);
}

void
SwitchNode::OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs)
{
    const uint8_t priority = frame.priority;
    const uint16_t inPort = frame.inPort;
    if (inPort == NO_PORT)
    {
        return;
    }
    m_mmu->Release(inPort, port, priority, frame.wireBytes);
    if (m_returnsCredits) [[unlikely]]
    {
        m_ports[inPort]->ReturnCredit(priority, frame.wireBytes, nowPs);
    }
    if (BufferPolicy* policy = m_mmu->GetPolicy()) [[unlikely]]
    {
        policy->OnDeparture(frame, port, *this, nowPs);
    }
    if (m_mmu->ShouldResume(inPort, priority))
    {
        ResumePartner(inPort, priority, nowPs);
    }
    if (frame.ecn != EcnCodepoint::NotEct && m_ecnEnabled && priority != 0 &&
        m_mmu->ShouldMark(port, priority))
    {
        Mark(frame, port);
    }
    Record(port, frame, nowPs);
}

void
SwitchNode::Record(uint16_t port, QbbFrame& frame, int64_t nowPs)
{
    if (frame.kind == QbbFrameKind::Data && frame.telemetry)
    {
        AddTelemetry(port, frame, nowPs);
    }
    else if (m_pintEncoder)
    {
        UpdatePint(port, nullptr, frame.wireBytes, nowPs);
    }
}

void
SwitchNode::ResumePartner(uint16_t port, uint8_t priority, int64_t nowPs)
{
    m_mmu->SetPaused(port, priority, false);
    NS_LOG_INFO("switch " << GetId() << " resumes priority " << +priority << " at port " << port);
    m_ports[port]->SendPfc(priority, false, nowPs);
}

void
SwitchNode::UpdatePint(uint16_t port, QbbTelemetry* telemetry, uint32_t wireBytes, int64_t nowPs)
{
    const QbbNetDevice& device = *m_ports[port];
    m_pintEncoder->OnDequeue(m_pintPorts[port],
                             telemetry,
                             wireBytes,
                             device.GetQueueBytes(),
                             device.GetRateBps(),
                             nowPs);
}

void
SwitchNode::AddTelemetry(uint16_t port, QbbFrame& frame, int64_t nowPs)
{
    QbbTelemetry& telemetry = *frame.telemetry;
    ++telemetry.switchCount;
    if (m_pintEncoder)
    {
        UpdatePint(port, &telemetry, frame.wireBytes, nowPs);
        return;
    }
    if (telemetry.wantsHops)
    {
        QbbNetDevice& device = *m_ports[port];
        device.GetPool().AddHop(telemetry,
                                {device.GetRateBps(),
                                 device.GetTxBytes() + frame.wireBytes,
                                 nowPs,
                                 device.GetQueueBytes(frame.priority)});
    }
}

} // namespace ns3
