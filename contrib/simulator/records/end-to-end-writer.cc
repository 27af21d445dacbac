/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "end-to-end-writer.h"

#include "ns3/csv-cell.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr std::size_t FORWARD = static_cast<std::size_t>(TrainingPhase::Forward);
constexpr std::size_t INPUT = static_cast<std::size_t>(TrainingPhase::InputGradient);
constexpr std::size_t WEIGHT = static_cast<std::size_t>(TrainingPhase::WeightGradient);

using ns3::TimeSum;

double
Microseconds(const TimeSum& time)
{
    return time.ToPs() / 1e6;
}

/// @return "time,algbw,busbw", empty cells where there is no communication
std::string
Bandwidths(const TimeSum& total, double bytes, double busBytes)
{
    if (total == TimeSum())
    {
        return ",,";
    }
    const double nanoseconds = total.ToPs() / 1000;
    return fmt::format("{:.6f},{:.6f},{:.6f}",
                       Microseconds(total),
                       bytes / nanoseconds,
                       busBytes / nanoseconds);
}

} // namespace

EndToEndWriter::EndToEndWriter(std::string path,
                               const std::string& runName,
                               std::vector<std::string> layerNames,
                               uint32_t ranks)
    : m_path(std::move(path)),
      m_runName(ns3::CsvCell(runName)),
      m_names(std::move(layerNames)),
      m_ranks(ranks),
      m_layers(m_names.size())
{
}

void
EndToEndWriter::CollectiveEnded(const CollectiveRecord& record)
{
    auto& layer = m_layers[record.position.layer];
    layer.finished = std::max(layer.finished, record.end - record.choice->hidden);
    layer.seen = true;
    if (record.op == CollectiveOp::SendRecv && record.choice->algorithm == "P2P")
    {
        return; // between layers: in the summary's PP column only
    }
    Add(layer,
        record.position,
        record.end - record.start,
        record.bytes,
        BusBandwidthFactor(record.op, static_cast<uint32_t>(record.group->ranks.size())));
}

void
EndToEndWriter::Add(LayerTimes& layer,
                    const WorkloadPosition& position,
                    TimePs duration,
                    uint64_t bytes,
                    double busFactor)
{
    const auto phase = static_cast<std::size_t>(position.phase);
    if (layer.pass[phase] != position.pass)
    {
        Close(layer, phase);
        layer.pass[phase] = position.pass;
    }
    if (duration > layer.slowest[phase])
    {
        layer.slowest[phase] = duration;
        layer.slowBytes[phase] = static_cast<double>(bytes);
        layer.slowBusBytes[phase] = static_cast<double>(bytes) * busFactor;
    }
}

void
EndToEndWriter::WorkedInStep(const InStepRecord& record)
{
    auto& layer = m_layers[record.position.layer];
    const auto phase = static_cast<std::size_t>(record.position.phase);
    const auto ranks = static_cast<uint32_t>(record.ranks.size());
    layer.seen = true;
    layer.compute[phase] += ns3::TimeSum(record.compute) * ranks;
    if (record.collectives == 0)
    {
        return;
    }
    layer.finished = std::max(layer.finished, record.end);
    Add(layer,
        record.position,
        record.duration + record.choice->hidden,
        record.bytes,
        BusBandwidthFactor(record.op, ranks));
    const ns3::TimeSum exposed = ns3::TimeSum(record.duration) * record.collectives * ranks;
    m_exposedByGroup[static_cast<std::size_t>(record.group->kind)] += exposed;
    layer.exposed[phase] += exposed;
}

void
EndToEndWriter::Close(LayerTimes& layer, std::size_t phase)
{
    layer.total[phase] += std::exchange(layer.slowest[phase], 0);
    layer.bytes[phase] += std::exchange(layer.slowBytes[phase], 0.0);
    layer.busBytes[phase] += std::exchange(layer.slowBusBytes[phase], 0.0);
}

void
EndToEndWriter::ComputeEnded(const ComputeRecord& record)
{
    auto& layer = m_layers[record.position.layer];
    layer.seen = true;
    layer.compute[static_cast<std::size_t>(record.position.phase)] += record.end - record.start;
}

void
EndToEndWriter::WaitEnded(const WaitRecord& record)
{
    const TimePs duration = record.end - record.start;
    if (record.reason == WaitReason::OtherRanks)
    {
        m_bubble += duration;
        m_isPipeline = m_isPipeline || record.group == GroupKind::Pp;
        return;
    }
    m_exposedByGroup[static_cast<std::size_t>(record.group)] += duration;
    if (record.group != GroupKind::Pp)
    {
        m_layers[record.position.layer].exposed[static_cast<std::size_t>(record.position.phase)] +=
            duration;
    }
}

void
EndToEndWriter::LayerFinished(int, const WorkloadPosition& position, TimePs now)
{
    auto& layer = m_layers[position.layer];
    layer.finished = std::max(layer.finished, now);
    layer.seen = true;
}

