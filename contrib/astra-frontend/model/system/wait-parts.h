/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WAIT_PARTS_H
#define WAIT_PARTS_H

#include "run-observers.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief RunObservers that receive each wait in two parts.
 *
 * First the time until all ranks that the waiting one depends on have reached the communication
 * (WaitReason::OtherRanks), then the rest (WaitReason::Collective). A wait is held until these
 * times are known, so this comes after the records of all parts of a job are merged.
 */
class WaitParts : public RunObservers
{
  public:
    void CollectiveEnded(const CollectiveRecord& record) override;
    void ComputeEnded(const ComputeRecord& record) override;
    void AwaitEnded(const AwaitRecord& record) override;
    void RankFinished(int rank, TimePs now) override;

    /// Pass on waits for collectives that never ended, with the ends known so far.
    void Finish();

    /// @return number of ended collectives that are kept for waits to come
    std::size_t GetRemembered() const
    {
        return m_ended.size();
    }

  private:
    /// A wait for collectives, one of which still runs at other ranks.
    struct Held
    {
        AwaitRecord record;
        std::string layer;
        std::vector<AwaitedCollective> left; ///< collectives still to be examined
        TimePs reached;                      ///< when all ranks had reached the examined ones
    };

    /// When ranks reached a collective that has ended.
    struct Ended
    {
        CollectiveOp op;
        TimePs lastJoin;
        TimePs rootJoin;
        TimePs end;
        const CommGroup* group; ///< borrowed
        uint32_t members;       ///< that are simulated

        /// @return when all ranks that a rank's part depends on had joined; 0 if it depends on none
        /// @param partEnd end of the rank's part
        TimePs ReachedFor(TimePs partEnd) const;
    };

    /// Looks at the collectives of @p wait, until one is found that still runs.
    void PassOnOrHold(Held wait);
    void PassOn(const Held& wait);
    void SawUntil(int rank, TimePs time);
    /// Forgets collectives that no wait can name any more: all ranks have passed on later waits.
    void Forget();

    std::map<uint64_t, std::vector<Held>> m_held; ///< by the key of a collective that runs
    std::unordered_map<uint64_t, Ended> m_ended;  ///< by key
    std::size_t m_forgetAt{1024};                 ///< the size of m_ended for the next Forget()
    std::unordered_map<int, TimePs> m_sawUntil;   ///< by rank: all its waits before this time have
                                                  ///< been told
};

} // namespace AstraSim

#endif /* WAIT_PARTS_H */
