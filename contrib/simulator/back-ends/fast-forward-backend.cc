/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fast-forward-backend.h"

#include "networks.h"
#include "rdma-qbb/fabric/fabric-link-guards.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"
#include "simulator/inputs/model-configuration.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/input-error.h"
#include "ns3/link-changes.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// A reason that keeps a run from being fast-forwarded, and a choice that would not.
struct Obstacle
{
    std::string what;
    std::string expected;
};

/// @return an input that acts at times of its own, or between messages of one collective: no
/// pattern contains its effect
std::optional<Obstacle>
FindObstacle(const RunOptions& options, const RunInputs& inputs, const BackgroundFlows& background)
{
    if (!inputs.dimensions.empty())
    {
        return Obstacle{"a network of dimensions has no links by which to tell patterns apart",
                        "a run without the flag, or a topology file"};
    }
    if (!inputs.conf.linkEvents.empty())
    {
        return Obstacle{ns3::KeyOf(inputs.conf.linkEvents.front()) +
                            " changes the network at times of its own",
                        "a run without the flag, or links that stay as they are"};
    }
    if (background.count > 0)
    {
        return Obstacle{fmt::format("{} {} has flows, which are in no pattern",
                                    background.key,
                                    background.file),
                        "a run without one of the two"};
    }
    if (!options.pcap.empty() || !inputs.traceNodes.empty())
    {
        const char* watcher = options.pcap.empty() ? "TRACE_FILE" : "--pcap";
        return Obstacle{
            fmt::format("packets that are not simulated cannot be captured or traced ({})",
                        watcher),
            fmt::format("a run without the flag, or without {}", watcher)};
    }
    if (!options.system.empty())
    {
        return Obstacle{"collectives of a system file have messages one by one",
                        "a run without the flag, or without --system-configuration"};
    }
    if (ns3::LookAtDefault<ns3::UintegerValue>("ns3::RdmaFabric::InNetworkOperations") > 0)
    {
        return Obstacle{"with IN_NETWORK_OPERATIONS groups wait for each other at switches",
                        "a run without one of the two"};
    }
    if (options.rendezvous)
    {
        return Obstacle{"with --rendezvous-protocol messages wait for their receives",
                        "a run without one of the two"};
    }
    return std::nullopt;
}

/**
 * Patterns of packets are simulated by copies of the process. A copy takes 0.5 ms of CPU time, but
 * tens of ms on machines with page faults of tens of microseconds: it counts as 10 ms. A connection
 * takes 2 us, as copies copy its pages (bench/RESULTS.md).
 * @return these costs in units of work, and the work that any run may lose: 60 ms, with formulas 5
 * ms
 */
ReusePatience
PatienceOn(NetworkModel network)
{
    const bool hasPackets = network == NetworkModel::Packet;
    const bool copies = network != NetworkModel::Analytical;
    const uint64_t perMs = hasPackets ? 20'000 : network == NetworkModel::Flow ? 1'000 : 2'000;
    ReusePatience patience;
    patience.work = (copies ? 60 : 5) * perMs;
    patience.perPattern = copies ? 10 * perMs : perMs / 20;
    patience.perConnection = hasPackets ? perMs / 500 : 0;
    patience.perFlow = hasPackets ? 20 : 0; // 1 us
    return patience;
}

FastForwardConfig
ConfigOf(FastForwardMode mode, const RunOptions& options)
{
    FastForwardConfig config;
    config.verifies = mode == FastForwardMode::Verify;
    if (mode == FastForwardMode::Exact)
    {
        config.tail = 0;
        config.tolerance = 0;
    }
    config.memoryBytes = options.fastForwardMemoryMib << 20;
    config.patience = PatienceOn(options.network);
    return config;
}

/// @return the seed by which switches choose paths; the same for all networks of formulas
uint32_t
EcmpSeed(NetworkModel network)
{
    return network == NetworkModel::Analytical
               ? 1
               : static_cast<uint32_t>(
                     ns3::AttributeDefault<ns3::UintegerValue>("ns3::SwitchNode::EcmpSeed"));
}

