/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf.h"

#include "backend-factory.h"
#include "collective-perf-table.h"
#include "fast-forward-backend.h"
#include "program-flags.h"
#include "run-console.h"
#include "run-inputs.h"

#include "ns3/attribute-default.h"
#include "ns3/collective-test-workload.h"
#include "ns3/divide-up.h"
#include "ns3/job.h"
#include "ns3/machine-model.h"
#include "ns3/mock-nccl-group.h"
#include "ns3/output-directory.h"
#include "ns3/pair-bytes.h"
#include "ns3/system-config.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

namespace AstraSim
{

namespace
{

constexpr std::size_t MAX_WAITS_OF_SIZE = 20;
constexpr double PS_PER_US = 1e6;

/// A run of collective-perf, from options to the last line; one object per run.
class CollectivePerf
{
  public:
    explicit CollectivePerf(const CollectivePerfOptions& options)
        : m_options(options),
          m_console(options.run.quiet, options.run.logLevel)
    {
    }

    int Run();

  private:
    /// Ends the simulation's own activities when the last rank is done.
    class FinishWatcher : public RunObserver
    {
      public:
        FinishWatcher(SimulationBackend& backend, uint32_t ranks)
            : m_backend(backend),
              m_left(ranks)
        {
        }

        void RankFinished(int, TimePs) override
        {
            if (--m_left == 0)
            {
                m_backend.FinishWorkloads();
            }
        }

      private:
        SimulationBackend& m_backend;
        uint32_t m_left;
    };

    uint32_t CountRanks() const;
    void PrintDevices() const;
    void MakePoints();
    CollectiveTestPoint PointOf(const CollectivePerfRow& row) const;
    CollectiveTestPoint InOneLaunch(const CollectiveTestPoint& point) const;
    double LaunchOverhead(const CollectiveTestPoint& point) const;
    /// @return microseconds that launching a point takes a thread for each of its GPUs
    double LaunchUs(const CollectiveTestPoint& point) const;
    std::vector<uint64_t> PairsAt(uint64_t bytes,
                                  const std::function<uint32_t(uint32_t)>& peer) const;
    void PointDone(std::size_t point, const CollectiveTestResult& result);
    double TimeOf(std::size_t point) const;
    double TimeOfRanks(const std::vector<double>& times) const;
    int Simulate();
    int ReportUnfinished(const SimulationBackend& backend, const Job& job) const;
    void PrintChoices() const;

