/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_MESSAGE_H
#define RDMA_MESSAGE_H

#include "ns3/qbb-call.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ns3
{

/// Call at the receiver of a message, which shares nothing with its sender.
using RdmaDeliveryCall = QbbCallOf<64>;

/// A message as its receiver knows it.
struct RdmaExpectedMessage
{
    uint64_t endSeq;            ///< offset after its last byte
    uint64_t bytes;             ///< its size
    int64_t startPs;            ///< when it was posted, or began to wait for a path
    RdmaDeliveryCall delivered; ///< done when all of it is there
};

/**
 * @ingroup rdma-qbb
 * @brief A message posted to a queue pair: a range of its byte stream, with calls for its progress.
 *
 * It belongs to the sender; the receiver gets a copy of its facts (RdmaExpectedMessage). The poster
 * keeps it at its address until OnSent() or OnForgotten(), one of which comes last, and may post it
 * again from inside that call. A sender with more state for each message derives from it: the
 * object is often not in the cache, and the state is then fetched with it.
 */
class RdmaMessage
{
  public:
    RdmaMessage* next{nullptr}; ///< the message posted after it
    uint64_t endSeq{0};         ///< offset after its last byte
    uint64_t bytes{0};          ///< its size
    int64_t startPs{0};         ///< when it was posted, or began to wait for a path

    /// @return the call at the receiver when it has all of the message; asked for when the message
    /// is posted
    virtual RdmaDeliveryCall GetDeliveryCall()
    {
        return {};
    }

    /// Its last byte has been acknowledged.
    virtual void OnSent()
    {
    }

    /// Its connection has been closed before that.
    virtual void OnForgotten()
    {
    }
};

/// Messages that call functions, used again and again.
class RdmaMessageFunctions : public QbbAddressee
{
  public:
    RdmaMessageFunctions();
    ~RdmaMessageFunctions();

    /**
     * @param sent called at the last acknowledgement; may be empty
     * @param delivered called when the receiver has all of it; may be empty
     * @return a message to be posted once
     */
    RdmaMessage& Take(std::function<void()> sent, std::function<void()> delivered);

  private:
    class Message;

    std::vector<std::unique_ptr<Message>> m_all;
    Message* m_free{nullptr};
};

} // namespace ns3

#endif /* RDMA_MESSAGE_H */
