/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANA_SIM_H
#define ANA_SIM_H

#include "astra-network-api.h"
#include "event-loop.h"
#include "message-matcher.h"
#include "message-paths.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace AstraSim
{

class AnaSimNetwork;

/**
 * @brief The analytical network that all ranks share: a few events per message, no packets.
 *
 * A message takes the time it would take alone, and longer where messages share a port next to a
 * rank: each port works off its messages in the order in which they reach it. Between the ports the
 * network holds any number of messages (full bisection), so there is no congestion inside it. Send
 * latency, wire inflation and speed limits of messages count; messages of one (source, destination,
 * channel) with a limit share it.
 *
 * Left out: congestion control and acknowledgements' own load, pauses, losses, link failures.
 *
 * @code
 * AnaSim network(std::make_unique<TopologyPaths>(topology, sizes));
 * network.GetNetwork(0).sim_send(nullptr, 1 << 20, UINT8, 5, 7, &request, sent, arg);
 * network.GetLoop().Run();
 * @endcode
 */
class AnaSim
{
  public:
    explicit AnaSim(std::unique_ptr<MessagePaths> paths);
    ~AnaSim();

    /// @return the network of a rank
    AstraNetworkAPI& GetNetwork(int rank);

    EventLoop& GetLoop()
    {
        return m_loop;
    }

    const EventLoop& GetLoop() const
    {
        return m_loop;
    }

    /// @return number of ranks
    int GetSize() const
    {
        return static_cast<int>(m_networks.size());
    }

    /// @return messages that have been sent and delivered
    uint64_t GetDelivered() const
    {
        return m_deliveredCount;
    }

    /// @return who waits for what in the network, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

  private:
    friend class AnaSimNetwork;

    /// A message between sim_send() and the end of both of its handlers' waits.
    struct Message
    {
        Message* next{nullptr};
        AnaSim* network{nullptr};
        MessageMatcher::Send* send{nullptr};
        uint32_t src{0};
        uint32_t dst{0};
        uint64_t wireBytes{0};
        uint32_t channel{0};
        uint64_t rateCapBps{0};
        uint32_t partsToDeliver{0};
        TimePs acknowledgement{0};
        MessageHandler sent{nullptr};
        void* sentArg{nullptr};
    };

    /// A part of a message that waits for its turn on a lane.
    struct Part
    {
        Part* next{nullptr};
        Message* message{nullptr};
        MessagePath path{};
    };

    using Lane = std::tuple<uint32_t, uint32_t, uint32_t>; ///< source, destination, channel
    using OperationKey = std::tuple<std::vector<int>, int, uint64_t>; ///< members, tag, turn

    /// An in-network operation that some members have joined.
    struct Operation
    {
        std::vector<std::pair<MessageHandler, void*>> handlers;
    };

    /// How often each member has joined the operations of one (members, tag).
    struct Turns
    {
        std::vector<uint64_t> nextOf;
    };

    template <typename T>
    struct Pool
    {
        T* Take();

        void GiveBack(T* item)
        {
            item->next = free;
            free = item;
        }

        T* free{nullptr};
        std::vector<std::unique_ptr<T[]>> slabs;
    };

    void Send(uint32_t src,
              uint32_t dst,
              int tag,
              uint64_t bytes,
              const sim_request* request,
              MessageHandler handler,
              void* arg);
    static void Launch(void* message);
    void LaunchPart(Message& message, uint32_t part, uint64_t bytes);
    static void TakeTurn(void* part);
    void EnterPorts(Message& message, const MessagePath& path);
    static void PartDelivered(void* message);
    static void Acknowledged(void* message);
    void Receive(uint32_t src,
                 uint32_t dst,
                 int tag,
                 uint64_t bytes,
                 MessageHandler handler,
                 void* arg);
    void JoinInNetwork(int rank,
                       InNetworkOp op,
                       std::span<const int> members,
                       int root,
                       uint64_t bytes,
                       int tag,
                       const sim_request* request,
                       MessageHandler handler,
                       void* arg);
    TimePs InNetworkTime(InNetworkOp op,
                         std::span<const int> members,
                         int root,
                         uint64_t wireBytes,
                         const sim_request* request);

    EventLoop m_loop;
    std::unique_ptr<MessagePaths> m_paths;
    MessageMatcher m_matcher;
    std::vector<std::unique_ptr<AnaSimNetwork>> m_networks;
    std::vector<TimePs> m_portFree; ///< when a port has worked off what it has
    boost::unordered_flat_map<Lane, TimePs> m_laneFree;
    std::map<std::pair<std::vector<int>, int>, Turns> m_turns;
    std::map<OperationKey, Operation> m_operations;
    Pool<Message> m_messages;
    Pool<Part> m_parts;
    std::vector<MessageMatcher::Completion> m_completions;
    std::vector<std::pair<uint32_t, uint32_t>> m_withoutPath;
    uint64_t m_deliveredCount{0};
};

/// One rank's view of an AnaSim.
class AnaSimNetwork : public AstraNetworkAPI
{
  public:
    AnaSimNetwork(int rank, AnaSim& network);

    BackendType get_backend_type() const override
    {
        return BackendType::Analytical;
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
    AnaSim& m_network;
};

} // namespace AstraSim

#endif /* ANA_SIM_H */
