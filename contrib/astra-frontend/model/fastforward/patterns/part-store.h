/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PART_STORE_H
#define PART_STORE_H

#include "digest.h"
#include "end-bounds.h"
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
 * @brief Outcomes of patterns in a bounded memory. The least recently used go first.
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
     * @return the outcome of the pattern with that key and the nearest times, or null; valid until
     * the next Put()
     */
    Entry* Find(const Digest& key, const std::vector<TimePs>& times, TimePs tolerance);

    /// @return bounds of the ends of a collective that is alone, from the outcomes with that key,
    /// all of them complete; nothing if there is none
    std::optional<EndBounds> BoundEnds(const Digest& key, const std::vector<TimePs>& times) const;

    /// Give no bounds for that key from now on: an outcome has contradicted them.
    void Distrust(const Digest& key);

    /// Count a use of all outcomes with that key. @return how many there have been; 0 if there is
    /// no outcome
    uint64_t UseAll(const Digest& key);

    /// @return the traffic of the oldest outcome with that key
    const ns3::CarriedTraffic& GetTraffic(const Digest& key) const;

    /// @return whether packets were marked or lost in an outcome with that key
    bool HasDraws(const Digest& key) const;

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

    /// The outcomes with one key.
    struct Alike
    {
        std::vector<Entries::iterator> outcomes; ///< as they came
        bool isDistrusted{false};                ///< no bounds follow from them
        uint64_t uses{0};                        ///< of all together
    };

    const std::vector<Entries::iterator>& OutcomesOf(const Digest& key) const;
    void ForgetLast();

    uint64_t m_limit;
    uint64_t m_bytes{0};
    uint64_t m_forgotten{0};
    Entries m_entries; ///< the one asked for last comes first
    std::unordered_map<Digest, Alike, Digest::Hash> m_places;
};

} // namespace AstraSim

#endif /* PART_STORE_H */
