/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SHARED_NETWORK_H
#define SHARED_NETWORK_H

#include "message-streams.h"
#include "object-pool.h"

#include "ns3/message-cut.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace AstraSim
{

class SharedNetwork;

/// One rank's view of a network that all ranks share.
class SharedRankNetwork : public RankNetwork
{
  public:
    SharedRankNetwork(int rank, SharedNetwork& network)
        : RankNetwork(rank),
          m_network(network)
    {
    }

    int GetSize() const override;
    TimePs Now() const override;
    void Schedule(TimePs delay, MessageHandler handler, void* arg) override;
    void Send(const SendRequest& request) override;
    void Receive(const ReceiveRequest& request) override;
    bool Supports(std::span<const int> members) const override;
    bool Join(const JoinRequest& request) override;
    bool IsNear(int rank) const override;
    void EndStream(MessageStream* stream, bool isSender) override;
    TimePs GetSentTime() const override;
    std::optional<std::vector<uint32_t>> FindLinks(int dst, uint32_t channel) override;

  private:
    SharedNetwork& m_network;
};

/**
 * @ingroup astra-frontend
 * @brief Base of the networks of all back ends: a view for each rank, messages that
 * match in order, handlers that never run from inside a call.
 *
 * A backend says how long a message takes; it derives a Message of its own from NetworkMessage.
 */
class SharedNetwork
{
  public:
    virtual ~SharedNetwork();
    SharedNetwork(const SharedNetwork&) = delete;
    SharedNetwork& operator=(const SharedNetwork&) = delete;

    /// @return the network of a rank
    RankNetwork& GetNetwork(int rank)
    {
        return m_ranks[static_cast<std::size_t>(rank - m_first)];
    }

    /// @return number of ranks
    int GetSize() const
    {
        return m_size;
    }

    /// @return messages that have been sent and delivered
    uint64_t GetDelivered() const
    {
        return m_deliveredCount;
    }

    /// @return which receives wait, at most @p limit lines
    std::vector<std::string> DescribeReceives(std::size_t limit) const
    {
        return m_streams.DescribeWaits(limit);
    }

  protected:
    /// A message between Send() and its last acknowledgement.
    struct NetworkMessage
    {
        // members used when it ends come first
        MessageStream* stream{nullptr}; ///< null: of no rank's program
        uint64_t bytes{0};
        uint32_t number{0}; ///< in its stream
        uint16_t partsToDeliver{0};
        uint16_t partsToAcknowledge{0};
        MessageHandler sent{nullptr};
        void* sentArg{nullptr};

        uint64_t rateCapBps{0};
        uint32_t src{0};
        uint32_t dst{0};
        uint32_t channel{0};
        uint16_t purpose{0};                     ///< see TrafficPurpose()
        uint16_t plane{MessageInfo::ALL_PLANES}; ///< see MessageInfo
        /// Follows those of its stream on one connection, as the messages of a collective do.
        bool keepsOrder : 1 {false};
        bool isFar : 1 {false}; ///< its receiver uses another network than this one

        /// @return whether a rank's program receives it; no rank receives background traffic
        bool IsMatched() const
        {
            return stream != nullptr;
        }

        /// @return whether nothing of it goes over the network
        bool IsLocal() const
        {
            return src == dst || bytes == 0;
        }
    };

    SharedNetwork();

    /// Make the views of @p count ranks.
    void MakeRanks(uint32_t count)
    {
        MakeRanks(0, count, count);
    }

    /// Make the views of @p count ranks from @p first on, of @p size.
    void MakeRanks(uint32_t first, uint32_t count, uint32_t size);

    /// A call's demand on the network.
    struct Demand
    {
        TimePs latency;     ///< before the first byte leaves
        uint64_t wireBytes; ///< with the protocol's overhead
    };

    /**
     * Note that rank @p src sends.
     * @param message takes its members from @p request
     * @param key of its stream
     * @return its latency and its bytes on the wire
     */
    Demand Accept(NetworkMessage& message,
                  uint32_t src,
                  const SendRequest& request,
                  const StreamKey& key);

    /// The same where sender and receiver use one network.
    Demand Accept(NetworkMessage& message, uint32_t src, const SendRequest& request)
    {
        const auto dst = static_cast<uint32_t>(request.dst);
        return Accept(message, src, request, StreamKey::OfTag(src, dst, request.tag));
    }

    /// A part of @p message is at its destination; the last one completes receives.
    void PartDelivered(NetworkMessage& message);

    /// The sender of @p message knows that all of it has arrived: give it back and tell the sender.
    template <typename Message>
    static void End(ObjectPool<Message>& pool, Message* message)
    {
        const MessageHandler sent = message->sent;
        void* arg = message->sentArg;
        pool.GiveBack(message);
        if (sent)
        {
            sent(arg);
        }
    }

    uint64_t m_deliveredCount{0};

    virtual TimePs Now() const = 0;

    /// @return RankNetwork::GetSentTime()
    virtual TimePs GetSentTime() const
    {
        return Now();
    }

    /// @return RankNetwork::IsNear()
    virtual bool AreNear(int rank, int other) const
    {
        return true;
    }

    /// @return RankNetwork::FindLinks()
    virtual std::optional<std::vector<uint32_t>> FindLinks(int src, int dst, uint32_t channel)
    {
        return std::nullopt;
    }

    /// See RankNetwork::EndStream().
    virtual void EndStream(MessageStream* stream, bool isSender)
    {
    }

    /// @return the parts of a message, or of an operation that begins with these ranks, each over a
    /// connection of its own. @param channel,plane see ns3::MessageCut
    virtual ns3::MessageCut::Parts Cut(uint32_t,
                                       uint32_t,
                                       uint64_t bytes,
                                       uint32_t channel,
                                       uint16_t plane)
    {
        return ns3::MessageCut().Divide(bytes, bytes, channel, plane);
    }

    virtual void Schedule(TimePs delay, MessageHandler handler, void* arg) = 0;
    virtual void Send(uint32_t src, const SendRequest& request) = 0;

    /// @return whether switches can serve @p members
    virtual bool Supports(std::span<const int> members) = 0;

    /// @return whether it began: switches serve the members, and the rank and the root are among
    /// them
    virtual bool Join(int rank, const JoinRequest& request) = 0;

    virtual void Receive(uint32_t dst, const ReceiveRequest& request);

    /// Wait for the bytes of a receive.
    /// @param bytes of it @return whether it is there already
    bool AddReceive(const StreamKey& key, uint64_t bytes, const ReceiveRequest& request);

    MessageStreams m_streams;

  private:
    friend class SharedRankNetwork;

    /// Join() an operation in parts, as messages go.
    bool JoinParts(int rank, const JoinRequest& request);

    std::deque<SharedRankNetwork> m_ranks;
    int m_first{0};
    int m_size{0};
};

} // namespace AstraSim

#endif /* SHARED_NETWORK_H */
