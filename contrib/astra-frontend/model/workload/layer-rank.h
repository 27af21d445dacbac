/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LAYER_RANK_H
#define LAYER_RANK_H

#include "astra-frontend/model/system/sys.h"
#include "astra-frontend/model/system/workload.h"
#include "layer-workload.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// One rank's way through the program of its pipeline stage.
class LayerRank : public RankWorkload
{
  public:
    /// @param workload borrowed @param rank of the job @param sys borrowed
    LayerRank(const LayerWorkload& workload, uint32_t rank, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

  private:
    /// What the rank does now.
    enum class State : uint8_t
    {
        Runs,
        Computes,
        WaitsForCollective, ///< of its own step
        WaitsForIssued,     ///< for one it issued before
        WaitsForMessage,
        Finished,
    };

    /// A collective that was not waited for.
    struct Issued
    {
        uint32_t layer;
        TrainingPhase phase;
        uint32_t pass;
    };

    void Run();
    /// @return whether the rank can go on at once
    bool Do(const ProgramStep& step);
    /// The step that the rank was at is done, once more.
    void EndStep();
    bool DoCollective(const ProgramStep& step, bool blocks);
    void Generate(const ProgramStep& step, CollectiveOp op, std::function<void()> done);
    void EndIssued(const Issued& issued);
    /// @param updateStart when its collective was over, and its update began
    void RemoveIssued(const Issued& issued, TimePs updateStart);
    bool WaitForIssued(uint32_t layer, TrainingPhase phase);
    bool WaitForAllIssued();
    bool DoReceive(const ProgramStep& step);
    void DoSend(const ProgramStep& step);
    bool EndPass();

    void Wait(State state, const WorkloadPosition& position, GroupKind group);
    void EndWait(WaitReason reason, TimePs from, TimePs to);
    void Resume();
    static void ComputeEnded(void* rank);

    WorkloadPosition PositionOf(const ProgramStep& step) const
    {
        return {step.layer, m_pass, step.phase};
    }

    const LayerCollective& CollectiveOf(uint32_t layer, TrainingPhase phase) const;
    int PeerOf(const ProgramStep& step) const;
    uint64_t MessageBytes(const ProgramStep& step) const;
    uint32_t MessageTag(const ProgramStep& step) const;

    const LayerWorkload& m_workload;
    const std::vector<ProgramStep>& m_program;
    Sys& m_sys;
    uint32_t m_rank; ///< of the job
    uint32_t m_pass{0};
    std::size_t m_next{0}; ///< step
    uint32_t m_done{0};    ///< how often that step has been done
    State m_state{State::Runs};
    WorkloadPosition m_waitPosition;
    GroupKind m_waitGroup{GroupKind::Tp};
    TimePs m_since{0};
    std::vector<Issued> m_issued;
};

} // namespace AstraSim

#endif /* LAYER_RANK_H */
