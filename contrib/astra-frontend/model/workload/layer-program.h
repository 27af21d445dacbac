/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LAYER_PROGRAM_H
#define LAYER_PROGRAM_H

#include "astra-frontend/model/system/run-observer.h"
#include "layer-table.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/// One thing a rank does; the ranks of a pipeline stage share a list of them.
struct ProgramStep
{
    enum class Kind : uint8_t
    {
        Compute,           ///< for duration
        Collective,        ///< a blocking collective of the layer and phase
        IssueCollective,   ///< the same, not waited for
        WaitCollective,    ///< until the layer's collective of that phase is over
        SendActivation,    ///< to the next virtual stage
        ReceiveActivation, ///< from the previous virtual stage
        SendGradient,      ///< to the previous virtual stage
        ReceiveGradient,   ///< from the next virtual stage
        SendTied,          ///< the gradient of the weights that the first and last stage share
        ReceiveTied,       ///< the other's
        WaitGradients,     ///< until no issued collective is under way
    };

    Kind kind;
    TrainingPhase phase{TrainingPhase::Forward};
    bool endsPhase{false};    ///< the layer's work in this phase ends with this step
    uint32_t layer{0};        ///< row of the table
    uint32_t microBatch{0};   ///< of messages
    uint32_t virtualStage{0}; ///< of messages: position in the pipeline of the one that sends
    uint32_t times{1};        ///< how often it is done before the next
    uint32_t peer{0};         ///< of messages: the other stage
    TimePs duration{0};       ///< of Compute
};

/**
 * @brief The order in which a rank of one pipeline stage works through a layer table in one pass.
 *
 * Without a pipeline this is the policy's own order. With one (pp > 1) the rows are the share of
 * one stage: rows before the first micro-batch and after the last belong to the whole pass, and the
 * micro-batches run in the order of the table's PipelineSchedule (without one in the table: 1f1b,
 * which is interleaved when vpp > 1; all forwards first if pp does not divide ga then), each stage
 * waiting for its neighbours' messages, so that bubbles come out by themselves. With `stage_rows`
 * in the header, each stage has rows of its own, in the order of the stages: first those that run
 * once per pass, backward, when all weight gradients are there (the optimizer's step), then those
 * of each chunk. A table that lists its `ga` micro-batches one after the other (as AICB writes
 * them) is recognised by a row name that occurs `ga` times at equal distances; else every
 * micro-batch runs over all rows and the weight gradients' collectives wait for the last one.
 *
 * @param table the workload
 * @param stages pipeline stages
 * @param stage this one
 */
std::vector<ProgramStep> CompileProgram(const LayerTable& table, uint32_t stages, uint32_t stage);

/// Rows of a table's micro-batches.
struct MicroBatchRows
{
    bool listed{false}; ///< each micro-batch has rows of its own
    uint32_t first{0};  ///< first row of the first micro-batch
    uint32_t rows{0};   ///< rows of each
    uint32_t count{1};  ///< micro-batches
};

/// @return where @p table's micro-batches are
MicroBatchRows FindMicroBatches(const LayerTable& table);

} // namespace AstraSim

#endif /* LAYER_PROGRAM_H */
