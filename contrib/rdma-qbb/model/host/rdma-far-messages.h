/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FAR_MESSAGES_H
#define RDMA_FAR_MESSAGES_H

#include "rdma-message.h"

#include "ns3/partition-memory.h"

#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

/// What a receiver that shares nothing with the sender is told of a message.
struct RdmaFarMessage
{
    uint64_t endSeq; ///< RdmaMessage::endSeq
    uint64_t bytes;
    int64_t startPs;
    RdmaDeliveryCall delivered; ///< done when all of it is there
};

/**
 * @ingroup rdma-qbb
 * @brief The messages that a host expects from hosts of other servers: its own record of each, used
 * again and again.
 */
class RdmaFarMessages
{
  public:
    RdmaFarMessages() = default;
    RdmaFarMessages(const RdmaFarMessages&) = delete;
    RdmaFarMessages& operator=(const RdmaFarMessages&) = delete;

    /// @return a message that is given back by what comes first, OnDelivered() or OnForgotten()
    RdmaMessage& Take(const RdmaFarMessage& told)
    {
        if (!m_free)
        {
            m_free = m_all.emplace_back(std::make_unique<Message>(*this)).get();
        }
        Message* message = std::exchange(m_free, static_cast<Message*>(m_free->next));
        message->endSeq = told.endSeq;
        message->bytes = told.bytes;
        message->startPs = told.startPs;
        message->delivered = told.delivered;
        return *message;
    }

  private:
    class Message final : public RdmaMessage, public PartitionState
    {
      public:
        explicit Message(RdmaFarMessages& owner)
            : m_owner(owner)
        {
        }

        void OnDelivered() override
        {
            const RdmaDeliveryCall call = delivered;
            OnForgotten();
            if (call)
            {
                call();
            }
        }

        void OnForgotten() override
        {
            next = std::exchange(m_owner.m_free, this);
        }

        RdmaDeliveryCall delivered;

      private:
        RdmaFarMessages& m_owner;
    };

    std::vector<std::unique_ptr<Message>> m_all;
    Message* m_free{nullptr};
};

} // namespace ns3

#endif /* RDMA_FAR_MESSAGES_H */
