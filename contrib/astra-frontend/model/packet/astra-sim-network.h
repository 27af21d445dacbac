/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_SIM_NETWORK_H
#define ASTRA_SIM_NETWORK_H

#include "astra-frontend/model/network/connection-key.h"
#include "astra-frontend/model/network/shared-network.h"
#include "handler-events.h"
#include "in-network-operations.h"

#include "ns3/link-counting.h"
#include "ns3/object-pool.h"
#include "ns3/ptr.h"
#include "ns3/qbb-call.h"
#include "ns3/rdma-driver.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rdma-message.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The packet-level network that all ranks share: messages become RDMA messages on an
 * RdmaFabric, in-network operations go to its NVSwitches.
 *
 * Rank r is host r of the topology. With QP_MODE per_flow every message over the network has a
 * queue pair of its own, as in SimAI. Those of a collective, a stream, have one path, and follow
 * each other on one queue pair while some are left to send, as NCCL's do; they take no bandwidth
 * from each other. Messages within a server, and those of a channel with a speed limit of its own,
 * use one queue pair per (source, destination, channel, limit).
 *
 * Where the fabric is divided, each server has a network of its own, so that events of one
 * partition touch no state of another: ranks of different servers are not near.
 */
class AstraSimFabric : public SharedNetwork, public ns3::QbbAddressee
{
  public:
    /// The networks of all servers of a divided fabric.
    using Servers = std::vector<std::unique_ptr<AstraSimFabric>>;

    /// All ranks. @param fabric built; outlives this object
    explicit AstraSimFabric(ns3::RdmaFabric& fabric);

    /// The ranks of one server. @param fabric outlives the object @param server its number
    /// @param servers the others, by number; complete before the first message
    AstraSimFabric(ns3::RdmaFabric& fabric, uint32_t server, const Servers& servers);

    ~AstraSimFabric() override;

    /// Count messages on the links that they take. @param use outlives the object
    void CountIn(ns3::LinkUse& use);

    /// @return data that has no path, a line each
    std::vector<std::string> DescribePending() const;

  private:
    /// @param servers null: this network has all ranks
    AstraSimFabric(ns3::RdmaFabric& fabric,
                   const Servers* servers,
                   uint32_t firstRank,
                   uint32_t rankCount,
                   uint32_t context);

    /// Fields of all messages; they share the cache line that is touched when a message ends.
    struct MessageHead : ns3::RdmaMessage
    {
        AstraSimFabric* fabric{nullptr};
    };

    struct Message;

    /// A part of a message is at its destination, a rank of the same network.
    struct Arrival
    {
        Message* message;

        void operator()(AstraSimFabric& here) const
        {
            here.PartDelivered(*message);
        }
    };

    /// The arrival of a part of a message at a rank of another network, as its receiver sees it.
    struct FarArrival
    {
        StreamKey stream;
        ArrivedMessage message;

        void operator()(AstraSimFabric& there) const
        {
            there.OnFarArrival(*this);
        }
    };

    /// A message; on the fabric, it is its own first part. Both ends share it where their ranks
    /// share the network; the fabric's hosts do not look into it.
    struct alignas(64) Message : MessageHead, NetworkMessage
    {
        ns3::RdmaDeliveryCall GetDeliveryCall() override
        {
            if (fabric->m_deliversOnAck)
            {
                return {};
            }
            return isFar ? ns3::RdmaDeliveryCall(fabric->NetworkOf(dst), GetFarArrival())
                         : ns3::RdmaDeliveryCall(*fabric, Arrival{this});
        }

        void OnSent() override
        {
            fabric->PartSent(this);
        }

        /// @return the record for the receiver's network, which counts the parts
        FarArrival GetFarArrival() const
        {
            return {stream->key, {number, partsToDeliver, NetworkMessage::bytes, sentPs}};
        }

        /// @return its size with the protocol's overhead; of its first part, once that is posted
        uint64_t& WireBytes()
        {
            return RdmaMessage::bytes;
        }

        TimePs sentPs{0};
    };

    static_assert(sizeof(Message) == 128); // two lines of the cache

    struct FarLocalArrival;
    struct FarLocalEnd;
    struct FarCredit;

    /// Another part of a message.
    struct Part final : ns3::RdmaMessage
    {
        ns3::RdmaDeliveryCall GetDeliveryCall() override
        {
            return whole->GetDeliveryCall();
        }

