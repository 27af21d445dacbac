/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/others-files.h"
#include "astra-frontend/model/workload/layer-program.h"

#include "ns3/input-error.h"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace AstraSim;

namespace
{

using Kind = ProgramStep::Kind;

LayerTable
ReadProgram(const std::string& text)
{
    std::istringstream stream(text);
    return ReadLayerTable(stream, "w.txt");
}

/// @return @p count layers a0, a1, ... with a collective in the phases named
std::string
Layers(uint32_t count, bool fwd, bool ig, bool wg)
{
    const auto comm = [](bool present) {
        return std::string(present ? " ALLREDUCE 8 " : " NONE 0 ");
    };
    std::string text = std::to_string(count) + "\n";
    for (uint32_t i = 0; i < count; ++i)
    {
        text +=
            "a" + std::to_string(i) + " -1 1" + comm(fwd) + "1" + comm(ig) + "1" + comm(wg) + "1\n";
    }
    return text;
}

std::string
Header(uint32_t pp, uint32_t vpp, uint32_t ga, const std::string& checkpoints)
{
    return "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: " +
           std::to_string(pp) + " vpp: " + std::to_string(vpp) + " ga: " + std::to_string(ga) +
           " " + checkpoints + "\n";
}

/// @return one letter per step: F I W compute, f i w blocking, (fiw) issued, [fiw] waited for
std::string
Spell(const std::vector<ProgramStep>& program)
{
    std::string text;
    for (const auto& step : program)
    {
        const auto phase = static_cast<std::size_t>(step.phase);
        const std::string layer = std::to_string(step.layer);
        const std::string small(1, "fiw"[phase]);
        switch (step.kind)
        {
        case Kind::Compute:
            text += "FIW"[phase] + layer;
            break;
        case Kind::Collective:
            text += small + layer;
            break;
        case Kind::IssueCollective:
            text += "(" + small + layer + ")";
            break;
        case Kind::WaitCollective:
            text += "[" + small + layer + "]";
            break;
        case Kind::SendActivation:
            text += ">" + std::to_string(step.microBatch);
            break;
        case Kind::ReceiveActivation:
            text += "?" + std::to_string(step.microBatch);
            break;
        case Kind::SendGradient:
            text += "<" + std::to_string(step.microBatch);
            break;
        case Kind::ReceiveGradient:
            text += "!" + std::to_string(step.microBatch);
            break;
        case Kind::SendTied:
            text += "tied>";
            break;
        case Kind::ReceiveTied:
            text += "tied?";
            break;
        case Kind::WaitGradients:
            text += "[all]";
            break;
        }
        text += " ";
    }
    return text;
}

/// @return whether stages that follow their programs, each waiting for its messages, all end
bool
AllStagesEnd(const LayerTable& table, uint32_t stages)
{
    std::vector<std::vector<ProgramStep>> programs;
    for (uint32_t stage = 0; stage < stages; ++stage)
    {
        programs.push_back(CompileProgram(table, stages, stage));
    }
    std::vector<std::size_t> next(stages, 0);
    std::multiset<std::tuple<uint32_t, bool, uint32_t, uint32_t>> messages;
    for (bool progress = true; progress;)
    {
        progress = false;
        for (uint32_t stage = 0; stage < stages; ++stage)
        {
            while (next[stage] < programs[stage].size())
            {
                const auto& step = programs[stage][next[stage]];
                const bool forward = step.phase == TrainingPhase::Forward;
                if (step.kind == Kind::SendActivation || step.kind == Kind::SendGradient)
                {
                    messages.insert({step.peer, forward, step.microBatch, step.virtualStage});
                }
                if (step.kind == Kind::ReceiveActivation || step.kind == Kind::ReceiveGradient)
                {
                    const auto found =
                        messages.find({stage, forward, step.microBatch, step.virtualStage});
                    if (found == messages.end())
                    {
                        break;
                    }
                    messages.erase(found);
                }
                ++next[stage];
                progress = true;
            }
        }
    }
    for (uint32_t stage = 0; stage < stages; ++stage)
    {
        if (next[stage] < programs[stage].size())
        {
            return false;
        }
    }
    return messages.empty();
}

} // namespace

TEST(LayerProgram, TransformerForwardBlocksAndWeightsOverlap)
{
    const auto table = ReadProgram(Header(1, 1, 1, "") + Layers(2, true, true, true));
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)),
              "[w0] F0 f0 [w1] F1 f1 I1 i1 W1 (w1) I0 i0 W0 (w0) ");
}

