/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_CREDITS_H
#define LINK_CREDITS_H

#include "link-answer-timer.h"

#include "ns3/qbb-frame.h"

#include <array>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Credit-based flow control at one end of a link (Ultra Ethernet 1.0, CBFC).
 *
 * The far end has a buffer for each priority of this kind. The sending half sends a frame of such a
 * priority only if that buffer has room for one of the longest frames. The receiving half tells
 * how many bytes have left its buffer so far, in an ordered set of 8 bytes whenever that changes.
 * Hosts empty their buffers at once, switches when a frame begins to leave.
 *
 * All counts are of bytes on the wire since the link came up, so an ordered set that is lost is
 * made up for by the next one. Where frames or ordered sets may be lost, a sender that waits asks
 * for the count, and says how much it has sent: the difference from what has arrived was lost.
 */
class LinkCredits
{
  public:
    static constexpr uint8_t PRIORITIES = 8;

    struct Settings
    {
        uint64_t bufferBytes{0};  ///< of each priority at the receiving end
        uint8_t priorities{0};    ///< bit p: priority p has credits
        uint32_t longestFrame{0}; ///< bytes on the wire
        bool mayLose{false};      ///< whether the wire loses frames or ordered sets
        bool isRetried{false};    ///< frames that are lost come again (LinkRetry)
    };

    /// Counts of one priority, of both halves.
    struct Counts
    {
        uint64_t sent{0};     ///< bytes that have entered the wire
        uint64_t returned{0}; ///< of these, bytes that are known to have left the far end's buffer
        uint64_t received{0}; ///< bytes that have arrived here, or were lost on the way
        uint64_t freed{0};    ///< of these, bytes that have left this end's buffer
    };

    LinkCredits(LinkPort& port, const Settings& settings);
    LinkCredits(const LinkCredits&) = delete;
    LinkCredits& operator=(const LinkCredits&) = delete;

    // --- the sending half
    /// A frame enters the wire.
    void OnSent(const QbbFrame& frame);
    /// The far end has freed so many bytes.
    void OnReturned(uint8_t priority, uint64_t bytes, int64_t nowPs);

    // --- the receiving half
    /// A frame has arrived, and is not one that has come before.
    void OnReceived(const QbbFrame& frame, int64_t nowPs);
    /// A frame leaves this end's buffer.
    void Return(uint8_t priority, uint32_t bytes, int64_t nowPs);
    /// The far end has sent so many bytes, and waits.
    void OnAsked(uint8_t priority, uint64_t sent, int64_t nowPs);

    // --- both
    /// The link goes down: what is on the wire is lost. @param peer the far end's
    void Restart(LinkCredits& peer);

    /// @return the counts of a priority
    const Counts& GetCounts(uint8_t priority) const
    {
        return m_counts[priority];
    }

    /// @return bytes of the far end's buffer for each priority
    uint64_t GetBufferBytes() const
    {
        return m_settings.bufferBytes;
    }

    /// @return bit p set: priority p waits for credit
    uint8_t GetShortMask() const
    {
        return m_short;
    }

    /// @return whether this end's buffer, with so many bytes of a priority, has room for a frame
    bool HasRoomBeside(uint64_t bytes) const
    {
        return bytes + m_settings.longestFrame <= m_settings.bufferBytes;
    }

    /// @return whether a priority has credits
    bool Has(uint8_t priority) const
    {
        return m_settings.priorities >> priority & 1;
    }

  private:
    bool Counted(const QbbFrame& frame) const;
    /// Hold a priority without credit back, or no longer.
    void Withhold(uint8_t priority);
    void Tell(uint8_t priority, int64_t nowPs);
    void Queue(LinkControlType type, uint8_t priority, uint64_t bytes);
    void OnTimer(int64_t nowPs);
    void Arm(int64_t nowPs);

    LinkPort& m_port;
    Settings m_settings;
    std::array<Counts, PRIORITIES> m_counts{};
    uint8_t m_short{0}; ///< bit p: priority p waits for credit
    LinkAnswerTimer m_timer;
};

} // namespace ns3

#endif /* LINK_CREDITS_H */
