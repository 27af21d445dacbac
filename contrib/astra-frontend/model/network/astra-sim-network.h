/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_SIM_NETWORK_H
#define ASTRA_SIM_NETWORK_H

#include "connection-key.h"
#include "handler-events.h"
#include "in-network-operations.h"
#include "object-pool.h"
#include "shared-network.h"

#include "ns3/link-counting.h"
#include "ns3/ptr.h"
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
 */
class AstraSimFabric : public SharedNetwork
{
  public:
    /// @param fabric built; outlives this object
    explicit AstraSimFabric(ns3::RdmaFabric& fabric);
    ~AstraSimFabric() override;

    /// Count messages on the links that they take. @param use outlives the object
    void CountIn(ns3::LinkUse& use)
    {
        m_counter.emplace(use, m_fabric);
        m_inNetwork.CountIn(use);
    }

    /// @return which data has no path, at most @p limit lines
    std::vector<std::string> DescribeObstacles(std::size_t limit) const;

  private:
    /// What all messages know; in the cache line of what is touched when one ends.
    struct MessageHead : ns3::RdmaMessage
    {
        AstraSimFabric* fabric{nullptr};
    };

    /// A message; on the fabric, it is its own first part.
    struct alignas(64) Message final : MessageHead, NetworkMessage
    {
        void OnDelivered() override
        {
            fabric->PartDelivered(*this);
        }

        void OnSent() override
        {
            fabric->PartAcknowledged(this);
        }

        /// @return its size with the protocol's overhead; of its first part, once that is posted
        uint64_t& WireBytes()
        {
            return RdmaMessage::bytes;
        }

        ns3::RdmaQueuePair* qp{nullptr}; ///< of its first part; null if not known
    };

    static_assert(sizeof(Message) == 128); // two lines of the cache

    /// Another part of a message.
    struct Part final : ns3::RdmaMessage
    {
        void OnDelivered() override
        {
            whole->fabric->PartDelivered(*whole);
        }

        void OnSent() override
        {
            Message* message = whole;
            message->fabric->m_parts.GiveBack(this);
            message->fabric->PartAcknowledged(message);
        }

        Message* whole{nullptr};
    };

    /// A queue pair that several messages use, one after the other.
    struct Connection
    {
        Connection* next{nullptr};
        ns3::RdmaQueuePair* qp{nullptr};
        uint64_t rateCapBps{0};
        uint64_t lane{0}; ///< LaneOf() its messages
    };

    /// A part of a message that found no path; tried again when routes change.
    struct PendingPart
    {
        Message* message;
        uint32_t part;
        uint64_t bytes;
    };

    TimePs Now() const override;
    void Schedule(TimePs delay, MessageHandler handler, void* arg) override;
    void Send(uint32_t src, const SendRequest& request) override;

    void Forget(NetworkMessage& message) override
    {
        m_messages.GiveBack(static_cast<Message*>(&message));
    }

    bool Supports(std::span<const int> members) override
    {
        return m_inNetwork.IsSupported(members);
    }

    bool Join(int rank, const JoinRequest& request) override;
    void Launch(Message* message);
    void LaunchPart(Message* message, uint32_t part, uint64_t bytes);
    /// @return the connection that the message before in its stream used, if it may use it too;
    /// messages of a stream do, as a rule
    ns3::RdmaQueuePair* FindLastQueuePair(const Message& message) const;
    /// @return the queue pair for a part of a message, or null if it has no path
    ns3::RdmaQueuePair* FindQueuePair(const Message& message, uint32_t part);
    /// @param sport UDP source port; 0 for the next free one
    ns3::RdmaQueuePair* Connect(const Message& message,
                                uint32_t part,
                                bool closeWhenDone,
                                uint16_t sport = 0);
    /// @return the queue pair that messages before in the stream have not left yet, or a new one on
    /// their path
    ns3::RdmaQueuePair* FollowStream(const Message& message);
    /// @return whether messages like this one have a queue pair each
    bool HasOwnQueuePair(const Message& message) const;
    /// Find switches anew, and try again what found no path.
    void OnRoutesChanged();
    void PartAcknowledged(Message* message);

    ns3::RdmaFabric& m_fabric;
    std::optional<ns3::MessageCounter> m_counter;
    boost::unordered_flat_map<ConnectionKey, Connection*, ConnectionKey::Hash> m_connections;
    ObjectPool<Connection> m_connectionPool;
    HandlerEvents m_events;
    InNetworkOperations m_inNetwork;
    ObjectPool<Message> m_messages;
    ObjectPool<Part> m_parts;
    std::vector<PendingPart> m_withoutPath;
};

} // namespace AstraSim

#endif /* ASTRA_SIM_NETWORK_H */
