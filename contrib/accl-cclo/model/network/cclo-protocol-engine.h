/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_PROTOCOL_ENGINE_H
#define CCLO_PROTOCOL_ENGINE_H

#include "cclo-header.h"

#include "ns3/cclo-constants.h"
#include "ns3/ipv4-address.h"
#include "ns3/object.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/// A peer as a communicator describes it.
struct CcloRank
{
    Ipv4Address ip{"0.0.0.0"};
    uint32_t port{0};
    uint32_t session{0};           ///< of the protocol engine
    uint32_t maxSegmentSize{1024}; ///< bytes per eager message; its rx buffers are as large
};

/// A message between engines; the data are empty in a model without contents.
struct CcloMessage
{
    CcloHeader header;
    CcloBytes data;
};

/**
 * @ingroup accl-cclo
 * @brief Between an engine and the network: sessions with other engines, and messages over them.
 *
 * One subclass per protocol. A session, in the words of ACCL's communicators, is a connection or a
 * queue pair. Messages of a session arrive in the order sent.
 */
class CcloProtocolEngine : public Object
{
  public:
    static TypeId GetTypeId();

    /// Calls to the engine.
    struct Listener
    {
        virtual ~Listener() = default;
        /// A message has arrived; it lasts until Consumed().
        virtual void OnMessage(uint32_t session, CcloMessage&& message) = 0;
        /// CanSend() or CanRetire() may answer otherwise now.
        virtual void OnRoom() = 0;
    };

    void SetListener(Listener* listener)
    {
        m_listener = listener;
    }

    /// Set whether messages hold bytes, or only their number.
    void SetContents(bool contents)
    {
        m_contents = contents;
    }

    /// Set the callback for the moment when the last session opens.
    void SetOpenedHandler(std::function<void()> handler)
    {
        m_opened = std::move(handler);
    }

    /**
     * Open sessions with all ranks but the local one; those that are open are used.
     * @return the ranks with the numbers of their sessions
     */
    virtual std::vector<CcloRank> Open(std::vector<CcloRank> ranks, uint32_t localRank)
    {
        return ranks;
    }

    /// Close all sessions.
    virtual void Close()
    {
    }

    /// @return whether all sessions asked for are open
    virtual bool IsOpen() const
    {
        return true;
    }

    /// @return lost messages and sessions that are not open yet, a line each
    virtual std::vector<std::string> DescribeWaits() const
    {
        return {};
    }

    /// @return the bits of ACCL's hardware identity that name the protocol
    virtual uint32_t GetStackType() const = 0;

    /// @return whether it can write to a peer's memory, which rendezvous needs
    virtual bool CanWrite() const = 0;

    /// @return whether a message may be given to the session now
    virtual bool CanSend(uint32_t session, const CcloHeader& header) const = 0;

    /// @return whether enough of the sent data has left to free the packetizer
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
    bool m_contents{true};
    std::function<void()> m_opened;
};

} // namespace ns3

#endif /* CCLO_PROTOCOL_ENGINE_H */
