/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_RETRY_H
#define LINK_RETRY_H

#include "link-answer-timer.h"

#include "ns3/qbb-frame.h"

#include <cstdint>
#include <deque>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Link-level retry at one end of a link (Ultra Ethernet 1.0, LLR): go-back-N below the MAC.
 *
 * The sending half numbers frames and keeps a copy of each until the far end has it. The
 * receiving half takes frames in their order alone. It answers each with an acknowledgement, and a
 * corrupted one with one NACK; the far end then sends that frame and all later ones again. Both
 * answers are ordered sets of 8 bytes between frames, ahead of all else. A replay timer covers
 * answers that are lost themselves. The number takes the place of preamble bytes, so a frame is as
 * long as without.
 *
 * PFC frames and ordered sets have no number: they may be lost.
 *
 * While the replay buffer has no room for one more of the longest frames, the port sends nothing
 * new.
 */
class LinkRetry
{
  public:
    struct Settings
    {
        uint64_t bufferBytes{0};  ///< of the replay buffer; 0: what the cable holds, and the answer
        int64_t timeoutPs{0};     ///< replay timer; 0: twice the longest time until an answer
        uint32_t longestFrame{0}; ///< bytes on the wire
        bool mayLose{false};      ///< whether the wire in either direction loses frames
    };

    LinkRetry(LinkPort& port, const Settings& settings);
    ~LinkRetry();
    LinkRetry(const LinkRetry&) = delete;
    LinkRetry& operator=(const LinkRetry&) = delete;

    // --- the sending half
    /// A frame enters the wire. @param frame with its time of arrival
    void OnSent(QbbFrame& frame);
    /// An answer of the far end. @param count of the frames that it has, from the first one on
    void OnAnswer(uint64_t count, bool isNack, int64_t nowPs);

    /// @return whether frames on the wire have copies here
    bool KeepsCopies() const
    {
        return m_settings.mayLose;
    }

    /// @return bytes in the replay buffer
    uint64_t GetHeldBytes() const
    {
        return m_heldBytes;
    }

    // --- the receiving half
    /// A numbered frame arrives. @return whether it is the next one, unharmed
    bool Accepts(const QbbFrame& frame, int64_t nowPs);

    // --- both
    /// The port has another rate.
    void FitToRate();

    /// The link goes down: frames that the far end lacks are lost. Both begin anew.
    /// @param peer the far end's
    void Restart(LinkRetry& peer);

    /// @return whether frames of a kind have numbers
    static bool Numbers(const QbbFrame& frame)
    {
        return frame.kind != QbbFrameKind::Pfc && frame.kind != QbbFrameKind::LinkControl;
    }

  private:
    struct Record
    {
        QbbFrame* copy; ///< null where nothing is lost
        uint32_t wireBytes;
        int64_t arrivalPs;
    };

    void OnTimer(int64_t nowPs);
    /// Queue the frame at m_cursor for another transmission, ahead of all others.
    void QueueReplay();
    void ReplayFrom(uint64_t number, int64_t nowPs);
    void Forget(uint64_t count);
    /// Stop or allow new frames.
    void Withhold();
    void Answer(bool isNack, int64_t nowPs);
    void Send(LinkControlType answer, int64_t nowPs);
    QbbFrame* Copy(const QbbFrame& frame) const;

    /// Fewer frames than half of the numbers on the wire may wait for an answer.
    static constexpr std::size_t MAX_FRAMES = 32'000;

    LinkPort& m_port;
    const Settings m_given;
    Settings m_settings; ///< with values for those not given
    // sending half
    std::deque<Record> m_records; ///< numbers m_first to m_next
    uint64_t m_first{0};
    uint64_t m_next{0};
    uint64_t m_cursor{0}; ///< the next frame to send again; m_next: none
    uint64_t m_heldBytes{0};
    bool m_isFull{false};
    LinkAnswerTimer m_timer;
    // receiving half
    uint64_t m_expected{0};
    uint64_t m_newest{0}; ///< the last number seen since the NACK
    bool m_hasNacked{false};
};

} // namespace ns3

#endif /* LINK_RETRY_H */