    const CollectivePerfOptions& m_options;
    RunConsole m_console;
    RunInputs m_inputs;
    MachineModel m_machine;
    uint32_t m_ranks{0};
    CommGroup m_group; ///< of all ranks
    std::optional<ns3::OutputDirectory> m_directory;
    std::unique_ptr<CollectivePerfTable> m_table;
    std::unique_ptr<MockNcclGroup> m_nccl;
    std::unique_ptr<CollectiveTestWorkload> m_workload;
    std::vector<CollectivePerfRow> m_rows;
    std::vector<std::size_t> m_pointOf; ///< of each row; rows that differ in name only share one
    std::vector<CollectiveTestPoint> m_points;
    std::vector<std::size_t> m_firstRow; ///< of each point
    std::vector<CollectiveTestResult> m_results;
    std::size_t m_printed{0}; ///< rows
};

uint32_t
CollectivePerf::CountRanks() const
{
    const uint64_t perProcess = uint64_t{m_options.threads} * m_options.gpusPerThread;
    const uint32_t gpus = m_inputs.topology.hostCount;
    if (m_options.processes == 0)
    {
        if (gpus % perProcess != 0)
        {
            RefuseFlag(fmt::format("-t {} -g {}: {} GPUs do not divide into processes of that size",
                                   m_options.threads,
                                   m_options.gpusPerThread,
                                   gpus),
                       "a divisor of the topology's GPUs, or --processes");
        }
        return gpus;
    }
    const uint64_t ranks = m_options.processes * perProcess;
    if (ranks > gpus)
    {
        RefuseFlag(fmt::format("{} ranks on {} GPUs", ranks, gpus), "a larger --network-topo");
    }
    return static_cast<uint32_t>(ranks);
}

void
CollectivePerf::PrintDevices() const
{
    std::string text = "# Using devices\n";
    const uint32_t perProcess = m_options.threads * m_options.gpusPerThread;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        const uint32_t server = m_machine.ServerOf(static_cast<int>(rank));
        text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [{:#04x}] {}\n",
                            rank,
                            rank / perProcess,
                            "server" + std::to_string(server),
                            rank % m_machine.gpusPerServer,
                            rank % m_machine.gpusPerServer,
                            m_machine.gpuType);
    }
    m_console.Say(text + "#\n");
}

std::vector<uint64_t>
CollectivePerf::PairsAt(uint64_t bytes, const std::function<uint32_t(uint32_t)>& peer) const
{
    std::vector<uint64_t> pairs(std::size_t{m_ranks} * m_ranks, 0);
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        pairs[std::size_t{rank} * m_ranks + peer(rank)] = bytes;
    }
    return pairs;
}

CollectiveTestPoint
CollectivePerf::PointOf(const CollectivePerfRow& row) const
{
    CollectiveTestPoint point;
    const CollectiveOp op = m_options.test->op;
    if (row.requestBytes == 0)
    {
        return point;
    }
    if (op == CollectiveOp::SendRecv)
    {
        const auto next = [this](uint32_t rank) { return (rank + 1) % m_ranks; };
        point.steps.push_back({CollectiveOp::AllToAllV,
                               row.requestBytes * m_ranks,
                               0,
                               PairsAt(row.requestBytes, next)});
    }
    else if (op == CollectiveOp::None)
    {
        uint64_t bytes = row.requestBytes / m_ranks;
        for (uint32_t mask = 1; mask < m_ranks; mask *= 2, bytes *= 2)
        {
            const auto opposite = [mask](uint32_t rank) { return rank ^ mask; };
            point.steps.push_back(
                {CollectiveOp::AllToAllV, bytes * m_ranks, 0, PairsAt(bytes, opposite)});
        }
    }
    else
    {
        point.steps.push_back({op, row.requestBytes, std::max(row.root, 0)});
    }
    return point;
}

void
CollectivePerf::MakePoints()
{
    m_rows = m_table->Rows();
    std::map<std::pair<uint64_t, int>, std::size_t> known;
    for (std::size_t row = 0; row < m_rows.size(); ++row)
    {
        const std::pair key{m_rows[row].requestBytes, m_rows[row].root};
        const auto [found, isNew] = known.emplace(key, m_points.size());
        if (isNew)
        {
            m_points.push_back(InOneLaunch(PointOf(m_rows[row])));
            m_firstRow.push_back(row);
        }
        m_pointOf.push_back(found->second);
    }
}

CollectiveTestPoint
CollectivePerf::InOneLaunch(const CollectiveTestPoint& point) const
{
    // NCCL chooses for all collectives of a launch together, and deals them out to the channels one
    // after the other (src/enqueue.cc, ncclPrepareTasks, scheduleCollTasksToPlan): those on
    // different channels run side by side, as a large one would, and those on the same follow each
    // other. So do sends and receives to the same peer.
    const uint32_t all = m_options.aggregated;
    if (all == 1 || point.steps.empty())
    {
        return point;
    }
    CollectiveTestPoint result;
    const CollectiveRequest& first = point.steps.front();
    if (IsPairwise(first.op))
    {
        result.steps.assign(all, first);
        return result;
    }
    CollectiveRequest together = first;
    together.bytes *= all;
    const uint32_t rounds = DivideUp(all, m_nccl->Choose(m_group, together).channels);
    for (uint32_t round = 0; round < rounds; ++round)
    {
        together.bytes =
            first.bytes * (uint64_t{round + 1} * all / rounds - uint64_t{round} * all / rounds);
        result.steps.push_back(together);
    }
    return result;
}

double
CollectivePerf::LaunchOverhead(const CollectiveTestPoint& point) const
{
    if (m_options.aggregated == 1 || m_options.run.nccl.sendLatency)
    {
        return 0;
    }
    // Only the first of a launch waits for it.
    TimePs overhead = 0;
    for (std::size_t i = 1; i < point.steps.size(); ++i)
    {
        overhead += m_nccl->Choose(m_group, point.steps[i]).baseLatency;
    }
    return static_cast<double>(overhead) / PS_PER_US;
}

double
CollectivePerf::TimeOf(std::size_t point) const
{
    const double simulated =
        TimeOfRanks(m_results[point].microseconds) - LaunchOverhead(m_points[point]);
    // Iterations follow each other without a pause, so where launching takes longer it sets the
    // pace.
    return std::max(simulated, LaunchUs(m_points[point]) * m_options.gpusPerThread) /
           m_options.aggregated;
}

double
CollectivePerf::LaunchUs(const CollectiveTestPoint& point) const
{
    if (point.steps.empty() || m_options.launchChannelUs == 0)
    {
        return m_options.launchUs;
    }
    const uint32_t channels = m_nccl->Describe(m_group, point.steps.front()).channels;
    return m_options.launchUs + (channels - 1) * m_options.launchChannelUs;
}

double
CollectivePerf::TimeOfRanks(const std::vector<double>& times) const
{
    switch (m_options.rankTime)
    {
    case RankTime::Rank0:
        return times.front();
    case RankTime::Average:
        return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    case RankTime::Smallest:
        return *std::min_element(times.begin(), times.end());
    case RankTime::Largest:
        return *std::max_element(times.begin(), times.end());
    }
    return 0;
}

void
CollectivePerf::PointDone(std::size_t point, const CollectiveTestResult& result)
{
    m_results.push_back(result);
    for (; m_printed < m_rows.size() && m_pointOf[m_printed] <= point; ++m_printed)
    {
        m_console.Say(m_table->Row(m_rows[m_printed], TimeOf(m_pointOf[m_printed])));
    }
}

int
CollectivePerf::ReportUnfinished(const SimulationBackend& backend, const Job& job) const
{
    if (const std::string split = m_inputs.DescribeSplitRails(); !split.empty())
    {
        std::cerr << split << "\n";
        return 1;
    }
    std::cerr << "the test cannot finish, waiting at " << backend.Now() / 1000 << " ns:\n";
    std::vector<std::string> lines = backend.DescribeObstacles(MAX_WAITS_OF_SIZE);
    for (const auto& more : {job.DescribeWaits(), backend.DescribeWaits(MAX_WAITS_OF_SIZE)})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    for (std::size_t i = 0; i < std::min(lines.size(), MAX_WAITS_OF_SIZE); ++i)
    {
        std::cerr << "  " << lines[i] << "\n";
    }
    return 1;
}

int
CollectivePerf::Simulate()
{
    std::vector<std::string> warnings;
    const BackgroundFlows background = BackgroundFlows::Find(m_options.run, m_inputs);
    std::unique_ptr<SimulationBackend> backend = MakeBackend(m_options.run,
                                                             m_inputs,
                                                             background,
                                                             m_options.run.output,
                                                             std::nullopt,
                                                             warnings);
    CollectiveImplementation* collectives = m_nccl.get();
    FastForwardBackend* forwarded = nullptr;
    if (m_options.run.fastForward != FastForwardMode::Off)
    {
        auto forward = std::make_unique<FastForwardBackend>(
            m_options.run,
            m_inputs,
            background,
            std::move(backend),
            *m_nccl,
            [this](uint32_t) -> MockNcclGroup& { return *m_nccl; },
            warnings);
        forward->Start();
        collectives = &forward->GetCollectives();
        forwarded = forward.get();
        backend = std::move(forward);
    }
    m_console.Warn(warnings);
    CollectiveTestIterations iterations;
    iterations.timed = m_options.iterations;
    iterations.warmUp = m_options.warmUps > 0;
    iterations.barrier = m_options.blocking == 1 || m_options.blocking == 3;
    iterations.simulatesAll = m_options.simulatesAll;
    m_workload = std::make_unique<CollectiveTestWorkload>(
        m_options.test->program,
        m_points,
        iterations,
        [this](std::size_t point, const CollectiveTestResult& result) {
            PointDone(point, result);
        });
    FinishWatcher watcher(*backend, m_ranks);
    JobDescription description;
    description.workload = m_workload.get();
    description.ranks.resize(m_ranks);
    std::iota(description.ranks.begin(), description.ranks.end(), 0);
    description.nccl = collectives;
    description.network = [&](int rank) -> RankNetwork& { return backend->GetNetwork(rank); };
    description.observer = &watcher;
    Job job(std::move(description));
    job.Start();
    backend->Run();
    backend->Finish();
    if (forwarded)
    {
        warnings = forwarded->TakeWarnings();
        m_console.Warn(warnings);
    }
    return job.Finished() ? 0 : ReportUnfinished(*backend, job);
}

void
CollectivePerf::PrintChoices() const
{
    std::string text =
        "# What NCCL's debug output would name, and the timed iterations simulated:\n";
    for (std::size_t point = 0; point < m_points.size(); ++point)
    {
        if (m_points[point].steps.empty() || m_ranks < 2)
        {
            continue;
        }
        const CollectiveChoice choice =
            m_nccl->Describe(m_workload->GetGroup(), m_points[point].steps.front());
        text += fmt::format("#   {} ({} of {})\n",
                            m_table->Choice(m_rows[m_firstRow[point]], choice),
                            m_results[point].simulated,
                            m_options.iterations);
    }
    m_console.Say(text + "#\n");
}

int
CollectivePerf::Run()
{
    m_inputs = RunInputs::Read(m_options.run, m_console);
    m_ranks = CountRanks();
    if (m_options.root >= static_cast<int>(m_ranks) && m_options.test->rooted)
    {
        RefuseFlag(fmt::format("-r {} with {} ranks", m_options.root, m_ranks), "a lower rank");
    }
    if (m_options.test->op == CollectiveOp::None && m_options.aggregated > 1)
    {
        RefuseFlag(fmt::format("hypercube_perf -m {}", m_options.aggregated),
                   "1: a step sends what the one before has brought");
    }
    if (m_options.test->op == CollectiveOp::None && !std::has_single_bit(m_ranks))
    {
        RefuseFlag(fmt::format("hypercube_perf on {} ranks", m_ranks), "a power of two");
    }
    if (!m_options.run.output.empty())
    {
        m_directory.emplace(m_options.run.output);
        m_directory->RemoveEarlierResults({});
    }
    m_machine = MachineModel::FromTopology(m_inputs.topology, m_inputs.nicRatePart);
    m_machine.packetBytes =
        static_cast<uint32_t>(ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaHw::Mtu"));
    m_nccl = std::make_unique<MockNcclGroup>(m_machine, m_options.run.nccl);
    m_machine = m_nccl->GetMachine();
    m_table = std::make_unique<CollectivePerfTable>(m_options, m_ranks);
    m_group.ranks.resize(m_ranks);
    std::iota(m_group.ranks.begin(), m_group.ranks.end(), 0);
    MakePoints();
    m_console.Say(m_table->Header());
    m_console.Say(fmt::format("# Network {}: {} {}\n#\n",
                              ToString(m_options.run.network),
                              m_inputs.conf.topologyFile,
                              m_options.run.conf));
    PrintDevices();
    m_console.Say(m_table->ColumnNames());
    if (const int status = Simulate(); status != 0)
    {
        return status;
    }
    for (uint32_t cycle = 1; cycle < m_options.cycles; ++cycle)
    {
        for (std::size_t row = 0; row < m_rows.size(); ++row)
        {
            m_console.Say(m_table->Row(m_rows[row], TimeOf(m_pointOf[row])));
        }
    }
    m_console.Say(m_table->Footer());
    PrintChoices();
    m_console.Say(fmt::format("# Collective test concluded: {}\n", m_options.test->program));
    return 0;
}

} // namespace

int
RunCollectivePerf(const CollectivePerfOptions& options)
{
    CollectivePerf run(options);
    return run.Run();
}

} // namespace AstraSim
