/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STAGE_IN_STEP_H
#define STAGE_IN_STEP_H

#include "astra-frontend/model/system/run-observer.h"
#include "step-cost.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace AstraSim
{

class ServingInstance;
struct ServingStep;

/**
 * @ingroup astra-frontend
 * @brief Computes the end of a step for all ranks of a stage at once, as one event.
 *
 * The ranks of a group of tensor parallelism compute the same, and begin and end their collectives
 * together. The end of a step is the sum of its computations and collectives if all ranks of the
 * stage begin it at one time, nothing else uses their links, and the network knows the times of the
 * collectives beforehand (--fast-forward). Otherwise each rank goes through its segments by itself.
 */
class StageInStep
{
  public:
    /// @param instance borrowed
    StageInStep(ServingInstance& instance, uint32_t stage);

    /// A rank of the stage has begun the first computation of @p step. At the last rank, the stage
    /// takes the step over from all of them, if it can.
    void RankBegan(ServingStep& step);

  private:
    /// A collective that steps repeat.
    struct Known
    {
        std::shared_ptr<const CollectivePlan> plan;
        std::optional<TimePs> duration; ///< nothing: ranks have to carry it out
    };

    /// Row, whether it returns tokens, bytes; the number of tokens of an AllToAll, else 0.
    using Key = std::tuple<uint32_t, bool, uint64_t, uint64_t>;

    /// Segments of a step with the same collective; their computations are added up.
    struct Part
    {
        const StepSegment* first;
        const Known* collective; ///< null: none
        uint32_t layer;          ///< name of the segments
        TimePs compute{0};
        uint32_t count{0};
        TimePs end{0};
    };

    /// The end of a layer after which caches may leave, or of the step.
    struct Mark
    {
        TimePs time;
        uint32_t layer; ///< UINT32_MAX: the step
    };

    const std::vector<StepSegment>& ProgramOf(const ServingStep& step) const;
    bool MayBegin(const ServingStep& step) const;
    const Known& Find(const ServingStep& step, const StepSegment& segment);
    Part& PartOf(const ServingStep& step, const StepSegment& segment);
    /// Add up the times of @p step. @return whether they are known
    bool AddUp(const ServingStep& step);
    void ScheduleNext();
    void OnMark();
    void Tell() const;

    ServingInstance& m_instance;
    uint32_t m_stage;
    std::map<Key, Known> m_known; ///< parts point into it

    // ranks that begin
    const ServingStep* m_beginning{nullptr};
    TimePs m_since{0};
    uint32_t m_begun{0};

    // the step that is under way
    ServingStep* m_step{nullptr};
    std::vector<Part> m_parts;
    std::vector<Mark> m_marks;
    std::size_t m_nextMark{0};
};

} // namespace AstraSim

#endif /* STAGE_IN_STEP_H */
