/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "astra-frontend/model/system/rank-list.h"
#include "collectives/model/nccl/nccl-options.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/run-limits.h"
#include "programs/frame/run-progress.h"
#include "run-environment.h"

#include "ns3/layer-table.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// Kinds of simulation of a network.
enum class NetworkModel : uint8_t
{
    Packet,     ///< every packet
    Analytical, ///< a formula per message, ports next to the ranks shared
    Flow,       ///< messages as fluids that share the links of their paths
};

/// Whether traffic that repeats is simulated again.
enum class FastForwardMode : uint8_t
{
    Off,    ///< everything is simulated
    Auto,   ///< Exact where that is sure to give the same outputs, else Off
    On,     ///< a pattern once
    Exact,  ///< and nothing is cut off
    Verify, ///< a sample of the reused again, to know the errors
};

/// Whether parts of a run may be simulated without packets.
enum class Fidelity : uint8_t
{
    Network, ///< all is as --network says
    Auto,    ///< by flows where these cannot differ from packets by more than an error
};

/// @return the name that --network takes
const char* ToString(NetworkModel network);

/// Everything a run is asked for: flags, then environment, then files.
struct RunOptions
{
    std::vector<JobPlacement> jobs; ///< -w FILE, or FILE\@RANKS
    NetworkModel network{NetworkModel::Packet};
    std::string topology;
    std::string conf;
    std::string system;                       ///< --system-configuration
    std::string logicalTopology;              ///< --logical-topology-configuration
    std::string communicators;                ///< --comm-group-configuration; empty for none
    std::string remoteMemory;                 ///< --remote-memory-configuration
    std::string backgroundFlows;              ///< --background-flows; else FLOW_FILE
    int timelineRanks{0};                     ///< --timeline-ranks: ranks shown in timeline.json
    std::optional<uint64_t> collectivesLimit; ///< --collectives-limit: rows of collectives.csv
    uint64_t timelineLimit{1'000'000};        ///< --timeline-limit: events of timeline.json
    std::string output;                       ///< empty: ./results/WORKLOAD_TOPOLOGY
    /// -t: threads that simulate packets; empty: one
    std::optional<uint32_t> threads;
    uint32_t passes{1};
    bool separatePasses{false}; ///< --separate-passes: each iteration is a run of its own
    bool resumes{false};        ///< --resume: iterations that are finished are kept
    std::optional<uint32_t> seed;
    ParallelSizes sizes;
    uint32_t queuesPerDimension{1};
    double commScale{1};
    double injectionScale{1};
    double gpuSpread{0}; ///< --gpu-spread
    bool rendezvous{false};
    FastForwardMode fastForward{FastForwardMode::Auto};
    Fidelity fidelity{Fidelity::Network};
    double maxError{0.01};               ///< --max-error: of --fidelity auto, as a share
    uint64_t fastForwardMemoryMib{1024}; ///< --fast-forward-memory
    std::string fastForwardStore;        ///< --fast-forward-store: a file; empty for none
    uint64_t fastForwardStoreMib{1024};  ///< --fast-forward-store-size
    /// Flags of models, and ns-3's: they may change how a network carries traffic. Without files,
    /// and without the flags about traffic, results and limits. See DescribeModels().
    std::vector<std::string> modelFlags;
    /// Values of flags that run.json has among the options, by their names there.
    nlohmann::ordered_json recorded;
    bool reportsRanks{false}; ///< print ASTRA-sim's line when a rank has finished
    bool simaiFiles{false};   ///< --simai-files: also under the names SimAI has
    ProgressMode progress{ProgressMode::Auto};
    RunLimits limits;  ///< --max-time, --max-sim-time, --max-memory
    bool check{false}; ///< --check; always in the checking build
    bool quiet{false};
    LogLevel logLevel{LogLevel::Info};  ///< AS_LOG_LEVEL
    std::string answer;                 ///< text to print instead of a run; empty: run
    std::vector<std::string> arguments; ///< of the program, those that --replay stands for included
    std::vector<std::string> confKeys;  ///< --set KEY=VALUE
    std::vector<std::string> pcap;      ///< --pcap NODE:PORT
    std::vector<std::string> ns3Flags;
    NcclOptions nccl;
    std::optional<uint64_t> netBandwidthBps; ///< AS_NET_BW: rate of NIC links

    std::map<std::string, std::string> environment; ///< variables that were set, by name
    std::vector<std::string> warnings;              ///< accepted input without effect, a line each

    /// @return whether the user wants the run fast-forwarded
    bool IsFastForwarded() const
    {
        return fastForward != FastForwardMode::Off && fastForward != FastForwardMode::Auto;
    }

    /// Take the values of the environment.
    void Take(const RunEnvironment& read);

    /// @return the value of an environment variable, or nothing
    using Environment = NcclOptions::Lookup;

    /**
     * @param arguments of the program, its name not included
     * @throw ns3::InputError naming the flag or variable that is wrong
     */
    static RunOptions Parse(const std::vector<std::string>& arguments,
                            const Environment& environment);
};

/// Add --network. @param options receives its value
void AddNetwork(ProgramFlags& flags, RunOptions& options, const std::string& help);

/// Add --fast-forward, which alone means "on", --fast-forward-store and its size.
void AddFastForward(ProgramFlags& flags, RunOptions& options, const std::string& help);
void AddFastForwardStore(ProgramFlags& flags, RunOptions& options);

} // namespace AstraSim

#endif /* RUN_OPTIONS_H */
