/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: the life of connections, from Connect() to Close(), at both ends.
 */
#include "rdma-hw.h"

#include "ns3/abort.h"
#include "ns3/flow-hash.h"
#include "ns3/qbb-mail.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

// A connection is two objects: the sender's queue pair and the receiver's, in arrays that reuse
// them. A number (qpn) is the index and a generation that grows with each reuse, so that late
// frames of a closed connection find nobody. Connection set-up costs no simulated time. Hosts of
// one server call each other: Accept() gives the sender the receiver's number and the queue for
// announced messages. Hosts of different servers in a run with partitions may not touch each
// other's state, so the sender posts records (AcceptFromAfar, ExpectFromAfar,
// DisconnectFromAfar); until the receiver's number comes back (NameReceiver), frames carry the
// sender's own number.

namespace
{

/// @return the facts of a connection for the other host
RdmaPeer
AsPeer(const RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    return {.host = qp.src,
            .qpn = qp.qpn,
            .sport = qp.sport,
            .dport = qp.dport,
            .mtu = qp.mtu,
            .priority = qp.priority,
            .lossless = qp.lossless,
            .baseRttPs = qp.baseRttPs,
            .spreadPs = config.spreadPs,
            .flightBytes = config.flightBytes};
}

/// @return an end of a connection that has ended, or else a new one; and whether it is new
template <typename End>
std::pair<End&, bool>
TakeEnd(StableArray<End>& ends, std::vector<uint32_t>& free, uint32_t indexMask)
{
    if (!free.empty())
    {
        const uint32_t index = free.back();
        free.pop_back();
        return {ends[index], false};
    }
    const auto index = static_cast<uint32_t>(ends.Size());
    NS_ABORT_MSG_IF(index > indexMask, "more than 2^20 queue pairs on one host");
    End& end = ends.Add();
    end.qpn = index;
    return {end, true};
}

} // namespace

RdmaQueuePair&
RdmaHw::TakeSender()
{
    const auto [qp, isNew] = TakeEnd(m_senders, m_freeSenders, INDEX_MASK);
    if (isNew)
    {
        m_controlled.push_back(false);
        m_drainPs.push_back(0);
    }
    return qp;
}

RdmaQueuePair*
RdmaHw::Connect(const RdmaQueuePairConfig& config)
{
    if (!m_devices[config.nic]->CanBeUsed())
    {
        m_devices[config.nic]->Initialize();
    }
    PrepareForPair();
    RdmaQueuePair& qp = TakeSender();
    Configure(qp, config);
    if (config.peer)
    {
        qp.m_peer = config.peer;
        const bool isAfar = !config.lossless && IsAfar(*config.peer);
        isAfar ? AskFromAfar(qp, config) : AskForAcceptance(qp, config);
        m_recovery->OnQpInit(qp, config.flightBytes);
    }
    qp.hash = FlowHash(qp.src, qp.dst, qp.sport, qp.dport);
    if (!config.peer)
    {
        qp.contribution = true;
        qp.peerQpn = config.inNetworkOperation;
        qp.dport = config.inNetworkMember;
    }
    if (!qp.lossless)
    {
        m_controlled.set(qp.qpn & INDEX_MASK);
        m_congestion->OnQpInit(qp);
    }
    if (HasTransport(qp))
    {
        m_transport->OnQpInit(qp);
    }
    NoteMisfits(qp, config);
    qp.m_open = true;
    NS_LOG_INFO("opens " << qp.Describe() << " at " << qp.GetRate() << " bps, window "
                         << qp.m_windowBytes << " bytes");
    m_qpOpen(qp);
    return &qp;
}

void
RdmaHw::NoteMisfits(const RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    if (qp.lossless || qp.contribution)
    {
        return; // neither is subject to congestion control
    }
    const auto note = [&](RdmaMisfit& longest, const auto& describe) {
        if (qp.baseRttPs <= longest.baseRttPs)
        {
            return;
        }
        std::string text = describe();
        if (!text.empty())
        {
            longest = {qp.baseRttPs, std::move(text)};
        }
    };
    note(m_misfits[0], [&] { return m_congestion->DescribeMisfit(qp, config.bdpBytes); });
    note(m_misfits[1],
         [&] { return m_recovery->DescribeMisfit(qp, config.bdpBytes, config.spreadPs); });
}

