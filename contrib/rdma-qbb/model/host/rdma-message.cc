/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-message.h"

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

    RdmaDeliveryCall GetDeliveryCall() override
    {
        return *m_delivered ? RdmaDeliveryCall(m_owner, CallFunction{m_delivered.get()})
                            : RdmaDeliveryCall();
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
        *m_delivered = nullptr;
        next = m_owner.m_free;
        m_owner.m_free = this;
    }

  private:
    friend class RdmaMessageFunctions;

    struct CallFunction
    {
        std::function<void()>* function;

        void operator()(RdmaMessageFunctions&) const
        {
            // Taken out first: it may close the connection.
            std::exchange(*function, nullptr)();
        }
    };

    RdmaMessageFunctions& m_owner;
    std::function<void()> m_sent;
    /// The receiver's, from when the message is posted until the sender knows that it is delivered.
    std::unique_ptr<std::function<void()>> m_delivered{std::make_unique<std::function<void()>>()};
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
    *message->m_delivered = std::move(delivered);
    return *message;
}

} // namespace ns3
