/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FAR_STREAMS_H
#define FAR_STREAMS_H

#include "object-pool.h"

#include "ns3/rank-network.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// Names a stream of messages between ranks that share nothing, alike at both ends.
struct FarStreamKey
{
    uint64_t collective{MessageInfo::NO_COLLECTIVE}; ///< MessageInfo::collectiveKey
    uint32_t src{0};
    uint32_t dst{0};
    int tag{0};           ///< of a collective's messages the last 8 bits
    bool isCredit{false}; ///< MessageInfo::isCredit

    /// @param info of a send or receive; may be null
    static FarStreamKey Of(uint32_t src, uint32_t dst, int tag, const MessageInfo* info);

    bool operator==(const FarStreamKey&) const = default;
};

/**
 * @ingroup astra-frontend
 * @brief One side's part in streams of messages to and from ranks with which it shares nothing.
 *
 * Where ranks share memory, a MessageMatcher knows both ends of a stream. Here a sender numbers its
 * messages, and a receiver takes them in the order of their numbers, whichever comes first; nobody
 * looks at what the other side keeps.
 */
class FarStreams
{
  public:
    /// A stream that this side sends.
    struct Outgoing
    {
        Outgoing* next{nullptr}; ///< for the pool
        FarStreamKey key;
        uint64_t sent{0};          ///< messages
        const void* note{nullptr}; ///< what its network keeps of it
    };

    /// A stream that this side receives.
    struct Incoming;

    FarStreams();
    ~FarStreams();

    /// @param hint the stream, if it is known @return the stream; made by its first message
    Outgoing& FindOutgoing(const FarStreamKey& key, Outgoing* hint);

    /**
     * Ask for @p bytes.
     * @param hint the stream, if it is known; becomes that
     * @return whether they are all there already; @p handler is not kept then
     */
    bool AddReceive(const FarStreamKey& key,
                    uint64_t bytes,
                    MessageHandler handler,
                    void* arg,
                    Incoming*& hint);

    /// A message that is there, or a part of it.
    struct Arrival
    {
        uint64_t number; ///< of the message in its stream
        uint64_t bytes;  ///< of the message
        TimePs sentPs;   ///< when it was sent
        uint32_t parts;  ///< of the message, each of which arrives
    };

    /// A message, or a part of it, is there. Runs the handlers of receives that are complete now.
    /// @return whether all of the message is there
    bool Arrive(const FarStreamKey& key, const Arrival& arrival);

    /// As Arrive(), of a stream whose messages come in order.
    void ArriveInOrder(const FarStreamKey& key, uint64_t bytes, TimePs sentPs);

    /// @return when the newest message of the receive was sent that is complete
    TimePs GetSentPs() const
    {
        return m_sentPs;
    }

    /// Within a handler that runs later than its receive was complete. @param sentPs GetSentPs()
    void SetSentPs(TimePs sentPs)
    {
        m_sentPs = sentPs;
    }

    /// Nothing more is sent in a stream; what is received of credits for it has come.
    void End(Outgoing& stream);
    /// Nothing more is received in a stream.
    void End(Incoming& stream);

    /// @return receives that wait, at most @p limit lines
    std::vector<std::string> DescribeWaits(std::size_t limit) const;

    /// @return streams that have not ended
    std::size_t GetStreamCount() const
    {
        return m_outgoing.size() + m_incoming.size();
    }

  private:
    struct KeyHash
    {
        std::size_t operator()(const FarStreamKey& key) const;
    };

    Incoming& FindIncoming(const FarStreamKey& key);
    void Complete(Incoming& stream);

    boost::unordered_flat_map<FarStreamKey, Outgoing*, KeyHash> m_outgoing;
    boost::unordered_flat_map<FarStreamKey, Incoming*, KeyHash> m_incoming;
    ObjectPool<Outgoing> m_outgoingPool;
    std::vector<std::unique_ptr<Incoming>> m_allIncoming;
    Incoming* m_freeIncoming{nullptr};
    TimePs m_sentPs{0};
};

} // namespace AstraSim

#endif /* FAR_STREAMS_H */
