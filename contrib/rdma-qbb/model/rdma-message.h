/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_MESSAGE_H
#define RDMA_MESSAGE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * @brief Who is told how a message fares.
 *
 * The message keeps a pointer to it until OnSent() or OnForgotten(), one of which comes last.
 */
class RdmaMessageObserver
{
  public:
    /// The receiver has all of it.
    virtual void OnDelivered() = 0;

    /// Its last byte has been acknowledged.
    virtual void OnSent() = 0;

    /// Its connection has been closed before that.
    virtual void OnForgotten()
    {
    }

  protected:
    ~RdmaMessageObserver() = default;
};

/// A message posted to a queue pair: a range of its byte stream.
struct alignas(64) RdmaMessage
{
    RdmaMessage* next{nullptr};             ///< the message posted after it
    uint64_t endSeq{0};                     ///< offset after its last byte
    uint64_t bytes{0};                      ///< its size
    int64_t startPs{0};                     ///< when it was posted
    RdmaMessageObserver* observer{nullptr}; ///< told how it fares; may be null
};

/// Observers that call functions, used again and again.
class RdmaMessageFunctions
{
  public:
    RdmaMessageFunctions();
    ~RdmaMessageFunctions();

    /**
     * @param sent may be empty
     * @param delivered may be empty
     * @return an observer of one message, or null if both are empty
     */
    RdmaMessageObserver* Observe(std::function<void()> sent, std::function<void()> delivered);

  private:
    class Observer;

    std::vector<std::unique_ptr<Observer>> m_all;
    Observer* m_free{nullptr};
};

} // namespace ns3

#endif /* RDMA_MESSAGE_H */