TEST(LayerProgram, RecomputesFromTheCheckpoint)
{
    const auto table = ReadProgram(Header(1, 1, 1, "checkpoints: 1 0 checkpoint_initiates: 1 2") +
                                   Layers(3, true, false, false));
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)),
              "F0 f0 F1 f1 F2 f2 F0 f0 F1 f1 I2 W2 I1 W1 I0 W0 ");
}

TEST(LayerProgram, PoliciesDifferInWhatTheyWaitFor)
{
    const std::string layers = Layers(2, true, true, true);
    EXPECT_EQ(Spell(CompileProgram(ReadProgram("DATA\n" + Layers(2, false, false, true)), 1, 0)),
              "[w0] F0 [w1] F1 W1 (w1) I1 W0 (w0) ");
    EXPECT_EQ(Spell(CompileProgram(
                  ReadProgram("HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n" + layers),
                  1,
                  0)),
              "[w0] F0 f0 [w1] F1 f1 I1 (i1) W1 (w1) [i1] I0 (i0) W0 (w0) [i0] ");
    EXPECT_EQ(Spell(CompileProgram(ReadProgram("DLRM 0\n" + layers), 1, 0)),
              "[w0] [i0] F0 (f0) [f0] [w1] F1 f1 W1 (w1) I1 i1 (i0) [i0] I0 W0 (w0) ");
    EXPECT_EQ(Spell(CompileProgram(ReadProgram("MICRO\n" + layers), 1, 0)), "f0 i0 w0 f1 i1 w1 ");
    const auto micro =
        CompileProgram(ReadProgram("2000000000 ALLREDUCE 1 DP\n3 ALLTOALL 8 TP\n"), 1, 0);
    EXPECT_EQ(Spell(micro), "f0 f1 ");
    EXPECT_EQ(micro[0].times, 2'000'000'000u);
    EXPECT_EQ(micro[1].times, 3u);
}

TEST(LayerProgram, InferenceIsForwardPassesOnlyAndStagesShareTheLayers)
{
    const auto table = ReadProgram(Header(2, 1, 2, "mode: 1") + Layers(3, true, true, false));
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)), "F0 f0 F1 f1 F2 f2 F0 f0 F1 f1 F2 f2 ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 0)), "F0 f0 >0 F0 f0 >1 ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)), "?0 F1 f1 F2 f2 ?1 F1 f1 F2 f2 ");
    EXPECT_THROW(CompileProgram(table, 4, 0), ns3::InputError);
}

TEST(LayerProgram, PipelineRunsOneForwardOneBackward)
{
    const auto table = ReadProgram(Header(2, 1, 2, "") + Layers(1, false, false, true));
    EXPECT_EQ(Spell(CompileProgram(table, 2, 0)), "[w0] F0 >0 [w0] F0 >1 !0 I0 W0 !1 I0 W0 (w0) ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)), "?0 [w0] F0 I0 W0 <0 ?1 [w0] F0 I0 W0 (w0) <1 ");
}

TEST(LayerProgram, StagesHaveTheirRowsAndOneOptimizerStep)
{
    // Each stage: a row once per pass, and one of each micro-batch. The optimizer's step waits for
    // all gradients and for those of the weights that the first and the last stage share.
    const auto table = ReadProgram(Header(2, 1, 2, "stage_rows: 4 1 1 1 1 tied_comm: 8") +
                                   Layers(4, false, false, true));
    EXPECT_EQ(Spell(CompileProgram(table, 2, 0)),
              "[w0] F0 [w1] F1 >0 [w1] F1 >1 !0 I1 W1 !1 I1 W1 (w1) tied> tied? [all] I0 W0 (w0) ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)),
              "[w2] F2 ?0 [w3] F3 I3 W3 <0 ?1 [w3] F3 I3 W3 (w3) <1 tied> tied? [all] I2 W2 (w2) ");
}

TEST(LayerProgram, GradientsOfEachMicroBatchRunBesideTheNext)
{
    const auto table = ReadProgram(Header(1, 1, 2, "stage_rows: 2 0 1 reduce_each: 1") +
                                   Layers(1, false, false, true));
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)), "[w0] F0 I0 W0 (w0) F0 I0 W0 (w0) [all] ");
}

