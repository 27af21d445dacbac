/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FAST_FORWARD_PART_H
#define FAST_FORWARD_PART_H

#include "fast-forward.h"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/// A collective or a message that ranks are about.
class FastForward::Operation
{
  public:
    PartOperation what;
    const OperationShape* known{nullptr};   ///< its shape; null if it is still to be worked out
    const DeferredShape* deferred{nullptr}; ///< then
    EndHandler ended;
    FastForward* owner{nullptr};
    Part* part{nullptr};        ///< whose pattern it belongs to
    uint64_t order{0};          ///< of its first start
    std::vector<TimePs> starts; ///< by rank; NO_TIME if not yet
    std::vector<TimePs> ends;   ///< as foreseen; NO_TIME if not yet known
    std::vector<bool> told;
    uint32_t begun{0};
    uint32_t over{0};
    uint32_t events{0};      ///< of its ends, in the event loop
    TimePs armed{INT64_MAX}; ///< time of the earliest
    bool holdsLinks{false};  ///< is under way, as seen by others
    bool isPast{false};      ///< its ends are settled, whatever comes of its part
    bool isUndecided{false}; ///< nobody knows yet whether it will run in place
    bool isGhost{false};     ///< runs in place although its ends are foreseen
    /// Carries it out in place; null if its ends are foreseen from its first start on.
    std::unique_ptr<PlainSimulation::Operation> inPlace;

    const OperationShape& Shape() const
    {
        return known ? *known : deferred->Get();
    }

    /// @return the same for operations of the same shape
    const Digest& RoughShape() const
    {
        return known ? known->digest : deferred->GetRough();
    }

    /// @return what names its shape, which may not have been worked out
    const void* NameOfShape() const
    {
        return known ? static_cast<const void*>(known) : deferred;
    }

    uint32_t CountRanks() const
    {
        return static_cast<uint32_t>(starts.size());
    }

    bool HasBegun() const
    {
        return begun == CountRanks();
    }

    bool IsOver() const
    {
        return over == CountRanks();
    }

    /// @return whether packets of it are under way in place, or may be
    bool IsRunning() const
    {
        return inPlace && inPlace->IsRunning();
    }

    /// @return what its ends follow: the last start where it needs all ranks, else the first
    TimePs Anchor() const
    {
        const bool last = NeedsAllRanks(what);
        TimePs anchor = last ? 0 : INT64_MAX;
        for (const TimePs start : starts)
        {
            if (start != NO_TIME)
            {
                anchor = last ? std::max(anchor, start) : std::min(anchor, start);
            }
        }
        return anchor;
    }
};

/// Operations that share links while they are under way.
struct FastForward::Part
{
    FastForward* owner{nullptr};
    std::list<Part>::iterator self;
    std::vector<std::unique_ptr<Operation>> operations; ///< in the order of their first starts
    /// The same, in an order that parts of the same kind share whichever of their operations begins
    /// first.
    std::vector<Operation*> byLikeness;
    uint32_t underWay{0};   ///< of them
    uint32_t events{0};     ///< evaluations in the event loop
    uint32_t starts{0};     ///< of all ranks, ever
    uint32_t startsSeen{0}; ///< when the next evaluation was planned
    TimePs lastStart{0};
    TimePs changed{NO_TIME}; ///< when the first began that the last evaluation did not know
    TimePs nextEvaluation{INT64_MAX};
    bool isMerged{false};        ///< its operations belong to another
    bool isInPlace{false};       ///< its operations run in place, which tells their ends
    bool wasSimulated{false};    ///< what its ends are from was simulated for it
    uint64_t simulatedWork{0};   ///< for it, all times together
    ns3::CarriedTraffic traffic; ///< as of the last evaluation
    /// What came of it in place, and is to be kept as soon as something else may repeat it.
    std::optional<PartOutcome> toKeep;

    TimePs Begin() const
    {
        TimePs begin = INT64_MAX;
        for (const auto& operation : operations)
        {
            for (const TimePs start : operation->starts)
            {
                begin = start == NO_TIME ? begin : std::min(begin, start);
            }
        }
        return begin;
    }
};

} // namespace AstraSim

#endif /* FAST_FORWARD_PART_H */
