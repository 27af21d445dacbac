/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-program.h"

#include "pipeline-schedule.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace AstraSim
{

// Compile() chooses the order of rows by the table's policy. Forward() and BackwardPass() write
// the steps of a range of rows: computation, collectives and waits. In a pipeline, the
// PipelineSchedule gives a stage its passes, each of one micro-batch through one chunk.
// CompilePasses() writes a pass as a receive, the chunk's rows (CarryOut) and a send. m_chunkRows
// has the rows of each chunk: one list for all micro-batches, or one for each if the table lists
// them (FindMicroBatches). Rows before the first micro-batch run once, first forward and last
// backward; those after the last (m_after) run once within the last micro-batch's last chunk.

namespace
{

using Kind = ProgramStep::Kind;

/// A half-open range of rows.
struct Rows
{
    uint32_t begin;
    uint32_t end;
};

/// A collective of a row that later computation does not wait for.
struct Beside
{
    uint32_t row;
    TrainingPhase phase;
    uint32_t until; ///< the row that does
};

/// Writes the steps of one stage; its methods go from the whole pass down to a layer's phase.
class ProgramCompiler
{
  public:
    ProgramCompiler(const LayerTable& table, uint32_t stages, uint32_t stage)
        : m_table(table),
          m_stages(stages),
          m_stage(stage)
    {
    }

    std::vector<ProgramStep> Compile()
    {
        const Rows all{0, static_cast<uint32_t>(m_table.layers.size())};
        if (m_table.inference)
        {
            CompileInference();
            return std::move(m_steps);
        }
        switch (m_table.policy)
        {
        case ParallelismPolicy::Micro:
            CompileMicro();
            break;
        case ParallelismPolicy::Data:
            CompileData(all);
            break;
        case ParallelismPolicy::Model:
        case ParallelismPolicy::HybridTransformer:
        case ParallelismPolicy::HybridDataModel:
        case ParallelismPolicy::HybridModelData:
            Forward(all);
            CompileOverlappedBackward(all);
            break;
        case ParallelismPolicy::Dlrm:
        case ParallelismPolicy::HybridDlrmEnhanced:
            CompileDlrm(all);
            break;
        case ParallelismPolicy::HybridTransformerFwdInBckwd: {
            const auto batches = FindMicroBatches(m_table);
            if (!m_table.stageRows.empty())
            {
                CompileStageRows();
            }
            else if (m_stages > 1 || !m_table.schedule.empty() ||
                     (batches.count > 1 && !batches.listed))
            {
                CompilePipeline(batches);
            }
            else
            {
                Forward(all);
                Backward(all, true);
            }
            break;
        }
        }
        return std::move(m_steps);
    }

  private:
    void CompileMicro()
    {
        for (uint32_t row = 0; row < m_table.layers.size(); ++row)
        {
            for (const auto phase : {TrainingPhase::Forward,
                                     TrainingPhase::InputGradient,
                                     TrainingPhase::WeightGradient})
            {
                Collective(row, phase, Kind::Collective, m_table.layers[row].repeat);
            }
        }
    }

    /// Forward passes only. The file lists all layers of the model; stages share them.
    void CompileInference()
    {
        RefuseBlockingPipelineCollectives();
        const auto total = static_cast<uint32_t>(m_table.layers.size());
        if (total < m_stages)
        {
            throw ns3::InputError(m_table.file,
                                  2,
                                  std::to_string(total) + " layers for " +
                                      std::to_string(m_stages) + " pipeline stages",
                                  "at least one layer for each stage");
        }
        const auto cut = [this, total](uint32_t stage) {
            return static_cast<uint32_t>(uint64_t{stage} * total / m_stages);
        };
        const Rows mine{cut(m_stage), cut(m_stage + 1)};
        CheckLength(mine.end - mine.begin);
        for (uint32_t i = 0; i < m_table.gradientAccumulation; ++i)
        {
            if (m_stage > 0)
            {
                Message(Kind::ReceiveActivation, mine.begin, i, m_stage - 1, m_stage - 1);
            }
            Forward(mine);
            if (m_stage + 1 < m_stages)
            {
                Message(Kind::SendActivation, mine.end - 1, i, m_stage, m_stage + 1);
            }
        }
    }

    void CompileData(Rows rows)
    {
        for (uint32_t row = rows.begin; row < rows.end; ++row)
        {
            Wait(row, TrainingPhase::WeightGradient);
            Compute(row, TrainingPhase::Forward);
        }
        for (uint32_t row = rows.end; row-- > rows.begin;)
        {
            Compute(row, TrainingPhase::WeightGradient);
            Collective(row, TrainingPhase::WeightGradient, Kind::IssueCollective);
            if (row > rows.begin)
            {
                Compute(row, TrainingPhase::InputGradient);
            }
        }
    }

    /// The input gradient's collective runs while the weight gradient is computed.
    void CompileOverlappedBackward(Rows rows)
    {
        for (uint32_t row = rows.end; row-- > rows.begin;)
        {
            Compute(row, TrainingPhase::InputGradient);
            Collective(row, TrainingPhase::InputGradient, Kind::IssueCollective);
            Compute(row, TrainingPhase::WeightGradient);
            Collective(row, TrainingPhase::WeightGradient, Kind::IssueCollective);
            Wait(row, TrainingPhase::InputGradient);
        }
    }

    /// Layer 0 is the embedding: its exchange runs beside the bottom network.
    void CompileDlrm(Rows rows)
    {
        const auto last = static_cast<uint32_t>(m_table.lastBottomLayer);
        for (uint32_t row = rows.begin; row < rows.end; ++row)
        {
            Wait(row, TrainingPhase::WeightGradient);
            if (row == 0)
            {
                Wait(row, TrainingPhase::InputGradient);
            }
            Compute(row, TrainingPhase::Forward);
            Collective(row,
                       TrainingPhase::Forward,
                       row == 0 ? Kind::IssueCollective : Kind::Collective);
            if (row == last)
            {
                Wait(0, TrainingPhase::Forward);
            }
        }
        for (uint32_t row = rows.end; row-- > rows.begin;)
        {
            if (row == 0)
            {
                Wait(0, TrainingPhase::InputGradient);
                Compute(row, TrainingPhase::InputGradient);
            }
            Compute(row, TrainingPhase::WeightGradient);
            Collective(row, TrainingPhase::WeightGradient, Kind::IssueCollective);
            if (row > 0)
            {
                Compute(row, TrainingPhase::InputGradient);
                Collective(row, TrainingPhase::InputGradient, Kind::Collective);
            }
            if (row == last + 1 || (row == last && last + 1 == rows.end))
            {
                Collective(0, TrainingPhase::InputGradient, Kind::IssueCollective);
            }
        }
    }

    /// @param waits for the collectives that the pass before has issued
    void Forward(Rows rows, bool waits = true)
    {
        for (uint32_t row = rows.begin; row < rows.end; ++row)
        {
            if (waits)
            {
                Wait(row, TrainingPhase::WeightGradient);
            }
            ComputeAndExchange(row, TrainingPhase::Forward);
        }
    }

    void Backward(Rows rows, bool lastMicroBatch)
    {
        BackwardPass(rows, true, true, lastMicroBatch);
    }

    /// @param input gradients of the rows' inputs @param weight gradients of their weights
    void BackwardPass(Rows rows, bool input, bool weight, bool lastMicroBatch)
    {
        for (uint32_t row = rows.end; row-- > rows.begin;)
        {
            if (input)
            {
                if (m_table.layers[row].initiates)
                {
                    Recompute(row, rows.begin);
                }
                ComputeAndExchange(row, TrainingPhase::InputGradient);
            }
            if (weight)
            {
                Compute(row, TrainingPhase::WeightGradient);
            }
            WaitUntil(row, TrainingPhase::InputGradient); // its own, beside its weight gradient
            if (weight && lastMicroBatch)
            {
                Collective(row, TrainingPhase::WeightGradient, Kind::IssueCollective);
            }
        }
    }

    void Recompute(uint32_t initiator, uint32_t begin)
    {
        uint32_t row = initiator;
        while (row > begin && !m_table.layers[row].checkpoint)
        {
            --row;
        }
        const uint32_t first = row;
        do
        {
            ComputeAndExchange(row, TrainingPhase::Forward);
            ++row;
        } while (row <= initiator && !m_table.layers[row].initiates);
        WaitForAllOf({first, row});
    }

    /// Rows of one list for all stages.
    void CompilePipeline(const MicroBatchRows& batches)
    {
        RefuseBlockingPipelineCollectives();
        if (!batches.listed)
        {
            CheckLength(batches.rows);
        }
        m_count = batches.count;
        m_chunks = std::min(m_stages > 1 ? m_table.virtualStages : 1, batches.rows);
        m_listed = batches.listed;
        const auto total = static_cast<uint32_t>(m_table.layers.size());
        const uint32_t bodyRows = m_listed ? batches.rows * m_count : batches.rows;
        const Rows before{0, batches.first};
        m_after = {batches.first + bodyRows, total};
        for (uint32_t list = 0; list < (m_listed ? m_count : 1); ++list)
        {
            const uint32_t base = batches.first + list * batches.rows;
            for (uint32_t chunk = 0; chunk < m_chunks; ++chunk)
            {
                const auto cut = [&](uint32_t place) {
                    return base + static_cast<uint32_t>(uint64_t{place} * batches.rows / m_chunks);
                };
                m_chunkRows.push_back({cut(chunk), cut(chunk + 1)});
            }
        }
        Forward(before);
        CompilePasses(ChooseSchedule());
        Backward(before, true);
    }

    /// Rows of this stage alone.
    void CompileStageRows()
    {
        RefuseBlockingPipelineCollectives();
        m_count = m_table.gradientAccumulation;
        m_chunks = m_table.virtualStages;
        const auto& schedule = ChooseSchedule();
        const uint32_t lists = m_chunks * schedule.GetDirections();
        const auto own = m_table.stageRows.begin() + m_stage * (1 + lists);
        uint32_t row = std::accumulate(m_table.stageRows.begin(), own, 0U);
        const Rows once{row, row + *own};
        row = once.end;
        for (uint32_t chunk = 0; chunk < lists; ++chunk)
        {
            m_chunkRows.push_back({row, row + own[1 + chunk]});
            row = m_chunkRows.back().end;
        }
        CheckLength(row - once.end);
        Forward(once);
        CompilePasses(schedule);
        if (m_table.tiedBytes > 0 && m_stages > 1 && (m_stage == 0 || m_stage + 1 == m_stages))
        {
            const uint32_t other = m_stages - 1 - m_stage;
            Message(Kind::SendTied, once.end, m_count, m_stage, other);
            Message(Kind::ReceiveTied, once.end, m_count, other, other);
        }
        m_steps.push_back({.kind = Kind::WaitGradients, .layer = once.end});
        Backward(once, true);
    }

    PipelineShape Shape() const
    {
        return {m_stages, m_count, m_chunks};
    }

    /// @return the table's schedule; without one, one forward and one backward, or all forwards
    ///         first if the micro-batches do not fill the interleaved order
    const PipelineSchedule& ChooseSchedule() const
    {
        if (m_table.schedule.empty())
        {
            const bool fits = PipelineSchedule::Find("1f1b").Lacks(Shape()).empty();
            return PipelineSchedule::Find(fits ? "1f1b" : "gpipe");
        }
        const auto& schedule = PipelineSchedule::Find(m_table.schedule);
        const std::string lacking = schedule.Lacks(Shape());
        if (!lacking.empty())
        {
            throw ns3::InputError(
                m_table.file,
                1,
                "schedule " + m_table.schedule + " with pp " + std::to_string(m_stages) + ", vpp " +
                    std::to_string(m_chunks) + " and ga " + std::to_string(m_count),
                lacking);
        }
        return schedule;
    }

    void CompilePasses(const PipelineSchedule& schedule)
    {
        const auto passes = schedule.Passes(Shape(), m_stage);
        for (auto first = passes.begin(); first != passes.end();)
        {
            // Messages of passes that overlap come before the first and leave after the last.
            const auto end = std::find_if(first + 1, passes.end(), [](const PipelinePass& pass) {
                return !pass.overlaps;
            });
            std::for_each(first, end, [this](const PipelinePass& pass) { ReceiveInput(pass); });
            std::for_each(first, end, [this](const PipelinePass& pass) { CarryOut(pass); });
            std::for_each(first, end, [this](const PipelinePass& pass) { SendResult(pass); });
            first = end;
        }
    }

    /// Refuse a program that is too long: a header can repeat rows for any number of micro-batches.
    /// @param rows that are repeated
    void CheckLength(uint32_t rows) const
    {
        constexpr uint64_t MOST = 10'000'000;
        const uint64_t all = uint64_t{m_table.gradientAccumulation} * rows;
        if (all > MOST)
        {
            throw ns3::InputError(m_table.file,
                                  1,
                                  "ga is " + std::to_string(m_table.gradientAccumulation) +
                                      ", with " + std::to_string(rows) +
                                      " layers in each micro-batch",
                                  "at most " + std::to_string(MOST / rows) + " micro-batches");
        }
    }

    /// Stages are at different rows at a time: one that waits for all would wait for ever.
    void RefuseBlockingPipelineCollectives() const
    {
        for (uint32_t row = 0; row < m_table.layers.size() && m_stages > 1; ++row)
        {
            for (const auto phase : {TrainingPhase::Forward, TrainingPhase::InputGradient})
            {
                const auto& collective = CollectiveOf(row, phase);
                if (collective.group == GroupKind::Pp && collective.op != CollectiveOp::None &&
                    collective.bytes > 0)
                {
                    throw ns3::InputError(m_table.file,
                                          m_table.layers[row].line,
                                          "layer " + m_table.layers[row].name +
                                              " waits for a collective of the PP group while the "
                                              "stages of the pipeline are at different layers",
                                          "pp_comm in the header for what goes from stage to "
                                          "stage, or the collective in the wg columns");
                }
            }
        }
    }

    Rows RowsOf(const PipelinePass& pass) const
    {
        return m_chunkRows[(m_listed ? pass.microBatch * m_chunks : 0) + pass.chunk];
    }

    void ReceiveInput(const PipelinePass& pass)
    {
        const bool forward = pass.kind == PipelinePass::Kind::Forward;
        const Rows rows = RowsOf(pass);
        if (pass.from)
        {
            Message(forward ? Kind::ReceiveActivation : Kind::ReceiveGradient,
                    forward ? rows.begin : rows.end - 1,
                    pass.microBatch,
                    forward ? pass.position - 1 : pass.position + 1,
                    *pass.from);
        }
    }

    void SendResult(const PipelinePass& pass)
    {
        const bool forward = pass.kind == PipelinePass::Kind::Forward;
        const Rows rows = RowsOf(pass);
        if (pass.to)
        {
            Message(forward ? Kind::SendActivation : Kind::SendGradient,
                    forward ? rows.end - 1 : rows.begin,
                    pass.microBatch,
                    pass.position,
                    *pass.to);
        }
    }

    void CarryOut(const PipelinePass& pass)
    {
        using PassKind = PipelinePass::Kind;
        const Rows rows = RowsOf(pass);
        const bool isLastUnit = pass.microBatch == m_count - 1 && pass.chunk == m_chunks - 1;
        if (pass.kind == PassKind::Forward)
        {
            // Later micro-batches do not wait for gradients of this pass that are under way.
            Forward(rows, !m_table.reducesEach || pass.microBatch == 0);
            WaitForAllOf(rows);
            if (isLastUnit)
            {
                Forward(m_after);
            }
            return;
        }
        const bool input = pass.kind != PassKind::WeightGradient;
        if (isLastUnit && input)
        {
            Backward(m_after, true);
        }
        BackwardPass(rows,
                     input,
                     pass.kind != PassKind::InputGradient,
                     m_listed || m_table.reducesEach || pass.isLast);
        WaitForAllOf(rows);
    }

    /// A row's computation and the collective after it, which may run beside later rows.
    void ComputeAndExchange(uint32_t row, TrainingPhase phase)
    {
        WaitUntil(row, phase);
        Compute(row, phase);
        const int32_t until = m_table.layers[row].until[static_cast<std::size_t>(phase)];
        Collective(row, phase, until < 0 ? Kind::Collective : Kind::IssueCollective);
        if (until >= 0)
        {
            m_beside.push_back({row, phase, static_cast<uint32_t>(until)});
        }
    }

    /// Wait for the collectives that must be over before @p row computes @p phase.
    void WaitUntil(uint32_t row, TrainingPhase phase)
    {
        WaitIf(
            [row, phase](const Beside& each) { return each.until == row && each.phase == phase; });
    }

    void WaitForAllOf(Rows rows)
    {
        WaitIf(
            [rows](const Beside& each) { return each.row >= rows.begin && each.row < rows.end; });
    }

    template <typename Condition>
    void WaitIf(Condition condition)
    {
        std::erase_if(m_beside, [&](const Beside& each) {
            const bool ends = condition(each);
            if (ends)
            {
                Wait(each.row, each.phase);
            }
            return ends;
        });
    }

    void Compute(uint32_t row, TrainingPhase phase)
    {
        ProgramStep step{.kind = Kind::Compute, .phase = phase, .layer = row};
        step.duration = m_table.layers[row].compute[static_cast<std::size_t>(phase)];
        step.endsPhase = CollectiveOf(row, phase).op == CollectiveOp::None;
        m_steps.push_back(step);
    }

    void Collective(uint32_t row, TrainingPhase phase, Kind kind, uint32_t times = 1)
    {
        if (CollectiveOf(row, phase).op != CollectiveOp::None)
        {
            m_steps.push_back(
                {.kind = kind, .phase = phase, .endsPhase = true, .layer = row, .times = times});
        }
    }

    void Wait(uint32_t row, TrainingPhase phase)
    {
        if (CollectiveOf(row, phase).op != CollectiveOp::None)
        {
            m_steps.push_back({.kind = Kind::WaitCollective, .phase = phase, .layer = row});
        }
    }

    void Message(Kind kind, uint32_t row, uint32_t microBatch, uint32_t virtualStage, uint32_t peer)
    {
        const bool forward = kind == Kind::SendActivation || kind == Kind::ReceiveActivation;
        m_steps.push_back({.kind = kind,
                           .phase = forward ? TrainingPhase::Forward : TrainingPhase::InputGradient,
                           .layer = std::min(row, static_cast<uint32_t>(m_table.layers.size()) - 1),
                           .microBatch = microBatch,
                           .virtualStage = virtualStage,
                           .peer = peer});
    }

    const LayerCollective& CollectiveOf(uint32_t row, TrainingPhase phase) const
    {
        return m_table.layers[row].comm[static_cast<std::size_t>(phase)];
    }

    const LayerTable& m_table;
    uint32_t m_stages;
    uint32_t m_stage;
    uint32_t m_chunks{1};          ///< virtual stages per stage
    uint32_t m_count{1};           ///< micro-batches
    bool m_listed{false};          ///< each has rows of its own
    std::vector<Rows> m_chunkRows; ///< by chunk, and by micro-batch before that if they are listed
    Rows m_after{0, 0};            ///< rows after the last micro-batch
    std::vector<Beside> m_beside;  ///< collectives that run beside computation here
    std::vector<ProgramStep> m_steps;
};

} // namespace

MicroBatchRows
FindMicroBatches(const LayerTable& table)
{
    const auto& layers = table.layers;
    const uint32_t count = table.gradientAccumulation;
    const MicroBatchRows unlisted{false, 0, static_cast<uint32_t>(layers.size()), count};
    std::map<std::string_view, uint32_t> occurrences;
    for (const auto& layer : layers)
    {
        ++occurrences[layer.name];
    }
    const auto start = std::ranges::find_if(layers, [&](const Layer& layer) {
        return occurrences[layer.name] == count;
    });
    if (count < 2 || start == layers.end())
    {
        return unlisted;
    }
    const auto next = std::find_if(start + 1, layers.end(), [&](const Layer& l) {
        return l.name == start->name;
    });
    const auto first = static_cast<std::size_t>(start - layers.begin());
    const auto rows = static_cast<std::size_t>(next - start);
    if (first + rows * count > layers.size())
    {
        return unlisted;
    }
    for (std::size_t row = first; row < first + rows * count; ++row)
    {
        if (layers[row].name != layers[first + (row - first) % rows].name)
        {
            return unlisted;
        }
    }
    return {true, static_cast<uint32_t>(first), static_cast<uint32_t>(rows), count};
}

std::vector<ProgramStep>
CompileProgram(const LayerTable& table, uint32_t stages, uint32_t stage)
{
    return ProgramCompiler(table, stages, stage).Compile();
}

} // namespace AstraSim
