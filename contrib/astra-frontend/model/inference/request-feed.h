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
 * A request that follows none is sent when it arrives and, in a closed loop, a user is free. A turn
 * of a session is sent when the one before it has been answered and thought about. A user is busy
 * from the first turn of a session until the last one has been answered and thought about.
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

    /// Find the next one that follows none.
    void SkipTurns();

    std::vector<Sequence>& m_sequences;
    std::vector<uint32_t> m_following; ///< by sequence: the next turn, or UINT32_MAX
    std::vector<bool> m_follows;       ///< by sequence: whether it is one
    std::size_t m_next{0};             ///< of those that follow none
    bool m_isClosed;
    uint64_t m_free;                                  ///< users
    Earliest<TimePs> m_thinking;                      ///< when users will be free
    Earliest<std::pair<TimePs, std::size_t>> m_turns; ///< that have a time, and sequences
};

} // namespace AstraSim

#endif /* REQUEST_FEED_H */
