/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REQUEST_FEED_H
#define REQUEST_FEED_H

#include "ns3/sequence.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The users of a run: decides when each request is sent.
 *
 * A single request, or the first turn of a session, is sent when it arrives; in a closed loop it
 * waits until a user is free. A later turn is sent when its user has got the answer to the one
 * before it and has thought. A user is busy from the first turn until the thought after the last.
 *
 * @code
 * RequestFeed feed(sequences, 16);
 * while (Sequence* sequence = feed.Send(now)) { ... }
 * feed.Ended(*sequence, now);
 * @endcode
 */
class RequestFeed
{
  public:
    /// @param sequences by arrival; borrowed @param users of a closed loop; UINT64_MAX: open
    RequestFeed(std::vector<Sequence>& sequences, uint64_t users);

    /// @return when the next request may be sent, perhaps in the past; nothing if another has to
    /// end before, or none is left
    std::optional<TimePs> GetNext() const;

    /// @return a request that is sent at @p now, with its time of arrival; null if there is none
    Sequence* Send(TimePs now);

    /// @p sequence has its last token.
    void Ended(const Sequence& sequence, TimePs now);

  private:
    template <typename T>
    using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

    /// Move m_next on to a single request or the first turn of a session.
    void SkipTurns();

    std::vector<Sequence>& m_sequences;
    std::vector<uint32_t> m_following; ///< by sequence: the next turn, or UINT32_MAX
    std::vector<bool> m_follows;       ///< by sequence: whether it is a turn after the first
    std::size_t m_next{0};             ///< single request or first turn to send
    bool m_isClosed;
    uint64_t m_free;                                  ///< users who are free
    Earliest<TimePs> m_thinking;                      ///< when users who think will be free
    Earliest<std::pair<TimePs, std::size_t>> m_turns; ///< to be sent: time and sequence
};

} // namespace AstraSim

#endif /* REQUEST_FEED_H */