TEST(LayerProgram, CollectivesRunBesideComputationUntilTheRowThatNeedsThem)
{
    // Row 0 once per pass, then two of a micro-batch, of which row 1 is computed again.
    const auto table =
        ReadProgram(Header(1,
                           1,
                           2,
                           "stage_rows: 2 1 3 checkpoints: 1 1 checkpoint_initiates: 1 3 "
                           "forward_until: 4 0 2 1 2 input_until: 4 2 2 3 1") +
                    Layers(4, true, true, false));
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)),
              "F0 (f0) F1 (f1) [f0] [f1] F2 f2 F3 f3 F1 (f1) [f1] F2 f2 "
              "I3 (i3) W3 I2 (i2) W2 [i2] [i3] I1 i1 W1 "
              "F1 (f1) [f1] F2 f2 F3 f3 F1 (f1) [f1] F2 f2 "
              "I3 (i3) W3 I2 (i2) W2 [i2] [i3] I1 i1 W1 [all] I0 i0 W0 ");
}

TEST(LayerProgram, ChunksHaveTheRowsThatTheHeaderGivesThem)
{
    for (uint32_t stages = 2; stages <= 4; ++stages)
    {
        // Chunks of one and of two rows.
        std::string rows = "stage_rows: " + std::to_string(3 * stages);
        for (uint32_t stage = 0; stage < stages; ++stage)
        {
            rows += " 0 1 2";
        }
        const auto table =
            ReadProgram(Header(stages, 2, stages, rows) + Layers(3 * stages, false, false, true));
        EXPECT_TRUE(AllStagesEnd(table, stages));
        for (uint32_t stage = 0; stage < stages; ++stage)
        {
            std::map<uint32_t, uint32_t> computed;
            for (const auto& step : CompileProgram(table, stages, stage))
            {
                computed[step.layer] +=
                    step.kind == Kind::Compute && step.phase == TrainingPhase::Forward;
            }
            const std::map<uint32_t, uint32_t> expected = {{3 * stage, stages},
                                                           {3 * stage + 1, stages},
                                                           {3 * stage + 2, stages}};
            EXPECT_EQ(computed, expected);
        }
    }
}

TEST(LayerProgram, EveryPipelineEnds)
{
    for (uint32_t stages = 2; stages <= 5; ++stages)
    {
        for (uint32_t chunks = 1; chunks <= 3; ++chunks)
        {
            for (uint32_t batches = 1; batches <= 9; ++batches)
            {
                const auto table = ReadProgram(Header(stages, chunks, batches, "") +
                                               Layers(4, false, false, true));
                EXPECT_TRUE(AllStagesEnd(table, stages))
                    << stages << " stages, " << chunks << " chunks, " << batches << " batches";
            }
        }
    }
}

