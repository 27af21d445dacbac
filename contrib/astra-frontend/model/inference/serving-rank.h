/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_RANK_H
#define SERVING_RANK_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/workload.h"
#include "serving-instance.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace AstraSim
{

class ServingEngine;

/**
 * @ingroup astra-frontend
 * @brief One rank of an instance, or one that serves nothing: computes and communicates what its
 * instance's steps say.
 */
class ServingRank : public RankWorkload
{
  public:
    /**
     * @param engine borrowed
     * @param instance borrowed; null for a rank that serves nothing
     * @param place in the instance
     */
    ServingRank(ServingEngine& engine, ServingInstance* instance, uint32_t place, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

    /// Carry out this rank's part of @p step, which it is free for.
    void Begin(ServingStep& step);

    /// @p step will come from the stage before.
    void Expect(ServingStep& step);

    /// Nothing more will come.
    void Finish();

    Sys& GetSys()
    {
        return m_sys;
    }

  private:
    void Continue();
    void Communicate(const StepSegment& segment);
    void EndStage();
    static void ComputeEnded(void* rank);
    const std::vector<StepSegment>& GetProgram() const;
    WorkloadPosition PositionOf(const StepSegment& segment) const;

    ServingEngine& m_engine;
    ServingInstance* m_instance;
    uint32_t m_place;
    uint32_t m_stage{0};
    uint32_t m_replica{0};
    Sys& m_sys;
    ServingStep* m_step{nullptr};       ///< that it carries out
    std::deque<ServingStep*> m_arrived; ///< from the stage before, while it is busy
    std::size_t m_next{0};              ///< segment
    bool m_computed{false};             ///< of that segment
    TimePs m_since{0};
    bool m_finished{false};
};

} // namespace AstraSim

#endif /* SERVING_RANK_H */
