/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_NETWORK_H
#define PHY_NETWORK_H

#include "astra-frontend/model/system/run-observer.h"
#include "fabric-endpoint.h"
#include "message-header.h"
#include "physical-loop.h"
#include "registered-buffers.h"

#include "ns3/object-pool.h"
#include "ns3/rank-network.h"

#include <boost/functional/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

// Hot path: every message passes here.

/**
 * @ingroup simulator
 * @brief The network of one rank that is a process: messages travel over libfabric.
 *
 * Each message has a header that identifies it; the receiver compares it with the expected one. Its
 * payload is as long as the protocol makes it on the wire (LL twice as long). Without data of the
 * caller's own the payload is the buffer's content as it happens to be, or with verification a
 * pattern that follows from the header, with a checksum.
 *
 * Left out: software latencies and speed limits of GPUs, which a machine has by itself; operations
 * of switches, which need hardware that computes.
 */
class PhyNetwork : public RankNetwork
{
  public:
    /// Receives messages of other ranks that are not the workload's.
    using ControlHandler = std::function<void(uint32_t src, const std::string& text)>;

    /**
     * @param ranks of the run
     * @param verify fill and check payloads
     * Both borrowed: @p loop and @p endpoint, which is connected and closed before this object and
     * its memory go.
     */
    PhyNetwork(int rank, int ranks, PhysicalLoop& loop, FabricEndpoint& endpoint, bool verify);
    ~PhyNetwork() override;

    bool IsNear(int rank) const override
    {
        return rank == GetRank();
    }

    bool IsPhysical() const override
    {
        return true;
    }

    int GetSize() const override
    {
        return m_size;
    }

    TimePs Now() const override
    {
        return m_loop.Now();
    }

    TimePs GetSentTime() const override
    {
        return m_sentPs;
    }

    void Schedule(TimePs delay, MessageHandler handler, void* arg) override
    {
        m_loop.Schedule(delay, handler, arg);
    }

    void Send(const SendRequest& request) override;
    void Receive(const ReceiveRequest& request) override;

    /// Tags of another iteration begin; nothing of the one before is under way.
    void BeginIteration(uint32_t iteration);

    /// Move messages on. @return whether anything has happened
    /// @throw RankFailure if a message cannot be carried, or is not the one that was expected
    bool Progress();

    /// The workload is given up: nobody is told of its messages any more.
    void Abandon()
    {
        m_abandoned = true;
    }

    /// @param handler called from Progress()
    void SetControlHandler(ControlHandler handler)
    {
        m_onControl = std::move(handler);
    }

    /// Tell another rank something beside the workload, of at most CONTROL_BYTES.
    void SendControl(uint32_t dst, const std::string& text);

    /// @return messages that have been begun and not ended, control messages not counted
    uint64_t GetOpen() const
    {
        return m_open;
    }

    /// @return messages that have arrived, without credits, since BeginIteration()
    const std::vector<FlowRecord>& GetFlows() const
    {
        return m_flows;
    }

    uint64_t GetMessagesReceived() const
    {
        return m_received;
    }

    uint64_t GetBytesReceived() const
    {
        return m_bytesReceived;
    }

    uint64_t GetRegisteredBytes() const
    {
        return m_buffers.GetRegisteredBytes();
    }

    static constexpr std::size_t CONTROL_BYTES = 1000;

  private:
    struct Operation
    {
        FabricEndpoint::Transfer transfer; ///< first
        Operation* next{nullptr};          ///< for the pool
        PhyNetwork* network{nullptr};
        RegisteredBuffers::Buffer buffer;
        MessageHeader header; ///< of a receive: the expected one
        void* target{nullptr};
        MessageHandler handler{nullptr};
        void* arg{nullptr};
        uint32_t channel{0};
        bool isControl{false};
        bool isCredit{false};
    };

    struct Lane
    {
        uint64_t tag;
        uint32_t peer;
        bool receives;

        bool operator==(const Lane&) const = default;
    };

    struct LaneHash
    {
        std::size_t operator()(const Lane& lane) const
        {
            std::size_t hash = 0;
            boost::hash_combine(hash, lane.tag);
            boost::hash_combine(hash, lane.peer);
            boost::hash_combine(hash, lane.receives);
            return hash;
        }
    };

    /// @tparam Request SendRequest or ReceiveRequest
    template <typename Request>
    Operation* Begin(const Request& request, int peerRank, bool receives);
    void PostControlReceive();
    void Post(Operation& operation);
    static void Ended(void* self, FabricEndpoint::Transfer& transfer);
    void OnReceived(Operation& operation);
    void OnControl(Operation& operation);
    void Forget(Operation& operation);
    [[noreturn]] void Fail(const FabricEndpoint::TransferError& error) const;

    int m_size;
    PhysicalLoop& m_loop;
    FabricEndpoint& m_endpoint;
    bool m_verify;
    RegisteredBuffers m_buffers;
    ObjectPool<Operation> m_operations;
    boost::unordered_flat_map<Lane, uint32_t, LaneHash> m_numbers; ///< messages of each so far
    ControlHandler m_onControl;
    std::vector<FlowRecord> m_flows;
    uint32_t m_iteration{0};
    bool m_abandoned{false};
    uint64_t m_open{0};
    uint64_t m_received{0};
    uint64_t m_bytesReceived{0};
    TimePs m_sentPs{0}; ///< of the message, while its handler runs
};

} // namespace AstraSim

#endif /* PHY_NETWORK_H */
