/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * QbbNetDevice: the link to the far end: joining it, cuts, losses.
 */
#include "qbb-net-device.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbLink");

void
QbbNetDevice::ConnectWire()
{
    if (m_peerRaw && m_peerRaw->m_handler)
    {
        m_wire->Connect(m_peerRaw, m_peerRaw->m_handler, m_errorRate > 0);
        m_wire->SetLateWork(m_late, m_source, m_peerRaw->m_source ? nullptr : m_peerRaw->m_late);
    }
}

void
QbbNetDevice::JoinChannel(Ptr<QbbChannel> channel, Ptr<QbbNetDevice> peer)
{
    NS_LOG_FUNCTION(this << channel << peer);
    m_channel = channel;
    m_peer = peer;
    m_peerRaw = PeekPointer(peer);
    m_linkUp = channel->IsUp();
    if (peer->m_watched)
    {
        m_wire->SetReceiverWatched();
    }
    m_poolRef = QbbFramePool::Merge(m_poolRef, peer->m_poolRef);
    m_pool = PeekPointer(m_poolRef);
    if (channel->GetErrorRate() > 0 && !m_lossVariable)
    {
        m_lossVariable = CreateObject<UniformRandomVariable>();
    }
}

void
QbbNetDevice::SharePool(QbbNetDevice& other)
{
    m_poolRef = QbbFramePool::Merge(m_poolRef, other.m_poolRef);
    m_pool = PeekPointer(m_poolRef);
}

void
QbbNetDevice::OnLinkChange(bool up)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Settle();
    m_linkUp = up;
    if (!up)
    {
        m_wire->Cut(nowPs);
        FlushQueues(nowPs);
        // A dead link neither pauses nor is paused: the partner's state died with it.
        const uint8_t paused = m_pausedMask;
        ChangePause(0, nowPs);
        for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
        {
            if (paused >> priority & 1)
            {
                m_pfc(this, priority, false);
            }
        }
        m_pausingMask = 0;
        FreeControl();
        AwaitLateWork(nowPs); // what would have had it carried out has been lost
    }
    else
    {
        TransmitWhenFree(nowPs);
    }
    m_linkChange();
}

void
QbbNetDevice::OnQuietForbidden()
{
    for (Queue& queue : m_queues)
    {
        for (QbbFrame* frame = queue.head; frame; frame = frame->next)
        {
            m_loudQueued += frame->quiet;
            frame->quiet = false;
        }
    }
    if (m_transmitArmed)
    {
        ArmTransmit(Simulator::Now().GetTimeStep());
    }
}

bool
QbbNetDevice::DrawLoss()
{
    return m_lossVariable->GetValue() < m_errorRate;
}

void
QbbNetDevice::Lose(QbbFrame* frame)
{
    Discard(frame, m_counters.lostFrames);
}

void
QbbNetDevice::Discard(QbbFrame* frame, uint64_t& count)
{
    m_frameLost(this, *frame);
    ++count;
    if (frame->kind == QbbFrameKind::Data)
    {
        m_counters.lostPayload += frame->payloadBytes;
    }
    m_pool->Free(frame);
}

int64_t
QbbNetDevice::AssignStreams(int64_t stream)
{
    if (m_lossVariable)
    {
        m_lossVariable->SetStream(stream);
    }
    return 1;
}

} // namespace ns3
