/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_RDMA_ENGINE_H
#define CCLO_RDMA_ENGINE_H

#include "cclo-protocol-engine.h"

#include "ns3/nstime.h"
#include "ns3/qbb-call.h"
#include "ns3/rdma-driver.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

class CcloRdmaEngine;

/// The RDMA engines of a job, by host number; all of them share it.
using CcloRdmaPeers = std::shared_ptr<std::vector<CcloRdmaEngine*>>;

/**
 * @ingroup accl-cclo
 * @brief Messages over the queue pairs of rdma-qbb: SEND for headers and eager data, WRITE for
 * rendezvous data.
 *
 * A session is the peer's host number; its queue pair is connected when first used. Time and loss
 * are the queue pair's; the bytes travel beside the frames, which carry none.
 *
 * Eager data stop at the sender while the receiver has nowhere to put them: it returns credits
 * (bytes), as InfiniBand's acknowledgements do. Left out: the RETH of a WRITE (16 bytes per
 * message).
 */
class CcloRdmaEngine : public CcloProtocolEngine, public QbbAddressee
{
  public:
    static TypeId GetTypeId();

    CcloRdmaEngine();
    ~CcloRdmaEngine() override;

    /// @param driver of the host @param peers gets this engine
    void Install(Ptr<RdmaDriver> driver, CcloRdmaPeers peers);

    /// Send the messages that waited for a path. Call it when routes may have changed.
    void OnRoutesChanged();

    // --- CcloProtocolEngine
    uint32_t GetStackType() const override;
    bool CanWrite() const override;
    bool CanSend(uint32_t session, const CcloHeader& header) const override;
    bool IsDrained() const override;
    void Send(uint32_t session, CcloMessage&& message, int64_t spanPs) override;
    void OnConsumed(uint32_t session, const CcloHeader& header) override;
    std::string DescribeSession(uint32_t session) const override;

  protected:
    void DoDispose() override;

  private:
    class Posted;
    struct Arrival;

    struct Session
    {
        RdmaQueuePair* queuePair{nullptr};
        uint64_t unplacedBytes{0}; ///< eager data that the peer has not put into a buffer yet
        int64_t creditDelayPs{0};  ///< of a credit to the peer
    };

    /// A message that no path leads to yet.
    struct Pending
    {
        uint32_t session;
        CcloMessage message;
        int64_t spanPs;
    };

    Session& SessionAt(uint32_t session);

    /// @return whether messages to the peer wait for a path
    bool LacksPath(uint32_t session) const;
    /// @return whether there is a queue pair to the peer, and so was a path
    bool Connect(uint32_t session);
    void Start(Pending&& pending);
    /// @return bytes that a message has on the wire, but for the headers of frames
    static uint64_t BytesOf(const CcloHeader& header);
    Posted& Take();
    /// Give a message to the queue pair.
    void Post(uint32_t session, Posted& posted);
    /// @return time on the wire of a message of this size
    int64_t WirePs(const RdmaQueuePair& queuePair, uint64_t bytes) const;
    void OnSent(uint64_t bytes);
    void OnCredit(uint32_t session, uint64_t bytes);
    void OnDelivered(const Arrival& arrival);

    Ptr<RdmaDriver> m_driver;
    CcloRdmaPeers m_peers;
    uint32_t m_host{0};
    uint8_t m_priority{3};
    uint32_t m_sendBuffer{65536};
    uint32_t m_eagerWindow{65536};
    Time m_sendLatency;
    Time m_receiveLatency;
    uint64_t m_unsentBytes{0}; ///< given to this engine and not yet acknowledged
    std::vector<Session> m_sessions;
    std::vector<Pending> m_withoutPath; ///< in the order in which they came
    std::vector<std::unique_ptr<Posted>> m_all;
    Posted* m_free{nullptr};
};

} // namespace ns3

#endif /* CCLO_RDMA_ENGINE_H */