/// @return inputs that make repeated traffic differ in any case, in words
std::vector<std::string>
FindRandomness(const RunOptions& options, const RunInputs& inputs)
{
    std::vector<std::string> found;
    if (options.network != NetworkModel::Packet)
    {
        return found;
    }
    const auto& links = inputs.topology.links;
    const bool allAreLossy =
        ns3::AttributeDefault<ns3::DoubleValue>("ns3::RdmaFabric::ErrorRatePerLink") > 0;
    std::size_t lossy = 0;
    for (uint32_t link = 0; link < links.size(); ++link)
    {
        lossy += links[link].errorRate > 0 || (allAreLossy && !inputs.topology.IsNvLink(link));
    }
    if (lossy > 0)
    {
        found.push_back(fmt::format("{} links lose packets at random", lossy));
    }
    ns3::ObjectFactory factory;
    factory.SetTypeId(ns3::AttributeDefault<ns3::TypeIdValue>("ns3::RdmaHw::CongestionControl"));
    const auto control = factory.Create<ns3::RdmaCongestionOps>();
    if (control->GetName() != "none" && !control->UsesEcn())
    {
        found.push_back(control->GetName() + " keeps no rate from one pattern to the next");
    }
    return found;
}

/// @return inputs that slow packets down where no message meets another one, in words
std::vector<std::string>
FindUnproven(const RunOptions& options, const RunInputs& inputs)
{
    std::vector<std::string> found = FindRandomness(options, inputs);
    if (ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::InNetworkReduction"))
    {
        found.emplace_back("switches reduce in the network");
    }
    const auto guards = ns3::GuardsOfLinks(inputs.topology, inputs.conf);
    if (std::ranges::any_of(guards, &ns3::LinkGuards::retries))
    {
        found.emplace_back("links answer each packet, and wait for answers");
    }
    if (std::ranges::any_of(guards, [](const auto& link) { return link.creditBytes > 0; }))
    {
        found.emplace_back("links wait for credits");
    }
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    if (ns3::AttributeDefault<ns3::BooleanValue>("ns3::RdmaDriver::HasWindow") &&
        ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaHw::AckInterval") >
            frames.network.mtuPayload)
    {
        found.emplace_back("windows wait for acknowledgements of several frames");
    }
    if (ns3::PathUseOf(ns3::RoutingBySwitch(inputs.topology, inputs.conf)) != ns3::PathUse::Fixed)
    {
        found.emplace_back("switches choose paths frame by frame");
    }
    return found;
}

/// @return whether each message is on one connection and switches keep connections on one path
bool
MessagesKeepPaths(NetworkModel network, const RunInputs& inputs)
{
    return ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaFabric::QpsPerConnection") == 1 &&
           (network == NetworkModel::Analytical ||
            ns3::PathUseOf(ns3::RoutingBySwitch(inputs.topology, inputs.conf)) ==
                ns3::PathUse::Fixed);
}

} // namespace

FastForwardBackend::FastForwardBackend(FastForwardMode mode,
                                       const RunOptions& options,
                                       const RunInputs& inputs,
                                       const BackgroundFlows& background,
                                       std::unique_ptr<SimulationBackend> inner,
                                       CollectiveImplementation& nccl,
                                       std::function<CollectiveImplementation&(uint32_t)> ncclOf)
    : m_inner(std::move(inner)),
      m_patterns(ChoosePatterns(options, inputs, ncclOf)),
      m_shapes(inputs.topology,
               EcmpSeed(options.network),
               MessagesKeepPaths(options.network, inputs)),
      m_forward(ConfigOf(mode, options), m_inner->GetNetwork(0), m_shapes, m_patterns),
      m_collectives(nccl, m_forward, m_shapes),
      m_network(
          inputs.topology.hostCount,
          [this](int rank) -> RankNetwork& { return m_inner->GetNetwork(rank); },
          m_forward,
          m_shapes),
      m_verifies(mode == FastForwardMode::Verify),
      m_hasLinks(options.network != NetworkModel::Analytical),
      m_randomness(FindRandomness(options, inputs))
{
    if (const auto obstacle = FindObstacle(options, inputs, background))
    {
        throw ns3::InputError("--fast-forward", 0, obstacle->what, obstacle->expected);
    }
    for (uint32_t rank = 0; rank < inputs.topology.hostCount; ++rank)
    {
        ncclOf(PartitionOf(static_cast<int>(rank))); // made before threads are
    }
    // Rates that were worked out with a part's past may differ by the tolerance of flows.
    if (const auto& live = m_inner->GetCapabilities().live; live && mode != FastForwardMode::Exact)
    {
        live->unwatch();
        m_forward.SetLive(m_live.emplace(LiveSimulation::Setup{
            [this](int rank) -> RankNetwork& { return m_inner->GetNetwork(rank); },
            ncclOf(0),
            m_numbers,
            live->catchUp,
            live->forget}));
    }
    m_can.finishWorkloads = m_inner->GetCapabilities().finishWorkloads;
    m_can.finish = m_inner->GetCapabilities().finish;
}

