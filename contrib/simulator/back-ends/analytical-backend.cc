/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-backend.h"

#include "astra-frontend/model/formula/topology-paths.h"

#include "ns3/attribute-default.h"
#include "ns3/clock-range.h"
#include "ns3/double.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/input-error.h"
#include "ns3/link-changes.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

namespace
{

[[noreturn]] void
Refuse(const std::string& what)
{
    throw ns3::InputError("--network analytical", 0, what, "--network packet for that");
}

} // namespace

AnalyticalBackend::AnalyticalBackend(std::shared_ptr<MessagePaths> paths, TimePs limit)
    : m_network(std::move(paths)),
      m_limit(limit)
{
    // No capability ends activities: after the workloads only acknowledgements are left, which end
    // by themselves.
    m_can.makeUnused = [this] { return m_network.MakeUnused(); };
    m_can.startChecks = [this](Report report) { m_network.StartChecks(std::move(report)); };
    m_can.finish = [this] { m_network.FinishChecks(m_drained); };
}

std::unique_ptr<AnalyticalBackend>
AnalyticalBackend::Make(const RunOptions& options,
                        const RunInputs& inputs,
                        const BackgroundFlows& background,
                        std::vector<std::string>& warnings)
{
    if (!options.pcap.empty())
    {
        Refuse("--pcap has no packets to capture");
    }
    if (background.count > 0)
    {
        Refuse(background.key + " " + background.file + " has flows, which are not carried");
    }
    if (!inputs.conf.linkEvents.empty())
    {
        Refuse(ns3::KeyOf(inputs.conf.linkEvents.front()) + " has no effect: no link changes");
    }
    const auto& links = inputs.topology.links;
    if (ns3::AttributeDefault<ns3::DoubleValue>("ns3::RdmaFabric::ErrorRatePerLink") > 0 ||
        std::ranges::any_of(links, [](const auto& link) { return link.errorRate > 0; }))
    {
        warnings.push_back("--network analytical loses no packets: error rates have no effect");
    }
    const TimePs asked = inputs.conf.stopTimePs;
    const TimePs limit = asked == ns3::TIME_PS_MAX ? EventLoop::NO_LIMIT : asked;
    if (!inputs.dimensions.empty())
    {
        return std::make_unique<AnalyticalBackend>(
            std::make_unique<DimensionalPaths>(inputs.dimensions),
            limit);
    }
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    const auto queuePairs = static_cast<uint32_t>(
        ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaFabric::QpsPerConnection"));
    const TopologyPaths::Sizes sizes{frames.network, frames.nvlink, queuePairs};
    return std::make_unique<AnalyticalBackend>(
        std::make_unique<TopologyPaths>(inputs.topology, sizes),
        limit);
}

RankNetwork&
AnalyticalBackend::GetNetwork(int rank)
{
    return m_network.GetNetwork(rank);
}

SimulationEnd
AnalyticalBackend::Run()
{
    EventLoop& loop = m_network.GetLoop();
    m_drained = loop.Run(m_limit) && !loop.IsInterrupted();
    return loop.IsInterrupted() ? SimulationEnd::Interrupted
           : m_drained          ? SimulationEnd::Drained
                                : SimulationEnd::OutOfTime;
}

void
AnalyticalBackend::Interrupt()
{
    m_network.GetLoop().Interrupt();
}

NetworkTotals
AnalyticalBackend::GetTotals() const
{
    NetworkTotals totals;
    totals.events = m_network.GetLoop().GetEventCount();
    totals.flows = m_network.GetDelivered();
    return totals;
}

NetworkDescription
AnalyticalBackend::Describe(double wallSeconds, std::size_t limit) const
{
    const NetworkTotals totals = GetTotals();
    return {fmt::format("{} flows, {} events in {:.2f} s ({:.2f} million/s)",
                        totals.flows,
                        totals.events,
                        wallSeconds,
                        static_cast<double>(totals.events) / wallSeconds / 1e6),
            {},
            m_network.DescribeWaits(limit)};
}

TimePs
AnalyticalBackend::Now() const
{
    return m_network.GetLoop().Now();
}

} // namespace AstraSim
