/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_WAITS_H
#define RANK_WAITS_H

#include "run-observer.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace AstraSim
{

class Sys;

/**
 * @ingroup astra-frontend
 * @brief Finds which communication a rank waited for between two computations.
 *
 * A workload tells when its communication begins and ends, and which earlier communication each
 * begins after. When the rank goes on, this follows the chain back: the rank waited for the
 * communication that ended last of those that the next computation follows; before that one had
 * begun, for the last of those that it follows; and so on. Communication that ends meanwhile and
 * that nobody waits for does not count, so the waits are those of the job, however it is written.
 */
class RankWaits
{
  public:
    /// @param sys the rank; borrowed
    explicit RankWaits(Sys& sys);

    /// Communication @p id begins. @param after ids of communication that it follows; others are
    /// ignored
    void Begin(uint64_t id,
               const WorkloadPosition& position,
               GroupKind group,
               std::span<const uint64_t> after);

    /// The rank's part of a collective has ended. @param key nothing for a group of one rank
    void End(uint64_t id, CollectiveKey key);

    /// A message has arrived, or has been acknowledged. @param sent when it left
    void EndMessage(uint64_t id, TimePs sent);

    /// @return whether any communication has begun and not ended
    bool IsCommunicating() const
    {
        return !m_running.empty();
    }

    /// The rank can do nothing but wait from now on, if it does not wait already.
    void Idle();

    /**
     * The rank goes on: tells the observer of its waits.
     * @param after ids of communication that the rank waited for; if none of them ended while it
     * waited, all that did count
     * @param when not after now
     * @return @p when, or the later time at which the rank began to wait
     */
    TimePs GoOn(std::span<const uint64_t> after, TimePs when);

  private:
    struct Communication
    {
        WorkloadPosition position;
        GroupKind group;
        TimePs begin;
        std::vector<uint64_t> after; ///< of m_ended
        TimePs end{0};
        TimePs sent{0};
        CollectiveKey key{};
    };

    void End(uint64_t id, CollectiveKey key, TimePs sent);

    using Awaited = std::vector<const Communication*>;

    /// @return those of m_ended
    Awaited Find(std::span<const uint64_t> ids) const;
    /// @return communications that began and ended before @p time
    Awaited EndedUntil(TimePs time) const;
    /// Tell of the waits from m_since to @p end. @param after as of GoOn()
    void Tell(std::span<const uint64_t> after, TimePs end) const;
    void TellOne(TimePs start, TimePs end, const Communication& last, const Awaited& awaited) const;

    Sys& m_sys;
    bool m_isIdle{false};
    TimePs m_since{0};
    std::map<uint64_t, Communication> m_running;
    std::map<uint64_t, Communication> m_ended; ///< since m_since
};

} // namespace AstraSim

#endif /* RANK_WAITS_H */
