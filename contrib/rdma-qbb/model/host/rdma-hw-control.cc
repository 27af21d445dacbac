/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: control frames of the transport, in both directions.
 */
#include "rdma-hw.h"

#include "ns3/shared-log.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

void
RdmaHw::OnControl(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    const RdmaControl control{.type = frame->controlType,
                              .value = frame->value,
                              .priority = frame->priority,
                              .wireBytes = frame->wireBytes};
    const bool toReceiver = frame->flags & QBB_CONTROL_TO_RECEIVER;
    RdmaRxQueuePair* rx = toReceiver ? m_receiver.Find(*frame) : nullptr;
    RdmaQueuePair* qp = toReceiver ? nullptr : m_sender.Find(frame->qpn);
    NS_LOG_LOGIC("host " << m_hostIndex << " gets " << *frame);
    m_counters.staleFrames += !rx && !qp;
    Free(frame);
    if (rx && m_transport)
    {
        rx->nic = port;
        m_transport->OnControl(*rx, control, nowPs);
    }
    if (qp && m_transport)
    {
        m_transport->OnControl(*qp, control, nowPs);
        m_sender.Reconsider(*qp, nowPs);
    }
}

void
RdmaHw::SendControl(LinkPort& port, QbbFrame* frame, const RdmaControl& control, int64_t nowPs)
{
    frame->kind = QbbFrameKind::Control;
    frame->value = control.value;
    frame->controlType = control.type;
    frame->priority = control.priority;
    frame->wireBytes = std::max(control.wireBytes, QbbNetDevice::MIN_WIRE_BYTES);
    NS_LOG_LOGIC("host " << m_hostIndex << " sends " << *frame);
    port.Enqueue(frame, nowPs);
}

void
RdmaHw::SendControl(const RdmaRxQueuePair& rx, const RdmaControl& control, int64_t nowPs)
{
    LinkPort& port = GetNicPort(rx.nic);
    QbbFrame* frame = m_receiver.MakeAnswer(port, rx, QbbFrameKind::Control);
    frame->flags = 0;
    SendControl(port, frame, control, nowPs);
}

void
RdmaHw::SendControl(const RdmaQueuePair& qp, const RdmaControl& control, int64_t nowPs)
{
    LinkPort& port = qp.nic->GetPort();
    QbbFrame* frame = port.GetPool().Allocate();
    RdmaSender::Address(*frame, qp);
    frame->flags = QBB_CONTROL_TO_RECEIVER | (qp.m_namesItself ? QBB_FLAG_FROM_AFAR : 0);
    SendControl(port, frame, control, nowPs);
}

} // namespace ns3