uint32_t
FastForwardBackend::PartitionOf(int rank) const
{
    const auto& divided = m_inner->GetCapabilities().divided;
    return divided ? divided->partitionOf(rank) : 0;
}

bool
FastForwardBackend::IsSafe(const RunOptions& options,
                           const RunInputs& inputs,
                           const BackgroundFlows& background)
{
    // Messages that share a port are served by their times and sizes alone, so a repeated pattern
    // repeats to the picosecond. A timeline has single messages, and checks watch them.
    return options.network == NetworkModel::Analytical && !options.check &&
           options.timelineRanks == 0 && inputs.conf.planes->empty() &&
           !FindObstacle(options, inputs, background);
}

PatternSimulation&
FastForwardBackend::ChoosePatterns(const RunOptions& options,
                                   const RunInputs& inputs,
                                   const NcclOf& ncclOf)
{
    PatternSimulation& patterns = ChooseSimulation(options, inputs, ncclOf);
    if (options.fastForwardStore.empty())
    {
        return patterns;
    }
    m_disk.emplace(options.fastForwardStore, options.fastForwardStoreMib << 20);
    return m_stored.emplace(patterns,
                            *m_disk,
                            DigestOfModels(options, inputs),
                            options.fastForward == FastForwardMode::Verify);
}

PatternSimulation&
FastForwardBackend::ChooseSimulation(const RunOptions& options,
                                     const RunInputs& inputs,
                                     const NcclOf& ncclOf)
{
    if (options.network == NetworkModel::Packet)
    {
        return options.fidelity == Fidelity::Auto ? ChooseByPattern(options, inputs, ncclOf)
                                                  : MakeSide(ncclOf);
    }
    FreshSimulation& fresh = m_fresh.emplace([this] { return MakeUnused(); }, ncclOf(0), m_numbers);
    if (options.network == NetworkModel::Analytical)
    {
        return fresh;
    }
    // A copy takes 4 ms with 1,024 GPUs (bench/RESULTS.md), as long as a flow for each of them.
    return m_cheapest.emplace(fresh, MakeSide(ncclOf), inputs.topology.hostCount);
}

PatternSimulation&
FastForwardBackend::ChooseByPattern(const RunOptions& options,
                                    const RunInputs& inputs,
                                    const NcclOf& ncclOf)
{
    SideSimulation& packets = MakeSide(ncclOf);
    m_unproven = FindUnproven(options, inputs);
    if (!m_unproven.empty())
    {
        return packets;
    }
    FlowLevelConfig config = FlowLevelConfigOf(inputs.conf, inputs.topology);
    config.quietBytes = m_inner->GetCapabilities().quietBytes;
    m_flows = std::make_unique<FlowLevelFabric>(m_flowLoop, inputs.topology, std::move(config));
    FreshSimulation& flows =
        m_fresh.emplace([this] { return MakeUnused(); }, ncclOf(0), m_numbers, true);
    return m_proven.emplace(flows, packets, options.maxError);
}

SideSimulation&
FastForwardBackend::MakeSide(const NcclOf& ncclOf)
{
    const auto& copyable = m_inner->GetCapabilities().copyable;
    return m_side.emplace(SideSimulation::Setup{
        [this](int rank) -> RankNetwork& { return m_inner->GetNetwork(rank); },
        ncclOf,
        [this] { m_inner->Run(); },
        [this] { return m_inner->GetTotals(); },
        [this](int rank) { return PartitionOf(rank); },
        !m_inner->GetCapabilities().divided,
        copyable ? copyable->unwatch : [] {}});
}

UnusedNetwork
FastForwardBackend::MakeUnused()
{
    const auto unused = std::make_shared<const UnusedNetwork>(
        m_flows ? m_flows->MakeUnused(ns3::TIME_PS_MAX) : m_inner->GetCapabilities().makeUnused());
    m_unused = unused;
    if (m_isInterrupted)
    {
        unused->interrupt();
    }
    return *unused;
}

void
FastForwardBackend::Interrupt()
{
    m_isInterrupted = true;
    m_inner->Interrupt();
    if (const std::shared_ptr<const UnusedNetwork> unused = m_unused)
    {
        unused->interrupt();
    }
}

