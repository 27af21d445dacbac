/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_NETWORK_H
#define RANK_NETWORK_H

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace AstraSim
{

/// Simulated time in picoseconds, the unit of every layer of this front end.
using TimePs = int64_t;

/// Called when a message has been sent or received.
using MessageHandler = void (*)(void* arg);

/// All messages of one (source, destination, tag), as a network knows them.
struct MessageStream;

/// Origin of a message: carried for records and per-flow options, never for matching.
struct MessageInfo
{
    uint32_t collective{0};     ///< collective instance, from 1; 0 for none
    uint32_t channel{0};        ///< NCCL channel: chooses the connection, and the NVSwitch
    uint16_t plane{ALL_PLANES}; ///< the only NIC of the source that it may take, by number
    static constexpr uint16_t ALL_PLANES = UINT16_MAX;
    uint16_t purpose{0};     ///< see TrafficPurpose()
    bool isCredit{false};    ///< tells a sender, against the lane's direction, that a slot is free
    TimePs sendLatency{0};   ///< software latency before the first byte leaves
    double wireInflation{1}; ///< bytes on the wire per byte of message (LL 2, LL128 128/120)
    uint64_t rateCapBps{0};  ///< a channel's own speed limit in bit/s; 0 for none
    /// The collective's number, the same on all its ranks in any order of their collectives.
    /// Messages between ranks that are not near match by it and by the last 8 bits of the tag,
    /// since each side gives out tags for itself.
    uint64_t collectiveKey{NO_COLLECTIVE};
    static constexpr uint64_t NO_COLLECTIVE = UINT64_MAX;
    /// Set by the network. A caller that gives it back with the next message of the same source,
    /// destination and tag saves the network a look-up; null is always right.
    MessageStream* stream{nullptr};
};

/// A message to send.
struct SendRequest
{
    int dst;                         ///< rank that gets it
    int tag;                         ///< tells messages to the same rank apart
    uint64_t bytes;                  ///< size
    MessageInfo* info{nullptr};      ///< null for none; needed during the call only
    MessageHandler handler{nullptr}; ///< at the last acknowledgement: the buffer may be used again
    void* arg{nullptr};              ///< of the handler
    const void* buffer{nullptr};     ///< the data, for networks that carry it; null for none
};

/// A message, a part of one or several to receive.
struct ReceiveRequest
{
    int src;                         ///< rank that sends it
    int tag;                         ///< as that of the sender
    uint64_t bytes;                  ///< how many to wait for
    MessageInfo* info{nullptr};      ///< null for none; needed during the call only
    MessageHandler handler{nullptr}; ///< when the last byte has been delivered here
    void* arg{nullptr};              ///< of the handler
    void* buffer{nullptr};           ///< gets the data, from networks that carry it; null for none
};

/// An operation that switches of the network carry out on a group of ranks (NVLS, CollNet).
enum class InNetworkOp
{
    Reduce,          ///< every member sends, the root receives the sum
    Multicast,       ///< the root sends once, every member receives
    ReduceMulticast, ///< every member sends, every member receives the sum
};

/**
 * @ingroup collectives
 * @brief A rank's part in an in-network operation.
 *
 * Every member asks with the same operation, members, root and tag; operations of one (members,
 * tag) run in the order in which they are asked for.
 */
struct JoinRequest
{
    InNetworkOp op;
    std::span<const int> members; ///< ranks; needed during the call only
    int root;                     ///< rank that sends or receives alone
    int tag;                      ///< tells operations of the same members apart
    uint64_t bytes;               ///< of each contribution and of the result
    MessageInfo* info{nullptr};   ///< null for none; needed during the call only
    /// Called when this member has all data that it receives; for one that only sends, when its
    /// buffer may be used again.
    MessageHandler handler{nullptr};
    void* arg{nullptr}; ///< of the handler
};

/// Ranks whose operations network switches are to carry out, on a channel.
struct ReducingGroup
{
    std::vector<int> ranks;
    uint32_t channel;
};

/// Keeps trees of switches for some groups. @return whether there was room for all; else it keeps
/// none
using KeepTrees = std::function<bool(const std::vector<ReducingGroup>& groups)>;

/**
 * @ingroup collectives
 * @brief The network as one rank sees it: all that the layers above know of it.
 *
 * Nothing blocks. Messages match by (source, destination, tag) in the order in which they were
 * sent; their sizes may differ, since a connection is a stream of bytes. Code written for
 * ASTRA-sim's own interface uses it through AstraNetworkAPI.
 */
class RankNetwork
{
  public:
    explicit RankNetwork(int rank)
        : m_rank(rank)
    {
    }

    virtual ~RankNetwork() = default;

    RankNetwork(const RankNetwork&) = delete;
    RankNetwork& operator=(const RankNetwork&) = delete;

    /// @return this rank's number in the whole job set
    int GetRank() const
    {
        return m_rank;
    }

    /// @return the number of ranks of the network (all jobs)
    virtual int GetSize() const = 0;

    /// @return the current time
    virtual TimePs Now() const = 0;

    /// Call @p handler with @p arg after @p delay, which may be 0; never from inside the call.
    virtual void Schedule(TimePs delay, MessageHandler handler, void* arg) = 0;

    /// Send a message.
    virtual void Send(const SendRequest& request) = 0;

    /// Receive a message.
    virtual void Receive(const ReceiveRequest& request) = 0;

    /// @return whether switches can carry out operations of the ranks of @p members
    virtual bool Supports(std::span<const int> members) const
    {
        return false;
    }

    /// Take part in an in-network operation.
    /// @return whether it began: Supports() says yes, and the rank and the root are members
    virtual bool Join(const JoinRequest& request)
    {
        return false;
    }

    /// @return within the handler of a receive: when its message was sent, if the network carries
    /// that along; otherwise the current time
    virtual TimePs GetSentTime() const
    {
        return Now();
    }

    /// @return whether this rank's calls may read @p rank's state of a collective, and the other
    /// way round. If not, ranks send credits as messages (MessageInfo::isCredit)
    virtual bool IsNear(int rank) const
    {
        return true;
    }

    /// Nothing more is sent, or received, in a stream between ranks that are not near.
    /// @param stream MessageInfo::stream of its messages
    virtual void EndStream(MessageStream* stream, bool isSender)
    {
    }

    /// @return the links that messages to @p dst may take, by their numbers; nothing if the network
    /// does not know. @param channel of the messages (MessageInfo)
    virtual std::optional<std::vector<uint32_t>> FindLinks(int dst, uint32_t channel)
    {
        return std::nullopt;
    }

    /// @return whether messages are real: their times then contain the costs of software and GPUs
    virtual bool IsPhysical() const
    {
        return false;
    }

    /// This rank has nothing more to do.
    virtual void NotifyFinished()
    {
    }

  private:
    int m_rank;
};

} // namespace AstraSim

#endif /* RANK_NETWORK_H */
