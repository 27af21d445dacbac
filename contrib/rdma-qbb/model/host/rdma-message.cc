/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-message.h"

#include "ns3/abort.h"
#include "ns3/qbb-processes.h"

#include <utility>

namespace ns3
{

class RdmaMessageFunctions::Message final : public RdmaMessage
{
  public:
    explicit Message(RdmaMessageFunctions& owner)
        : m_owner(owner)
    {
    }

    void OnDelivered() override
    {
        // Taken out first: it may close the connection.
        if (const auto delivered = std::exchange(m_delivered, nullptr))
        {
            delivered();
        }
    }

    RdmaDeliveryCall GetDeliveryCall() const override
    {
        if (!m_delivered)
        {
            return {};
        }
        NS_ABORT_MSG_IF(QbbProcesses::Get(), "another process cannot call a function of this one");
        return {m_owner, DeliverFunction{this}};
    }

    void OnSent() override
    {
        const auto sent = std::exchange(m_sent, nullptr);
        OnForgotten();
        if (sent)
        {
            sent();
        }
    }

    void OnForgotten() override
    {
        m_sent = nullptr;
        m_delivered = nullptr;
        next = m_owner.m_free;
        m_owner.m_free = this;
    }

  private:
    friend class RdmaMessageFunctions;

    /// The message is kept until the sender knows that it has been delivered.
    struct DeliverFunction
    {
        const Message* message;

        void operator()(RdmaMessageFunctions&) const
        {
            const_cast<Message*>(message)->OnDelivered();
        }
    };

    RdmaMessageFunctions& m_owner;
    std::function<void()> m_sent;
    std::function<void()> m_delivered;
};

RdmaMessageFunctions::RdmaMessageFunctions() = default;

RdmaMessageFunctions::~RdmaMessageFunctions() = default;

RdmaMessage&
RdmaMessageFunctions::Take(std::function<void()> sent, std::function<void()> delivered)
{
    if (!m_free)
    {
        m_free = m_all.emplace_back(std::make_unique<Message>(*this)).get();
    }
    Message* message = std::exchange(m_free, static_cast<Message*>(m_free->next));
    message->m_sent = std::move(sent);
    message->m_delivered = std::move(delivered);
    return *message;
}

} // namespace ns3
