/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "layer-workload.h"

#include "layer-rank.h"

#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

LayerWorkload::LayerWorkload(LayerTable table,
                             const ParallelSizes& options,
                             uint32_t passes,
                             bool waits)
    : m_table(std::move(table)),
      m_options(options),
      m_passes(passes),
      m_waits(waits)
{
}

uint32_t
LayerWorkload::GetRankCount() const
{
    return m_table.sizes.world;
}

void
LayerWorkload::Bind(const std::vector<int>& ranks)
{
    const ParallelSizes sizes = GroupSizes(m_table, m_options, ranks);
    m_layout = std::make_unique<RankLayout>(sizes, ranks, m_table.file);
    m_groupsAreServers = sizes.gpusPerServer > 0;
    RefuseMicroLinesOfOneRank();
    const uint32_t stages = m_layout->GetStageCount();
    for (uint32_t stage = 0; stage < stages; ++stage)
    {
        m_programs.push_back(CompileProgram(m_table, stages, stage));
        if (m_waits)
        {
            // Held up only once its part of the pipeline is done, a rank delays no other stage.
            auto& program = m_programs.back();
            const auto step = std::find_if(program.begin(), program.end(), [](const auto& s) {
                return s.kind == ProgramStep::Kind::SendTied ||
                       s.kind == ProgramStep::Kind::WaitGradients;
            });
            std::stable_partition(program.begin(), step, [](const ProgramStep& s) {
                return s.kind != ProgramStep::Kind::IssueCollective ||
                       s.phase != TrainingPhase::WeightGradient;
            });
        }
    }
}

void
LayerWorkload::RefuseMicroLinesOfOneRank() const
{
    for (const Layer& layer : m_table.layers)
    {
        const LayerCollective& collective = layer.comm.front();
        if (!m_table.microLines || m_layout->GetSize(collective.group) > 1)
        {
            continue;
        }
        const auto size = [this](GroupKind kind) {
            return ToString(kind) + (" " + std::to_string(m_layout->GetSize(kind)));
        };
        throw ns3::InputError(m_table.file,
                              layer.line,
                              ToString(collective.group) +
                                  (" groups have one rank, with " + size(GroupKind::Tp) + ", ") +
                                  size(GroupKind::Dp) + ", " + size(GroupKind::Ep) + ", " +
                                  size(GroupKind::DpEp) + ", " + size(GroupKind::Pp),
                              "groups of two ranks or more (--tp, --ep and --pp set their sizes)");
    }
}

std::unique_ptr<RankWorkload>
LayerWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<LayerRank>(*this, rank, sys);
}

uint64_t
LayerWorkload::GetCollectiveCount() const
{
    using Kind = ProgramStep::Kind;
    uint64_t count = 0;
    for (const auto& program : m_programs)
    {
        uint64_t ofStage = 0; // times ranks per stage
        for (const auto& step : program)
        {
            const auto& collective =
                m_table.layers[step.layer].comm[static_cast<std::size_t>(step.phase)];
            if (step.kind == Kind::SendActivation || step.kind == Kind::SendGradient ||
                step.kind == Kind::SendTied)
            {
                ofStage += m_layout->GetRanksPerStage();
            }
            else if ((step.kind == Kind::Collective || step.kind == Kind::IssueCollective) &&
                     collective.bytes > 0 && m_layout->GetSize(collective.group) > 1)
            {
                ofStage += uint64_t{step.times} * (collective.thenAllToAll ? 2 : 1) *
                           m_layout->GetRanksPerStage() / m_layout->GetSize(collective.group);
            }
        }
        count += ofStage;
    }
    return count * m_passes;
}

uint32_t
LayerWorkload::GetPassCount() const
{
    return m_passes;
}

uint32_t
LayerWorkload::GetLayerCount() const
{
    return static_cast<uint32_t>(m_table.layers.size());
}

std::string_view
LayerWorkload::GetLayerName(uint32_t layer) const
{
    return m_table.layers[layer].name;
}

const std::string&
LayerWorkload::GetFileName() const
{
    return m_table.file;
}

} // namespace AstraSim