void
RdmaHw::Configure(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    const QbbNetDevice& device = *m_devices[config.nic];
    qp.hw = this;
    qp.nic = m_nics[config.nic].get();
    qp.src = m_hostIndex;
    qp.dst = UINT32_MAX;
    qp.sport = config.sport;
    qp.dport = config.dport;
    qp.priority = config.priority;
    qp.lossless = config.lossless;
    qp.nvlinkFrames = config.lossless && !config.networkFrames;
    qp.closeWhenDone = config.closeWhenDone;
    qp.lineRateBps =
        config.rateCapBps ? std::min(config.rateCapBps, device.GetRateBps()) : device.GetRateBps();
    qp.baseRttPs = config.baseRttPs;
    qp.droppable = config.droppable;
    m_drainPs[qp.qpn & INDEX_MASK] = config.drainPs;
    qp.mtu = static_cast<uint16_t>(m_mtu);
    qp.moreOverhead = config.moreOverhead;
    qp.SetPaced(config.paced);
    qp.SetVariableWindow(config.variableWindow);
    qp.SetWindow(config.windowBytes ? config.windowBytes : RdmaQueuePair::NO_WINDOW);
    qp.SetRate(qp.lineRateBps);
    if (!qp.m_timer.IsMade())
    {
        qp.m_timer = RdmaDeadlineTimer([this, &qp] { OnTimeout(qp); }, device.GetNodeId());
    }
}

bool
RdmaHw::IsAfar(const RdmaHw& peer) const
{
    if (!m_server)
    {
        return false;
    }
    return peer.m_server != m_server;
}

void
RdmaHw::AskForAcceptance(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    RdmaHw& peer = *qp.m_peer;
    const RdmaAcceptance accepted = peer.Accept(AsPeer(qp, config));
    qp.dst = accepted.host;
    qp.peerQpn = accepted.qpn;
    qp.messages = accepted.messages;
}

// Records that a host of another server sends (QbbMail::Post()).

struct RdmaHw::NameReceiver
{
    uint32_t qpn; ///< the sender's
    uint32_t peerQpn;

    void operator()(RdmaHw& here) const
    {
        if (RdmaQueuePair* qp = here.FindSender(qpn))
        {
            qp->peerQpn = peerQpn;
            qp->m_namesItself = false;
            here.m_qpNamed(*qp);
        }
    }
};

struct RdmaHw::AcceptFromAfar
{
    RdmaPeer sender;
    uint32_t address; ///< the sender's, as a QbbAddressee

    void operator()(RdmaHw& here) const
    {
        const uint32_t qpn = here.Accept(sender).qpn;
        here.m_fromAfar[AfarKey(sender.host, sender.qpn)] = qpn;
        PostToPeer(static_cast<RdmaHw&>(QbbAddressee::At(address)), NameReceiver{sender.qpn, qpn});
    }
};

struct RdmaHw::ExpectFromAfar
{
    uint32_t host;
    uint32_t qpn;
    RdmaExpectedMessage message;

    void operator()(RdmaHw& here) const
    {
        here.FindFromAfar(host, qpn)->messages->Put(message);
    }
};

struct RdmaHw::DisconnectFromAfar
{
    uint32_t host;
    uint32_t qpn;

    void operator()(RdmaHw& here) const
    {
        const auto found = here.m_fromAfar.find(AfarKey(host, qpn));
        here.Disconnect(found->second);
        here.m_fromAfar.erase(found);
    }
};

template <typename Record>
void
RdmaHw::PostToPeer(RdmaHw& peer, const Record& record)
{
    QbbMail::Post(peer.GetNodeId(), peer, record);
}

void
RdmaHw::AskFromAfar(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    RdmaHw& peer = *qp.m_peer;
    qp.m_isAfar = true;
    qp.m_namesItself = true;
    qp.peerQpn = qp.qpn;
    qp.dst = peer.m_hostIndex;
    PostToPeer(peer, AcceptFromAfar{AsPeer(qp, config), qp.hw->GetAddress()});
}

void
RdmaHw::Announce(const RdmaQueuePair& qp, RdmaMessage& message) const
{
    const RdmaExpectedMessage told{message.endSeq,
                                   message.bytes,
                                   message.startPs,
                                   message.GetDeliveryCall()};
    if (qp.messages)
    {
        qp.messages->Put(told);
    }
    else
    {
        PostToPeer(*qp.m_peer, ExpectFromAfar{m_hostIndex, qp.qpn, told});
    }
}

