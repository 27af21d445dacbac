/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_UDP_ENGINE_H
#define CCLO_UDP_ENGINE_H

#include "cclo-depacketizer.h"
#include "cclo-socket-engine.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief Messages as UDP datagrams over ns-3's Internet stack.
 *
 * One header per message, data padded to whole words of 64 bytes, cut into packets of "PacketSize"
 * (udp_packetizer.cpp). Packets leave one after the other at the port's rate; other traffic of the
 * same port queues there.
 *
 * Nothing is sent again and nobody waits for a receiver. A message of one packet, if lost, leaves a
 * gap in the sequence numbers, at which a move waits for ever. A packet lost within a message
 * leaves ACCL's depacketizer out of step: it would take data for a header. Here the session ends
 * then, and says so. A datagram that finds more than "ReceiveBufferSize" bytes in front of full rx
 * buffers is lost as well.
 */
class CcloUdpEngine : public CcloSocketEngine
{
  public:
    static TypeId GetTypeId();

    CcloUdpEngine();
    ~CcloUdpEngine() override;

    // --- CcloProtocolEngine
    uint32_t GetStackType() const override;
    bool CanSend(uint32_t session, const CcloHeader& header) const override;
    void OnConsumed(uint32_t session, const CcloHeader& header) override;
    std::string DescribeSession(uint32_t session) const override;
    std::vector<std::string> DescribeWaits() const override;
    void Close() override;

    /// @return packets lost at this engine's full receive buffer
    uint64_t GetDropped() const
    {
        return m_dropped;
    }

  protected:
    void DoDispose() override;

    // --- CcloSocketEngine
    void OpenPort(uint32_t port) override;
    void OpenSession(bool isLocal) override;
    void Transmit(uint32_t session, Ptr<Packet> message) override;
    uint32_t GetOverhead() const override;
    uint64_t GetPayload(uint64_t bytes) const override;
    void OnDepacketized(uint32_t session, CcloMessage&& message) override;

  private:
    struct Session
    {
        CcloDepacketizer depacketizer;
        uint32_t sent{0};      ///< messages
        uint32_t message{0};   ///< number of the one under way, or the next
        uint32_t offset{0};    ///< bytes of it that have come
        uint64_t missing{0};   ///< messages that have not come, but later ones have
        bool outOfStep{false}; ///< a packet within a message is lost
    };

    struct Outgoing
    {
        uint32_t session;
        Ptr<Packet> packet;
    };

    void SendNext();
    void OnReadable(Ptr<Socket> socket);
    void Take(uint32_t session, Ptr<Packet> packet);
    /// @return whether a packet is the one that has to come next
    static bool Continues(Session& session, uint32_t message, uint32_t offset);

    Ptr<Socket> m_socket;
    std::vector<Session> m_sessions;
    std::deque<Outgoing> m_queue; ///< the first is on its way
    uint64_t m_waitingBytes{0};   ///< in front of full rx buffers
    uint64_t m_dropped{0};
};

} // namespace ns3

#endif /* CCLO_UDP_ENGINE_H */
