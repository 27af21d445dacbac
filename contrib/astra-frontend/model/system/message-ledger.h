/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_LEDGER_H
#define MESSAGE_LEDGER_H

#include "run-observer.h"
#include "workload.h"

#include <boost/functional/hash.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The point-to-point messages of a job that are under way: both ends of each put together.
 *
 * Messages of one source, destination and tag arrive in the order in which they left.
 */
class MessageLedger
{
  public:
    /// A message leaves. @param id its number among collectives and messages
    void Send(uint64_t id, const MessageEndRecord& left);

    /**
     * The oldest message of its source, destination and tag has arrived: tell the observer of it.
     * @param workload names the layers
     * @return when it was sent; nothing if none was
     * @throw ns3::InputError if the sent message has another size
     */
    std::optional<TimePs> Receive(const MessageEndRecord& came,
                                  const Workload& workload,
                                  RunObserver& observer);

    /// @return a line for each message that was sent and not received
    std::vector<std::string> Describe() const;

  private:
    struct Key
    {
        int src;
        int dst;
        int tag;
        bool operator==(const Key&) const = default;
    };

    struct KeyHash
    {
        std::size_t operator()(const Key& key) const
        {
            std::size_t hash = 0;
            boost::hash_combine(hash, key.src);
            boost::hash_combine(hash, key.dst);
            boost::hash_combine(hash, key.tag);
            return hash;
        }
    };

    struct Message
    {
        uint64_t id;
        MessageEndRecord left;
    };

    std::unordered_multimap<Key, Message, KeyHash> m_messages;
};

} // namespace AstraSim

#endif /* MESSAGE_LEDGER_H */