FastForwardReport
FastForwardBackend::GetReport() const
{
    FastForwardReport report = m_forward.GetReport();
    if (m_live)
    {
        const uint64_t flows = m_inner->GetTotals().flows;
        report.carried.flows += flows;
        report.simulatedWork += flows;
    }
    const StoreReport store = GetStoreReport().value_or(StoreReport{});
    report.simulations -= store.patterns;
    report.simulatedWork -= store.work;
    return report;
}

std::vector<std::string>
FastForwardBackend::DescribeApproximations() const
{
    const FastForwardReport report = m_forward.GetReport();
    std::vector<std::string> found = m_randomness;
    const std::pair<uint64_t, const char*> counts[] = {
        {m_hasLinks ? report.choices : 0, "operations over paths that switches choose"},
        {report.carried.pauses, "PFC pauses"},
        {report.carried.cnps, "congestion notifications"},
        {report.carried.marks, "packets marked"},
        {report.carried.drops, "lost packets"},
        {report.late, "ends known too late"},
    };
    for (const auto& [count, name] : counts)
    {
        if (count > 0)
        {
            found.push_back(fmt::format("{} {}", count, name));
        }
    }
    return found;
}

std::string
FastForwardBackend::SayApproximations(const std::string& mark) const
{
    const std::vector<std::string> reasons = DescribeApproximations();
    return reasons.empty() ? ""
                           : fmt::format("{}--fast-forward is approximate here ({}): run the same "
                                         "without it to see by how much\n",
                                         mark,
                                         fmt::join(reasons, "; "));
}

std::optional<StoreReport>
FastForwardBackend::GetStoreReport() const
{
    return m_stored ? std::optional(m_stored->GetReport()) : std::nullopt;
}

std::vector<std::string>
FastForwardBackend::TakeWarnings()
{
    std::vector<std::string> warnings =
        m_disk ? m_disk->TakeWarnings() : std::vector<std::string>();
    if (!m_unproven.empty() && !MustBeginAnew())
    {
        warnings.push_back(fmt::format("--fidelity auto takes packets throughout: {}",
                                       fmt::join(m_unproven, "; ")));
    }
    if (m_hasLinks && !MustBeginAnew())
    {
        warnings.emplace_back("--fast-forward: the files of the network (fct.txt, links.csv, "
                              "monitors) hold nothing of what is simulated beside the run");
    }
    return warnings;
}

NetworkTotals
FastForwardBackend::GetTotals() const
{
    return {GetReport().carried, m_inner->GetTotals().events, std::nullopt};
}

NetworkDescription
FastForwardBackend::Describe(double wallSeconds, std::size_t limit) const
{
    const NetworkDescription inner = m_inner->Describe(wallSeconds, limit);
    return {DescribeTraffic(wallSeconds),
            inner.obstacles,
            m_network.DescribeReceives(limit),
            inner.trouble};
}

std::string
FastForwardBackend::DescribeTraffic(double wallSeconds) const
{
    const FastForwardReport report = GetReport();
    const char* unit = report.carried.packetHops ? "packet-hops" : "flows";
    std::string text = fmt::format("{} {} in {:.2f} s: {} simulated for {} patterns, {} reused",
                                   report.carried.Work(),
                                   unit,
                                   wallSeconds,
                                   report.simulatedWork,
                                   report.simulations,
                                   report.reusedWork);
    if (report.largestDoubt > 0 && !m_proven)
    {
        text += fmt::format("; packets may differ for up to {:.2g}% of the time of a pattern, when "
                            "messages met",
                            100 * report.largestDoubt);
    }
    if (m_proven)
    {
        text +=
            fmt::format("; {} of the patterns by flows, which differ from packets by {:.2g}% at "
                        "most",
                        m_proven->CountProven(),
                        100 * report.largestDoubt);
    }
    const auto store = GetStoreReport();
    if (store)
    {
        text += fmt::format("; {} for {} patterns from the store", store->work, store->patterns);
    }
    if (m_verifies)
    {
        text += fmt::format("; {} reused ends differ by {:.4f}% at most from another simulation of "
                            "their patterns, which a run without --fast-forward may not have",
                            report.verified,
                            100 * report.largestError);
    }
    if (m_verifies && store)
    {
        text += fmt::format("; of {} patterns from the store {} were wrong",
                            store->verifiedPatterns,
                            store->wrongPatterns);
    }
    return text;
}

} // namespace AstraSim