RdmaRxQueuePair*
RdmaHw::FindFromAfar(uint32_t host, uint32_t qpn)
{
    const auto found = m_fromAfar.find(AfarKey(host, qpn));
    return found == m_fromAfar.end() ? nullptr : FindReceiver(found->second);
}

RdmaRxQueuePair&
RdmaHw::TakeReceiver()
{
    const auto [rx, isNew] = TakeEnd(m_receivers, m_freeReceivers, INDEX_MASK);
    if (isNew)
    {
        rx.messageWire = std::make_unique<RdmaMessageWire>();
    }
    return rx;
}

RdmaAcceptance
RdmaHw::Accept(const RdmaPeer& peer)
{
    NS_LOG_FUNCTION(this << peer.host << peer.sport << peer.dport);
    PrepareForPair();
    RdmaRxQueuePair& rx = TakeReceiver();
    rx.hw = this;
    rx.messages = rx.messageWire.get();
    rx.senderQpn = peer.qpn;
    rx.lossless = peer.lossless;
    rx.mtu = peer.mtu;
    rx.peer = peer;
    rx.peer.hash = FlowHash(peer.host, m_hostIndex, peer.sport, peer.dport);
    m_recovery->OnReceiverInit(rx);
    if (m_transport && !rx.lossless)
    {
        m_transport->OnReceiverInit(rx);
    }
    return {m_hostIndex, rx.qpn, rx.messages};
}

void
RdmaHw::Close(RdmaQueuePair& qp)
{
    NS_LOG_INFO("closes " << qp.Describe());
    m_qpClose(Present(qp));
    if (!qp.lossless)
    {
        m_congestion->OnQpClose(qp);
    }
    if (HasTransport(qp))
    {
        m_transport->OnQpClose(qp);
    }
    qp.nic->Deactivate(qp);
    qp.m_timer.Stop();
    ForgetMessages(qp);
    if (qp.m_peer)
    {
        TellOfEnd(qp);
    }

    // The object stays for the next connection; its timer and memory with it.
    const RdmaDeadlineTimer::Kept timer(qp.m_timer);
    const uint32_t nextQpn = qp.qpn + (1U << INDEX_BITS);
    const uint32_t index = qp.qpn & INDEX_MASK;
    m_controlled.reset(index);
    qp = RdmaQueuePair();
    qp.qpn = nextQpn;
    m_freeSenders.push_back(index);
}

void
RdmaHw::TellOfEnd(const RdmaQueuePair& qp) const
{
    RdmaHw& peer = *qp.m_peer;
    if (qp.m_isAfar)
    {
        PostToPeer(peer, DisconnectFromAfar{m_hostIndex, qp.qpn});
        return;
    }
    peer.Disconnect(qp.peerQpn);
}

void
RdmaHw::ForgetMessages(RdmaQueuePair& qp)
{
    while (qp.firstMessage)
    {
        RdmaMessage* message = qp.firstMessage;
        qp.firstMessage = message->next;
        message->OnForgotten();
    }
}

void
RdmaHw::Disconnect(uint32_t qpn)
{
    const uint32_t index = qpn & INDEX_MASK;
    RdmaRxQueuePair& rx = m_receivers[index];
    if (m_transport && !rx.lossless)
    {
        m_transport->OnReceiverClose(rx);
    }
    // The memory stays for the next connection.
    std::unique_ptr<RdmaMessageWire> messageWire = std::move(rx.messageWire);
    messageWire->Clear();
    rx = RdmaRxQueuePair();
    rx.messageWire = std::move(messageWire);
    rx.qpn = qpn + (1U << INDEX_BITS);
    m_freeReceivers.push_back(index);
}

void
RdmaHw::MoveQueuePair(uint32_t qpn, uint16_t nic)
{
    RdmaQueuePair& qp = Present(*FindSender(qpn));
    NS_LOG_INFO("moves " << qp.Describe() << " to port " << nic);
    qp.nic->Deactivate(qp);
    qp.nic = m_nics[nic].get();
    qp.nic->Activate(qp, Simulator::Now().GetTimeStep());
}

} // namespace ns3
