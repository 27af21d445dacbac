/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANALYTICAL_COLLECTIVES_H
#define ANALYTICAL_COLLECTIVES_H

#include "busbw-table.h"
#include "collectives/model/collective/rank-sample.h"
#include "idle-machine.h"
#include "overlap-ratios.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Collectives without messages: each takes the time that its bus bandwidth gives it, from
 * the moment its last rank begins.
 *
 * The bandwidth is the user's (busbw.yaml), which then is all there is to it; otherwise the time is
 * that of the collective's messages on an idle machine (IdleMachine). Ranks wait for
 * (1 - overlap ratio) of the time; the rest counts in records only. A latency that the user gives
 * (AS_SEND_LAT) counts once for a bandwidth of the user's; elsewhere it takes the place of NCCL's
 * latencies, before each of the messages that wait for each other.
 */
class AnalyticalCollectives : public CollectiveImplementation
{
  public:
    /**
     * @param nccl chooses algorithms; borrowed
     * @param busbw the user's bandwidths
     * @param overlap the part of the time for which ranks do not wait
     * @param network of the others
     */
    AnalyticalCollectives(const MockNcclGroup& nccl,
                          BusbwTable busbw,
                          const OverlapRatios& overlap,
                          IdleNetwork network = {});

    /// Tell which ranks are simulated; before the first Plan(). Without it: all.
    void SetSample(RankSample sample)
    {
        m_sample = std::move(sample);
    }

    /// @param group outlives the object, as plans are kept for it
    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    /**
     * @param[out] choice gets algorithm, protocol and channels; may be null
     * @return time of a whole collective, no overlap
     */
    TimePs GetTime(const CommGroup& group,
                   const CollectiveRequest& request,
                   CollectiveChoice* choice = nullptr) const;

  private:
    using Key = std::tuple<const CommGroup*, CollectiveOp, uint64_t, int, std::vector<uint64_t>>;

    const MockNcclGroup& m_nccl;
    IdleMachine m_machine;
    BusbwTable m_busbw;
    OverlapRatios m_overlap;
    RankSample m_sample;
    std::map<Key, std::shared_ptr<const CollectivePlan>> m_plans;
};

} // namespace AstraSim

#endif /* ANALYTICAL_COLLECTIVES_H */
