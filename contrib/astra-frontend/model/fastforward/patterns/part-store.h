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
        TimePs spread{0}; ///< from the first end of the first operation to its last
        uint64_t uses{0};
    };

    /// Outcomes that follow each other and have one mean.
    struct Steady
    {
        std::size_t first; ///< those before it led there
        double error;      ///< standard error of their mean length, relative to it
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

    /// @return between which times a collective ends that is alone and of which the store has
    /// outcomes with that key, all of them complete; nothing if it has none
    std::optional<EndBounds> BoundEnds(const Digest& key, const std::vector<TimePs>& times) const;

    /// An outcome with that key contradicted the bounds: there are none from now on.
    void Distrust(const Digest& key);

    /// All outcomes with that key were asked for. @return how often that was, with this time, or 0
    /// if there is none
    uint64_t UseAll(const Digest& key);

    /// @return what the outcome with that key carried that is the oldest there is
    const ns3::CarriedTraffic& GetTraffic(const Digest& key) const;

    /// @return whether the lengths of some outcomes with that key differ by more than @p share of
    /// their mean, though nobody knows whether that is due to their times
    bool Varies(const Digest& key, double share) const;

    /// @return whether packets were marked or lost in an outcome with that key
    bool HasDraws(const Digest& key) const;

    /// @return whether there are too few outcomes with that key to know whether they vary
    bool AreFew(const Digest& key) const;

    /// The spreads of outcomes.
    struct Spreads
    {
        TimePs median{0};
        TimePs largest{0};
    };

    /// @return those of the outcomes with that key, 0 if there is none
    Spreads GetSpreads(const Digest& key) const;

    /**
     * For outcomes that follow from draws more than from times: congestion that marks at random
     * makes each another one. Each may depend on those before it. Up to half of them are taken for
     * the way into a steady state where their mean is another than that of the rest.
     *
     * @param fewest outcomes for each of 16 batches
     * @return the outcomes with that key that are steady. Nothing where they are too few to tell.
     */
    std::optional<Steady> FindSteady(const Digest& key, std::size_t fewest) const;

    /// @return of the outcomes with that key, from the @p first on, the first of those that were
    /// used least often, or null; valid until the next Put()
    Entry* Draw(const Digest& key, std::size_t first);

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

    static constexpr std::size_t FEW = 4; ///< outcomes that say nothing of how they vary

    static uint64_t BytesOf(const Entry& entry);

    /// What is kept under one key.
    struct Alike
    {
        std::vector<Entries::iterator> outcomes; ///< as they came
        bool isDistrusted{false};                ///< nothing follows from them for other times
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
