/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_TCP_ENGINE_H
#define CCLO_TCP_ENGINE_H

#include "cclo-depacketizer.h"
#include "cclo-socket-engine.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class CcloTcpEngine;

/// The TCP engines of a job, by address; all of them share it.
using CcloTcpPeers = std::shared_ptr<std::map<Ipv4Address, CcloTcpEngine*>>;

/**
 * @ingroup accl-cclo
 * @brief Messages over TCP connections of ns-3's Internet stack.
 *
 * As ACCL's host code does with the session handler, each engine opens its port and a connection to
 * every peer; a session's data go out by the own connection and come in by the peer's. One header
 * per message, no padding (tcp_packetizer.cpp). TCP sends lost segments again.
 *
 * A sender waits while "ReceiveBufferSize" bytes of a session have not reached the peer's rx
 * buffers: the receiver's window. The word that there is room again takes half a round-trip time
 * and no frame. Left out: ns-3's stack cuts the bytes in a send buffer into full segments, where
 * ACCL's cuts each message by itself.
 */
class CcloTcpEngine : public CcloSocketEngine
{
  public:
    static TypeId GetTypeId();

    CcloTcpEngine();
    ~CcloTcpEngine() override;

    /// Join the engines of a job. Call after Install().
    void SetPeers(CcloTcpPeers peers);

    // --- CcloProtocolEngine
    uint32_t GetStackType() const override;
    bool CanSend(uint32_t session, const CcloHeader& header) const override;
    void Send(uint32_t session, CcloMessage&& message, int64_t spanPs) override;
    void OnConsumed(uint32_t session, const CcloHeader& header) override;
    std::string DescribeSession(uint32_t session) const override;
    std::vector<std::string> DescribeWaits() const override;
    bool IsOpen() const override;
    void Close() override;

  protected:
    void DoDispose() override;

    // --- CcloSocketEngine
    void OpenPort(uint32_t port) override;
    void OpenSession(bool isLocal) override;
    void Transmit(uint32_t session, Ptr<Packet> message) override;
    uint32_t GetOverhead() const override;

  private:
    struct Session
    {
        CcloDepacketizer depacketizer;
        Ptr<Socket> out{};
        Ptr<Socket> in{};
        bool isOpen{false};
        bool isRefused{false};
        std::deque<Ptr<Packet>> pending{}; ///< not taken by the connection yet
        uint64_t unplacedBytes{0};         ///< that the peer has not put into a buffer yet
        Time rtt{};                        ///< last round-trip time of the own connection
    };

    Ptr<Socket> MakeTcpSocket() const;
    void OnConnected(uint32_t session, bool isOpen);
    void OnAccepted(Ptr<Socket> socket, Ipv4Address from);
    void OnReadable(uint32_t session, Ptr<Socket> socket);
    void Flush(uint32_t session);
    void OnCredit(Ipv4Address from, uint64_t bytes);
    /// Close a connection, and remove its callbacks.
    static void Leave(Ptr<Socket> socket);

    CcloTcpPeers m_engines;
    Time m_minRto;
    uint32_t m_initialWindow{10};
    uint32_t m_connectionBuffer{1 << 20};
    Ptr<Socket> m_listening; ///< stays when sessions close: ACCL closes no port
    uint32_t m_port{0};
    std::deque<Session> m_sessions;
};

} // namespace ns3

#endif /* CCLO_TCP_ENGINE_H */
