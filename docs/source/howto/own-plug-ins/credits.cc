/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/rdma-deadline-timer.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/rdma-transport.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

namespace ns3
{

/**
 * Credits of the receiver, as EQDS has them (Olteanu et al., NSDI 2022): a sender asks for its
 * message, and the receiver grants a frame at a time, to its senders in turn, at the rate of its
 * link. So an incast queues nowhere, however many send.
 *
 * Left out: the first window of data that EQDS sends without credits, trimming, and repair of
 * control frames that a full buffer drops.
 */
class Credits : public RdmaTransport
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::Credits").SetParent<RdmaTransport>().AddConstructor<Credits>();
        return tid;
    }

    // --- sender
    void OnQpInit(RdmaQueuePair& qp) override
    {
        m_granted[qp.qpn] = 0;
        qp.SetVariableWindow(false);
        qp.SetWindow(0);
    }

    void OnPost(RdmaQueuePair& qp, int64_t nowPs) override
    {
        qp.hw->SendControl(qp, {.type = REQUEST, .value = qp.endSeq}, nowPs);
    }

    void OnControl(RdmaQueuePair& qp, const RdmaControl& control, int64_t) override
    {
        m_granted[qp.qpn] = control.value;
        UseGrant(qp);
    }

    void OnAnswer(RdmaQueuePair& qp, const QbbFrame&, int64_t) override
    {
        UseGrant(qp);
    }

    void OnQpClose(RdmaQueuePair& qp) override
    {
        m_granted.erase(qp.qpn);
    }

    // --- receiver
    void OnReceiverInit(RdmaRxQueuePair& rx) override
    {
        rx.transport = std::make_unique<Receiver>();
        if (!m_timer.IsMade())
        {
            m_hw = rx.hw;
            m_timer = RdmaDeadlineTimer([this] { Grant(Simulator::Now().GetTimeStep()); },
                                        rx.hw->GetNodeId());
        }
    }

    void OnControl(RdmaRxQueuePair& rx, const RdmaControl& control, int64_t nowPs) override
    {
        Receiver& receiver = Of(rx);
        receiver.wanted = std::max(receiver.wanted, control.value);
        if (!receiver.waits && receiver.granted < receiver.wanted)
        {
            receiver.waits = true;
            m_waiting.push_back(&rx);
        }
        if (!m_timer.IsRunning() && !m_waiting.empty())
        {
            m_timer.SetDeadline(std::max(nowPs, m_nextPs));
        }
    }

    void OnReceiverClose(RdmaRxQueuePair& rx) override
    {
        std::erase(m_waiting, &rx);
    }

  private:
    static constexpr uint16_t REQUEST = 1; ///< value: end of all that was posted
    static constexpr uint16_t CREDIT = 2;  ///< value: end of all that may be sent

    struct Receiver : public RdmaTransportState
    {
        uint64_t wanted{0};
        uint64_t granted{0};
        bool waits{false}; ///< is in m_waiting
    };

    static Receiver& Of(RdmaRxQueuePair& rx)
    {
        return static_cast<Receiver&>(*rx.transport);
    }

    /// Let the pair send up to the end of its grant.
    void UseGrant(RdmaQueuePair& qp)
    {
        const uint64_t granted = m_granted[qp.qpn];
        qp.SetWindow(granted > qp.sndUna ? granted - qp.sndUna : 0);
    }

    /// Grant a frame to the next sender, and come again when that frame is through.
    void Grant(int64_t nowPs)
    {
        if (m_waiting.empty())
        {
            return;
        }
        RdmaRxQueuePair& rx = *m_waiting.front();
        m_waiting.pop_front();
        Receiver& receiver = Of(rx);
        const uint64_t bytes = std::min<uint64_t>(rx.mtu, receiver.wanted - receiver.granted);
        receiver.granted += bytes;
        m_hw->SendControl(rx, {.type = CREDIT, .value = receiver.granted}, nowPs);
        const uint32_t wireBytes = m_hw->GetDataWireBytes(static_cast<uint32_t>(bytes), false);
        m_nextPs = nowPs + m_hw->GetNicPort(rx.nic).GetTxTimePs(wireBytes);
        receiver.waits = receiver.granted < receiver.wanted;
        if (receiver.waits)
        {
            m_waiting.push_back(&rx);
        }
        if (!m_waiting.empty())
        {
            m_timer.SetDeadline(m_nextPs);
        }
    }

    std::unordered_map<uint32_t, uint64_t> m_granted; ///< sender: end of the grant, by its number
    RdmaHw* m_hw{nullptr};
    std::deque<RdmaRxQueuePair*> m_waiting; ///< receiver: those that want more, in turn
    int64_t m_nextPs{0};                    ///< no grant before
    RdmaDeadlineTimer m_timer;
};

NS_OBJECT_ENSURE_REGISTERED(Credits);

} // namespace ns3
