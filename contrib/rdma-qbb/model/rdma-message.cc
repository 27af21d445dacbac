/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-message.h"

#include <utility>

namespace ns3
{

class RdmaMessageFunctions::Observer final : public RdmaMessageObserver
{
  public:
    explicit Observer(RdmaMessageFunctions& owner)
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
        m_next = m_owner.m_free;
        m_owner.m_free = this;
    }

  private:
    friend class RdmaMessageFunctions;

    RdmaMessageFunctions& m_owner;
    Observer* m_next{nullptr};
    std::function<void()> m_sent;
    std::function<void()> m_delivered;
};

RdmaMessageFunctions::RdmaMessageFunctions() = default;

RdmaMessageFunctions::~RdmaMessageFunctions() = default;

RdmaMessageObserver*
RdmaMessageFunctions::Observe(std::function<void()> sent, std::function<void()> delivered)
{
    if (!sent && !delivered)
    {
        return nullptr;
    }
    if (!m_free)
    {
        m_free = m_all.emplace_back(std::make_unique<Observer>(*this)).get();
    }
    Observer* observer = std::exchange(m_free, m_free->m_next);
    observer->m_sent = std::move(sent);
    observer->m_delivered = std::move(delivered);
    return observer;
}

} // namespace ns3