        void OnSent() override
        {
            Message* message = whole;
            message->fabric->m_parts.GiveBack(this);
            message->fabric->PartSent(message);
        }

        Message* whole{nullptr};
    };

    /// A queue pair that several messages use, one after the other.
    struct Connection
    {
        Connection* next{nullptr};
        ns3::RdmaQueuePair* qp{nullptr};
        uint64_t rateCapBps{0};
        uint32_t channel{0}; ///< of its messages
    };

    /// A part of a message that found no path; tried again when routes change.
    struct PendingPart
    {
        Message* message;
        uint32_t number;
        ns3::MessagePart part;
    };

    TimePs Now() const override;
    TimePs GetSentTime() const override;
    bool AreNear(int rank, int other) const override;
    void EndStream(MessageStream* stream, bool isSender) override;
    void Receive(uint32_t dst, const ReceiveRequest& request) override;
    void Schedule(TimePs delay, MessageHandler handler, void* arg) override;
    void Send(uint32_t src, const SendRequest& request) override;

    /// @return the network of a rank's server
    AstraSimFabric& NetworkOf(uint32_t rank) const
    {
        return *(*m_servers)[m_fabric.GetTopology().Server(rank)];
    }

    /// @return the ns-3 node of a rank
    uint32_t NodeIdOf(uint32_t rank) const;
    /// @return whether sender and receiver have a stream of their own each
    bool GoesFar(uint32_t src, uint32_t dst, const MessageInfo* info) const;
    void SendCredit(const StreamKey& stream);
    /// Send a message when its latency has passed.
    void Start(Message* message, const Demand& demand);
    /// Deliver a message of which nothing goes over the network.
    void LaunchLocal(Message* message);
    void OnFarArrival(const FarArrival& part);

    bool Supports(std::span<const int> members) override
    {
        return m_inNetwork.IsSupported(members);
    }

    bool Join(int rank, const JoinRequest& request) override;
    ns3::MessageCut::Parts Cut(uint32_t src,
                               uint32_t dst,
                               uint64_t bytes,
                               uint32_t channel,
                               uint16_t plane) override;
    void Launch(Message* message);
    void LaunchPart(Message* message, uint32_t number, const ns3::MessagePart& part);
    /// @return the queue pair of the message before in its stream, if this one may use it, too, as
    /// messages of a stream usually may
    ns3::RdmaQueuePair* FindLastQueuePair(const Message& message) const;
    /// @return the queue pair for a part of a message, or null if it has no path
    ns3::RdmaQueuePair* FindQueuePair(const Message& message,
                                      uint32_t number,
                                      const ns3::MessagePart& part);
    /// @param sport UDP source port; 0 for the next free one
    ns3::RdmaQueuePair* Connect(const Message& message,
                                const ns3::MessagePart& part,
                                bool closeWhenDone,
                                uint16_t sport = 0);
    /// @return the queue pair that still has parts of this number of earlier messages of the
    /// stream, or a new one on their path
    ns3::RdmaQueuePair* FollowStream(const Message& message,
                                     uint32_t number,
                                     const ns3::MessagePart& part);
    /// @return whether messages like this one have a queue pair each
    bool HasOwnQueuePair(const Message& message) const;
    /// Find switches anew, and retry messages that found no path.
    void OnRoutesChanged();
    /// The sender has the last acknowledgement of a part that went over the network.
    void PartSent(Message* message);
    void PartAcknowledged(Message* message);

    ns3::RdmaFabric& m_fabric;
    const bool m_deliversOnAck; ///< all its ranks are here
    const Servers* m_servers;   ///< null: this network has all ranks
    uint32_t m_firstRank;
    uint32_t m_rankCount;
    std::optional<ns3::MessageCounter> m_counter;
    boost::unordered_flat_map<ConnectionKey, Connection*, ConnectionKey::Hash> m_connections;
    ObjectPool<Connection> m_connectionPool;
    /// Numbers of the queue pairs that parts but the first of streams used last: by source and its
    /// port.
    boost::unordered_flat_map<std::pair<uint32_t, uint16_t>, uint32_t> m_otherParts;
    HandlerEvents m_events;
    InNetworkOperations m_inNetwork;
    ObjectPool<Message> m_messages;
    ObjectPool<Part> m_parts;
    std::vector<PendingPart> m_withoutPath;
};

} // namespace AstraSim

#endif /* ASTRA_SIM_NETWORK_H */