void
EndToEndWriter::RankFinished(int, TimePs now)
{
    m_finished = std::max(m_finished, now);
    m_sumOfFinishes += now;
    ++m_ranksFinished;
}

double
EndToEndWriter::Mean(const TimeSum& ofAllRanks) const
{
    return Microseconds(ofAllRanks) / m_ranks;
}

TimeBreakdown
EndToEndWriter::GetBreakdown() const
{
    TimeBreakdown breakdown;
    for (const auto& layer : m_layers)
    {
        breakdown.compute +=
            Mean(std::accumulate(layer.compute.begin(), layer.compute.end(), TimeSum()));
    }
    for (std::size_t kind = 0; kind < m_exposedByGroup.size(); ++kind)
    {
        breakdown.exposed[kind] = Mean(m_exposedByGroup[kind]);
    }
    // In a pipeline, ranks that are done early idle until the last one is.
    const TimeSum idle =
        m_isPipeline ? TimeSum(m_finished) * m_ranksFinished - m_sumOfFinishes : TimeSum();
    breakdown.bubble = Mean(m_bubble + idle);
    breakdown.total = Microseconds(m_finished);
    return breakdown;
}

std::string
EndToEndWriter::Summary() const
{
    const TimeBreakdown breakdown = GetBreakdown();
    const double total = breakdown.total;
    const auto part = [total](double value) {
        return fmt::format(",{:.6f} ({:.2f}%)", value, total > 0 ? 100 * value / total : 0.0);
    };
    std::string text = "File name, Expose DP comm, Expose DP_EP comm, Expose TP comm, "
                       "Expose_EP_comm, Expose_PP_comm, Expose_CP_comm, Expose_other_comm, "
                       "bubble time, total comp, total exposed comm, Total time\n" +
                       m_runName;
    for (const auto kind : {GroupKind::Dp,
                            GroupKind::DpEp,
                            GroupKind::Tp,
                            GroupKind::Ep,
                            GroupKind::Pp,
                            GroupKind::Cp,
                            GroupKind::Custom})
    {
        text += part(breakdown.exposed[static_cast<std::size_t>(kind)]);
    }
    text += part(breakdown.bubble) + part(breakdown.compute) + part(breakdown.Exposed());
    return text + fmt::format(",{:.6f}\n", total);
}

std::string
EndToEndWriter::Row(const std::string& name, const LayerTimes& layer) const
{
    const auto total = [&layer](std::size_t phase) {
        return Bandwidths(layer.total[phase], layer.bytes[phase], layer.busBytes[phase]);
    };
    const auto exposed = [this, &layer](std::size_t phase) {
        return layer.total[phase] > TimeSum() ? fmt::format("{:.6f}", Mean(layer.exposed[phase]))
                                              : "";
    };
    return fmt::format("{},{},{:.6f},{:.6f},{:.6f},{},{},{},{},{},{},{:.6f}\n",
                       name,
                       m_runName,
                       Mean(layer.compute[FORWARD]),
                       Mean(layer.compute[WEIGHT]),
                       Mean(layer.compute[INPUT]),
                       exposed(FORWARD),
                       exposed(WEIGHT),
                       exposed(INPUT),
                       total(FORWARD),
                       total(WEIGHT),
                       total(INPUT),
                       Microseconds(layer.finished));
}

void
EndToEndWriter::Finish()
{
    LayerTimes sum;
    std::string rows;
    TimeSum compute;
    for (std::size_t i = 0; i < m_layers.size(); ++i)
    {
        auto& layer = m_layers[i];
        for (std::size_t phase = 0; phase < 3; ++phase)
        {
            Close(layer, phase);
            sum.compute[phase] += layer.compute[phase];
            sum.exposed[phase] += layer.exposed[phase];
            sum.total[phase] += layer.total[phase];
            sum.bytes[phase] += layer.bytes[phase];
            sum.busBytes[phase] += layer.busBytes[phase];
            compute += layer.compute[phase];
        }
        if (layer.seen)
        {
            rows += Row(ns3::CsvCell(m_names[i]), layer);
        }
    }
    sum.finished = m_finished;
    const TimeSum exposed =
        std::accumulate(m_exposedByGroup.begin(), m_exposedByGroup.end(), TimeSum());
    ns3::WriteWholeFile(
        m_path,
        Summary() + "layer_name," + m_runName +
            ",fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed comm,ig exposed comm,"
            "fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total comm,algbw,busbw,"
            "workload finished at\n" +
            rows + Row("SUM", sum) +
            fmt::format("total exposed comm,{:.6f},total comp,{:.6f},total time,{:.6f}\n",
                        Mean(exposed),
                        Mean(compute),
                        Microseconds(m_finished)));
}

} // namespace AstraSim
