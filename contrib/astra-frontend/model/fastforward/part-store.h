/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PART_STORE_H
#define PART_STORE_H

#include "digest.h"
#include "part-pattern.h"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief What came of the patterns that were simulated, in a bounded memory: what was not asked for
 * longest goes first.
 */
class PartStore
{
  public:
    /// An outcome with how often it was asked for.
    struct Entry
    {
        Digest key;
        std::vector<TimePs> times; ///< of the pattern
        PartOutcome outcome;
        TimePs length{0}; ///< until the last end
        uint64_t uses{0};
    };

    /// @param limit bytes
    explicit PartStore(uint64_t limit)
        : m_limit(limit)
    {
    }

    /**
     * @param key of the pattern without its times
     * @param times of the pattern; as many in all patterns of one key
     * @param tolerance the most by which one of them may be off
     * @return the outcome of the pattern with that key whose times are nearest, or null; valid
     * until the next Put()
     */
    Entry* Find(const Digest& key, const std::vector<TimePs>& times, TimePs tolerance);

    /// @return whether the lengths of some outcomes with that key differ by more than @p share of
    /// their mean, though nobody knows whether that is due to their times
    bool Varies(const Digest& key, double share) const;

    /**
     * For outcomes that follow from draws more than from times: congestion that marks at random
     * makes each another one.
     *
     * @return the standard error of the mean length of the outcomes with that key, relative to it;
     * each may depend on those before it. Nothing where they are too few to tell.
     */
    std::optional<double> MeanError(const Digest& key) const;

    /// @return of the outcomes with that key the first of those that were used least often, or
    /// null; valid until the next Put()
    Entry* Draw(const Digest& key);

    /// Keep an outcome. @return where it is kept; valid until the next Put()
    Entry* Put(const Digest& key, std::vector<TimePs> times, PartOutcome outcome);

    uint64_t GetBytes() const
    {
        return m_bytes;
    }

    std::size_t GetSize() const
    {
        return m_entries.size();
    }

    /// @return how many outcomes had to go
    uint64_t GetForgotten() const
    {
        return m_forgotten;
    }

  private:
    using Entries = std::list<Entry>;

    static uint64_t BytesOf(const Entry& entry);
    void ForgetLast();

    uint64_t m_limit;
    uint64_t m_bytes{0};
    uint64_t m_forgotten{0};
    Entries m_entries; ///< the one asked for last comes first
    std::unordered_map<Digest, std::vector<Entries::iterator>, Digest::Hash> m_places;
};

} // namespace AstraSim

#endif /* PART_STORE_H */
