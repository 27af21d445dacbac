/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: the control plane, by which the two ends of a connection know each other.
 */
#include "rdma-hw.h"

#include "ns3/qbb-mail.h"
#include "ns3/shared-log.h"

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

// A connection is two objects: the sender's queue pair and the receiver's. Its set-up costs no
// simulated time. Hosts of
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

} // namespace

RdmaQueuePair*
RdmaHw::Connect(const RdmaQueuePairConfig& config)
{
    if (!m_devices[config.nic]->CanBeUsed())
    {
        m_devices[config.nic]->Initialize();
    }
    PrepareForPair();
    RdmaQueuePair& qp = m_sender.Take(config);
    if (config.peer)
    {
        const bool isAfar = !config.lossless && IsAfar(*config.peer);
        isAfar ? AskFromAfar(qp, config) : AskForAcceptance(qp, config);
    }
    m_sender.Open(qp, config);
    return &qp;
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
    const RdmaAcceptance accepted = peer.m_receiver.Accept(AsPeer(qp, config));
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
        if (RdmaQueuePair* qp = here.m_sender.Find(qpn))
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
        const uint32_t qpn = here.m_receiver.AcceptFromAfar(sender);
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
        here.m_receiver.ExpectFromAfar(host, qpn, message);
    }
};

struct RdmaHw::DisconnectFromAfar
{
    uint32_t host;
    uint32_t qpn;

    void operator()(RdmaHw& here) const
    {
        here.m_receiver.DisconnectFromAfar(host, qpn);
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

void
RdmaHw::TellOfEnd(const RdmaQueuePair& qp) const
{
    RdmaHw& peer = *qp.m_peer;
    if (qp.m_isAfar)
    {
        PostToPeer(peer, DisconnectFromAfar{m_hostIndex, qp.qpn});
        return;
    }
    peer.m_receiver.Disconnect(qp.peerQpn);
}

} // namespace ns3