TEST(LayerProgram, WeightGradientsOfZeroBubbleWaitUntilNoStageNeedsTheirTime)
{
    const auto table =
        ReadProgram(Header(2, 1, 2, "schedule: zb1p") + Layers(1, false, false, true));
    EXPECT_EQ(Spell(CompileProgram(table, 2, 0)), "[w0] F0 >0 [w0] F0 >1 !0 I0 W0 !1 I0 W0 (w0) ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)), "?0 [w0] F0 I0 <0 ?1 [w0] F0 I0 <1 W0 W0 (w0) ");
}

TEST(LayerProgram, AStageOfDualPipeHasRowsOfBothEnds)
{
    // Two stages: each has a row of the first and one of the last place. Passes that overlap get
    // their messages before the first, and send theirs after the last.
    const auto table = ReadProgram(Header(2, 1, 4, "schedule: dualpipe stage_rows: 6 0 1 1 0 1 1") +
                                   Layers(4, false, false, true));
    EXPECT_EQ(Spell(CompileProgram(table, 2, 0)),
              "[w0] F0 >0 ?2 [w1] F1 [w0] F0 I1 W1 >1 <2 ?3 !0 [w1] F1 I0 W0 I1 W1 (w1) <3 !1 I0 "
              "W0 (w0) [all] ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)),
              "[w2] F2 >2 ?0 [w3] F3 [w2] F2 I3 W3 >3 <0 ?1 !2 [w3] F3 I2 W2 I3 W3 (w3) <1 !3 I2 "
              "W2 (w2) [all] ");
}

TEST(LayerProgram, RefusesAScheduleThatThePipelineIsTooSmallFor)
{
    const auto error = [](const std::string& header, uint32_t stages) -> std::string {
        try
        {
            CompileProgram(ReadProgram(header + Layers(2, false, false, true)), stages, 0);
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(error(Header(2, 1, 2, "schedule: gpipe"), 2), "");
    EXPECT_EQ(error(Header(1, 1, 2, "schedule: gpipe"), 1),
              "w.txt:1: schedule gpipe with pp 1, vpp 1 and ga 2; expected at least 2 stages");
    EXPECT_EQ(error(Header(2, 2, 3, "schedule: 1f1b"), 2),
              "w.txt:1: schedule 1f1b with pp 2, vpp 2 and ga 3; expected whole groups of PP "
              "micro-batches");
    EXPECT_EQ(error(Header(2, 2, 4, "schedule: zb1p"), 2),
              "w.txt:1: schedule zb1p with pp 2, vpp 2 and ga 4; expected one chunk (VPP 1)");
    EXPECT_EQ(error(Header(2, 1, 4, "schedule: dualpipe"), 2),
              "w.txt:1: schedule dualpipe is for rows of stages; expected stage_rows with the rows "
              "of each stage");
    EXPECT_EQ(error(Header(2, 1, 2, "schedule: gpipe mode: 1"), 2),
              "w.txt:1: schedule is for training of HYBRID_TRANSFORMER_FWD_IN_BCKWD; expected a "
              "header without it");
    EXPECT_EQ(error(Header(2, 1, 2, "schedule: chimera"), 2),
              "w.txt:1: schedule is 'chimera'; expected 1f1b, dualpipe, gpipe or zb1p");
}

TEST(LayerProgram, PipelineRefusesCollectivesThatWouldHoldItUp)
{
    const auto table = ReadProgram(
        Header(2, 1, 2, "") +
        "2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_PP 8 1\nb -1 1 SENDRECV_PP 8 1 NONE 0 1 NONE 0 1\n");
    EXPECT_EQ(CompileProgram(table, 1, 0).empty(), false);
    try
    {
        CompileProgram(table, 2, 0);
        FAIL();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_EQ(std::string(error.what()).substr(0, 17), "w.txt:4: layer b ");
    }
}

TEST(LayerProgram, FindsListedMicroBatches)
{
    const std::string layer = " -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
    const auto table = ReadProgram(Header(1, 1, 2, "") + "6\nfirst" + layer + "in" + layer + "out" +
                                   layer + "in" + layer + "out" + layer + "last" + layer);
    const auto batches = FindMicroBatches(table);
    EXPECT_TRUE(batches.listed);
    EXPECT_EQ(batches.first, 1);
    EXPECT_EQ(batches.rows, 2);
    EXPECT_EQ(batches.count, 2);
    // Without a pipeline they follow each other as listed, each row once.
    EXPECT_EQ(Spell(CompileProgram(table, 1, 0)),
              "F0 F1 F2 F3 F4 F5 I5 W5 I4 W4 I3 W3 I2 W2 I1 W1 I0 W0 ");
    EXPECT_EQ(Spell(CompileProgram(table, 2, 1)),
              "F0 ?0 F1 F2 I2 W2 I1 W1 <0 ?1 F3 F4 F5 I5 W5 I4 W4 I3 W3 <1 I0 W0 ");
}

TEST(LayerProgram, LargeWorkloadDoesEachThingOncePerPass)
{
    NEEDS_OTHERS_FILES();
    const auto table = ReadLayerTable(OthersFile("simai/workload_analytical.txt"));
    const auto batches = FindMicroBatches(table);
    EXPECT_TRUE(batches.listed);
    EXPECT_EQ(batches.count, 24);
    EXPECT_EQ(batches.rows, 74);
    EXPECT_TRUE(AllStagesEnd(table, 12));
    for (const uint32_t stage : {0U, 5U, 11U})
    {
        std::map<std::pair<uint32_t, TrainingPhase>, int> computed;
        std::map<std::pair<uint32_t, TrainingPhase>, int> communicated;
        std::set<uint32_t> forwardDone;
        for (const auto& step : CompileProgram(table, 12, stage))
        {
            const std::pair key{step.layer, step.phase};
            if (step.kind == Kind::Compute)
            {
                ++computed[key];
                EXPECT_EQ(step.phase != TrainingPhase::Forward, forwardDone.contains(step.layer));
                if (step.phase == TrainingPhase::Forward)
                {
                    forwardDone.insert(step.layer);
                }
            }
            if (step.kind == Kind::Collective || step.kind == Kind::IssueCollective)
            {
                ++communicated[key];
                EXPECT_EQ(computed[key], 1) << "a collective follows its compute";
            }
        }
        EXPECT_EQ(computed.size(), 3 * table.layers.size());
        std::size_t expected = 0;
        for (uint32_t layer = 0; layer < table.layers.size(); ++layer)
        {
            for (std::size_t phase = 0; phase < 3; ++phase)
            {
                const auto key = std::pair{layer, static_cast<TrainingPhase>(phase)};
                EXPECT_EQ(computed[key], 1);
                const bool present = table.layers[layer].comm[phase].op != CollectiveOp::None;
                EXPECT_EQ(communicated[key], present ? 1 : 0);
                expected += present;
            }
        }
        EXPECT_GT(expected, 1789);
    }
}
