/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_PROTOCOL_ENGINE_H
#define CCLO_PROTOCOL_ENGINE_H

#include "cclo-header.h"

#include "ns3/cclo-constants.h"
#include "ns3/object.h"

#include <cstdint>
#include <functional>
#include <string>

namespace ns3
{

/// A message between engines; the data are empty in a model without contents.
struct CcloMessage
{
    CcloHeader header;
    CcloBytes data;
};

/**
 * @brief Between an engine and the network: sessions with other engines, and messages over them.
 *
 * One subclass per protocol. A session is what ACCL's communicators call so: a connection, or a
 * queue pair. Messages of a session arrive in the order sent.
 */
class CcloProtocolEngine : public Object
{
  public:
    static TypeId GetTypeId();

    /// What the engine is told.
    struct Listener
    {
        virtual ~Listener() = default;
        /// A message has arrived; it lasts until Consumed().
        virtual void OnMessage(uint32_t session, CcloMessage&& message) = 0;
        /// What CanSend() or CanRetire() answered may have changed.
        virtual void OnRoom() = 0;
    };

    void SetListener(Listener* listener)
    {
        m_listener = listener;
    }

    /// @return the bits of ACCL's hardware identity that name the protocol
    virtual uint32_t GetStackType() const = 0;

    /// @return whether it can write to a peer's memory, which rendezvous needs
    virtual bool CanWrite() const = 0;

    /// @return whether a message may be given to the session now
    virtual bool CanSend(uint32_t session, const CcloHeader& header) const = 0;

    /// @return whether so much of what was sent has left that the packetizer is free
    virtual bool IsDrained() const = 0;

    /**
     * Send a message.
     * @param spanPs how long its data take to come, at most: from now until its last byte is here
     */
    virtual void Send(uint32_t session, CcloMessage&& message, int64_t spanPs) = 0;

    /// The engine has put an eager message of the session where it belongs.
    virtual void OnConsumed(uint32_t session, const CcloHeader& header) = 0;

    /// @return why the session accepts no message, for people
    virtual std::string DescribeSession(uint32_t session) const = 0;

  protected:
    void DoDispose() override;

    Listener* m_listener{nullptr};
};

} // namespace ns3

#endif /* CCLO_PROTOCOL_ENGINE_H */
