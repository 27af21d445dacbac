/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WAIT_PARTS_H
#define WAIT_PARTS_H

#include "run-observers.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief RunObservers that hear of a wait for a collective in two parts.
 *
 * Until the ranks that the waiting one depends on had begun the collective
 * (WaitReason::OtherRanks), and from then on (WaitReason::Collective). A wait is held until all
 * starts are known, so this stands where the records of all parts of a job have come together.
 */
class WaitParts : public RunObservers
{
  public:
    void CollectiveEnded(const CollectiveRecord& record) override;
    void WaitEnded(const WaitRecord& record) override;

    /// Pass on waits for collectives that never ended, as they are.
    void Finish();

  private:
    /// A wait for a collective that still runs.
    struct HeldWait
    {
        WaitRecord record;
        std::string layer;
    };

    /// When the ranks of a collective began it.
    struct Starts
    {
        CollectiveOp op;
        TimePs last;
        TimePs root;

        /// @return when the last rank that the waiting one depends on had begun; its own start if
        /// it depended on none that was later
        TimePs AwaitedBy(const WaitRecord& wait) const;
    };

    void PassOnParts(const WaitRecord& record, const Starts& starts);

    std::map<uint64_t, std::vector<HeldWait>> m_held; ///< by the collective's key
    std::map<uint64_t, Starts> m_ended; ///< at m_endedAt, for waits that are told of after that
    TimePs m_endedAt{0};
};

} // namespace AstraSim

#endif /* WAIT_PARTS_H */
