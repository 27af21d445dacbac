/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_SIM_NETWORK_H
#define ASTRA_SIM_NETWORK_H

#include "astra-network-api.h"
#include "in-network-operations.h"
#include "message-matcher.h"

#include "ns3/ptr.h"
#include "ns3/rdma-driver.h"
#include "ns3/rdma-fabric.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

class ASTRASimNetwork;

/**
 * @brief The packet-level network that all ranks share: messages become RDMA messages on an
 * RdmaFabric, in-network operations go to its NVSwitches.
 *
 * Rank r is host r of the topology. With QP_MODE per_flow every message over the network has a
 * queue pair of its own, as in SimAI; messages within a server, and those of a channel with a speed
 * limit of its own, use one queue pair per (source, destination, channel, limit), as NCCL's
 * connections do.
 */
class AstraSimFabric
{
  public:
    /// @param fabric built; outlives this object
    explicit AstraSimFabric(ns3::RdmaFabric& fabric);
    ~AstraSimFabric();

    /// @return the network of a rank
    AstraNetworkAPI& GetNetwork(int rank);

    /// @return number of ranks
    int GetSize() const;

    /// @return messages that have been sent and delivered
    uint64_t GetDelivered() const
    {
        return m_deliveredCount;
    }

    /// @return messages under way
    uint64_t GetUnderWay() const
    {
        return m_sentCount - m_deliveredCount;
    }

    /// @return which data has no path, at most @p limit lines
    std::vector<std::string> DescribeObstacles(std::size_t limit) const;

    /// @return who waits for what in the network, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

  private:
    friend class ASTRASimNetwork;

    /// A message between sim_send() and its last acknowledgement.
    struct Message
    {
        Message* next{nullptr};
        AstraSimFabric* fabric{nullptr};
        MessageMatcher::Send* send{nullptr};
        uint32_t src{0};
        uint32_t dst{0};
        uint64_t wireBytes{0};
        uint32_t channel{0};
        uint64_t rateCapBps{0};
        uint32_t partsToDeliver{0};
        uint32_t partsToAcknowledge{0};
        MessageHandler sent{nullptr};
        void* sentArg{nullptr};
    };

    /// A part of a message that found no path; tried again when routes change.
    struct PendingPart
    {
        Message* message;
        uint32_t part;
        uint64_t bytes;
    };

    struct ConnectionKey
    {
        uint32_t src;
        uint32_t dst;
        uint32_t channel;
        uint32_t part;
        uint64_t rateCapBps; ///< one connection for each speed limit, so that none changes its own

        bool operator==(const ConnectionKey&) const = default;
    };

    struct ConnectionKeyHash
    {
        std::size_t operator()(const ConnectionKey& key) const
        {
            const uint64_t pair = static_cast<uint64_t>(key.src) << 32 | key.dst;
            const uint64_t lane =
                (static_cast<uint64_t>(key.channel) << 8 | key.part) ^ key.rateCapBps << 20;
            const uint64_t value = (pair ^ lane * 0xc2b2ae3d27d4eb4fU) * 0x9e3779b97f4a7c15U;
            return value ^ value >> 31;
        }
    };

    void Send(uint32_t src,
              uint32_t dst,
              int tag,
              uint64_t bytes,
              const sim_request* request,
              MessageHandler handler,
              void* arg);
    void Launch(Message* message);
    void LaunchPart(Message* message, uint32_t part, uint64_t bytes);
    ns3::RdmaQueuePair* FindQueuePair(const Message& message, uint32_t part);
    /// Find switches anew, and try again what found no path.
    void OnRoutesChanged();
    void OnPartDelivered(Message* message);
    void OnPartAcknowledged(Message* message);
    void Receive(uint32_t src,
                 uint32_t dst,
                 int tag,
                 uint64_t bytes,
                 MessageHandler handler,
                 void* arg);
    Message* TakeMessage();

    ns3::RdmaFabric& m_fabric;
    MessageMatcher m_matcher;
    std::vector<std::unique_ptr<ASTRASimNetwork>> m_networks;
    boost::unordered_flat_map<ConnectionKey, ns3::RdmaQueuePair*, ConnectionKeyHash> m_connections;
    InNetworkOperations m_inNetwork;
    std::vector<std::unique_ptr<Message[]>> m_slabs;
    Message* m_freeMessages{nullptr};
    std::vector<MessageMatcher::Completion> m_completions;
    std::vector<PendingPart> m_withoutPath;
    uint64_t m_sentCount{0};
    uint64_t m_deliveredCount{0};
};

/// One rank's view of an AstraSimFabric: ASTRA-sim's network API on ns-3.
class ASTRASimNetwork : public AstraNetworkAPI
{
  public:
    ASTRASimNetwork(int rank, AstraSimFabric& fabric);

    BackendType get_backend_type() const override
    {
        return BackendType::NS3;
    }

    int sim_comm_get_size() const override;
    timespec_t sim_get_time() override;
    void sim_schedule(timespec_t delta, MessageHandler handler, void* arg) override;
    int sim_send(void* buffer,
                 uint64_t count,
                 int type,
                 int dst,
                 int tag,
                 sim_request* request,
                 MessageHandler handler,
                 void* arg) override;
    int sim_recv(void* buffer,
                 uint64_t count,
                 int type,
                 int src,
                 int tag,
                 sim_request* request,
                 MessageHandler handler,
                 void* arg) override;
    bool sim_in_network_supported(InNetworkOp op, std::span<const int> members) const override;
    int sim_in_network(InNetworkOp op,
                       std::span<const int> members,
                       int root,
                       uint64_t count,
                       int tag,
                       sim_request* request,
                       MessageHandler handler,
                       void* arg) override;

  private:
    AstraSimFabric& m_fabric;
};

} // namespace AstraSim

#endif /* ASTRA_SIM_NETWORK_H */
