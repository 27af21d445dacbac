/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_SOCKET_ENGINE_H
#define CCLO_SOCKET_ENGINE_H

#include "cclo-protocol-engine.h"

#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/socket.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief Base of the protocol engines over ns-3's Internet stack: sessions by the
 * peer's address, and messages as packets with their bytes.
 *
 * Eager messages only: neither UDP nor TCP writes to a peer's memory, so that everything is eager
 * and AllToAll and Barrier are not to be had, as in ACCL. Sessions have the numbers 0, 1, ... in
 * the order in which they are opened.
 */
class CcloSocketEngine : public CcloProtocolEngine
{
  public:
    static TypeId GetTypeId();

    CcloSocketEngine();
    ~CcloSocketEngine() override;

    /// @param node with an Internet stack @param address of its port
    void Install(Ptr<Node> node, Ipv4Address address);

    // --- CcloProtocolEngine
    bool CanWrite() const override;
    bool IsDrained() const override;
    std::vector<CcloRank> Open(std::vector<CcloRank> ranks, uint32_t localRank) override;
    void Send(uint32_t session, CcloMessage&& message, int64_t spanPs) override;

  protected:
    void DoDispose() override;

    /// Another engine.
    struct Peer
    {
        Ipv4Address ip;
        uint32_t port;
    };

    /// The engine's own port, which is there from the first Open() on.
    virtual void OpenPort(uint32_t port) = 0;
    /// A session that was not known; its number is that of the last peer.
    virtual void OpenSession(bool isLocal) = 0;
    /// Send a message's packet now. It has been counted as unsent.
    virtual void Transmit(uint32_t session, Ptr<Packet> message) = 0;
    /// @return bytes of header and frame that a packet has on the wire besides its payload
    virtual uint32_t GetOverhead() const = 0;

    /// @return bytes of a message of this size that go into packets
    virtual uint64_t GetPayload(uint64_t bytes) const
    {
        return bytes;
    }

    /// @return the session of a peer; one of the engines that have been opened, or UINT32_MAX
    uint32_t FindSession(Ipv4Address ip) const;

    const Peer& GetPeer(uint32_t session) const
    {
        return m_peers[session];
    }

    uint32_t GetSessions() const
    {
        return static_cast<uint32_t>(m_peers.size());
    }

    void ForgetSessions();
    /// @return a new socket of the node
    Ptr<Socket> MakeSocket(const std::string& factory) const;
    /// @return time on the wire of a packet with this payload
    int64_t PacketPs(uint64_t payload) const;
    /// Bytes have left. The engine may have room again.
    void OnSent(uint64_t bytes);
    /// A message has arrived.
    void Deliver(uint32_t session, CcloMessage&& message);
    /// The depacketizer passes it on, a receive latency later.
    virtual void OnDepacketized(uint32_t session, CcloMessage&& message);

    uint32_t m_packetBytes{4096};
    uint32_t m_sendBuffer{8192};
    uint32_t m_receiveBuffer{65536};
    Time m_sendLatency;
    Time m_receiveLatency;
    Ipv4Address m_address{"0.0.0.0"};
    uint64_t m_unsentBytes{0}; ///< given to this engine and not yet sent

  private:
    int64_t WirePs(uint64_t bytes) const;

    Ptr<Node> m_node;
    uint64_t m_rateBps{0};
    bool m_portIsOpen{false};
    std::vector<Peer> m_peers; ///< by session
    std::unordered_map<uint32_t, uint32_t> m_sessionOf;
};

} // namespace ns3

#endif /* CCLO_SOCKET_ENGINE_H */
