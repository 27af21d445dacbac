/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_CONF_H
#define FABRIC_CONF_H

#include "units.h"

#include <array>
#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3
{

/// A link, or a node's links, that change state at a time (LINK_DOWN, LINK_UP, NODE_DOWN, NODE_UP).
struct LinkEvent
{
    static constexpr uint32_t ALL_LINKS = UINT32_MAX;

    int64_t timePs;   ///< from the start of the simulation
    uint32_t a;       ///< node id at one end
    uint32_t b;       ///< node id at the other; ALL_LINKS: every link of a
    bool up;          ///< whether it comes up or goes down
    std::size_t line; ///< where the file says so
};

/// ECN marking by egress queue length: RED's ramp from kmin to kmax.
struct EcnRamp
{
    uint64_t kminBytes; ///< no marks up to here
    uint64_t kmaxBytes; ///< every frame is marked from here
    double pmax;        ///< marking probability just below kmax
};

/**
 * @brief Everything that a SimAI.conf or an HPCC configuration file says, in the simulator's units.
 *
 * A key that the file does not name keeps the value below. FabricConfHelp() describes every key.
 *
 * @code
 * FabricConf conf = FabricConf::Read("SimAI.conf");
 * conf.Set("CC_MODE 3", "command line"); // a flag wins over the file
 * conf.Check();
 * for (const std::string& warning : conf.warnings)
 * {
 *     std::cerr << "warning: " << warning << "\n";
 * }
 * @endcode
 */
struct FabricConf
{
    /// Which network port a frame takes where there are several shortest paths.
    enum class Routing
    {
        Ecmp,            ///< by a hash of the 5-tuple
        Flowlet,         ///< at random, anew after each gap in the flow
        AdaptiveFlowlet, ///< the least loaded, anew after each gap in the flow
        Adaptive,        ///< for each frame the least loaded
        Spray,           ///< for each frame the next in turn
        RandomSpray,     ///< for each frame one at random
    };

    /// Some switches: a layer of them, or those of a range of node ids.
    struct RoutingPlace
    {
        std::string text;  ///< as the file says it
        uint32_t layer{0}; ///< 1 access switches, 2 above them, 3 above those; 0: a range
        uint32_t first{0}; ///< node id
        uint32_t last{0};  ///< node id
    };

    /// A routing policy for some switches (ROUTING_AT).
    struct RoutingChoice
    {
        Routing routing;
        std::vector<RoutingPlace> places;
        std::size_t line; ///< where the file says so
    };

    /// What the PFC watchdog does about a queue that is paused for too long.
    enum class PfcAction
    {
        Alert,   ///< reports it
        Drop,    ///< drops what the queue holds
        Forward, ///< lets the queue send all the same for a time
    };

    /// How lost frames are sent again.
    enum class LossRecovery
    {
        GoBackN, ///< everything from the first lost byte
        Irn,     ///< lost frames only
    };

    /// Whether messages between two hosts share their queue pairs.
    enum class QpMode
    {
        PerFlow,    ///< each message has a new queue pair
        Persistent, ///< a connection keeps queue pair and congestion state between messages
    };

    // --- inputs and outputs
    std::string topologyFile; ///< empty if not given
    std::string flowFile;
    std::string traceFile;
    std::string traceOutputFile{"mix.tr"};
    std::string fctOutputFile{"fct.txt"};
    std::string pfcOutputFile{"pfc.txt"};
    std::string qlenMonFile{"qlen.txt"};
    std::string bwMonFile{"bandwidth.txt"};
    std::string rateMonFile{"rate.txt"};
    std::string cnpMonFile{"cnp.txt"};
    bool enableTrace{false};
    int64_t stopTimePs{TIME_PS_MAX}; ///< TIME_PS_MAX: no limit

    // --- switches
    bool enableQcn{true};
    bool dynamicPfcThreshold{true};
    uint64_t bufferBytes{16ULL << 20};
    std::map<uint64_t, uint64_t> kmaxBytes; ///< by link rate in bit/s
    std::map<uint64_t, uint64_t> kminBytes; ///< by link rate in bit/s
    std::map<uint64_t, double> pmax;        ///< by link rate in bit/s
    std::optional<uint64_t> flatKmaxBytes;
    std::optional<uint64_t> flatKminBytes;
    std::optional<double> flatPmax;
    double errorRatePerLink{0};     ///< added to each link's own
    bool inNetworkReduction{false}; ///< network switches reduce and multicast (CollNet)
    Routing routing{Routing::Ecmp};
    std::vector<RoutingChoice> routingAt; ///< in file order: the last that names a switch counts
    std::array<uint32_t, 8> queueWeights{1, 1, 1, 1, 1, 1, 1, 1}; ///< by priority; 0's is unused
    std::vector<LinkEvent> linkEvents;                            ///< in file order
    int64_t pauseTimePs{5'000'000};
    int64_t pfcWatchdogPs{10'000'000'000}; ///< 0: off
    PfcAction pfcAction{PfcAction::Alert};
    int64_t nicPausePs{0}; ///< every NIC pauses its switch for so long from the start

    // --- transport
    uint32_t payloadBytes{1000};
    uint64_t l2ChunkBytes{4000};
    uint64_t l2AckInterval{1}; ///< 0, 1: every frame; above: bytes
    bool l2BackToZero{false};
    bool ackHighPriority{false};
    LossRecovery lossRecovery{LossRecovery::GoBackN};
    uint32_t reorderFrames{4096};
    int64_t reorderTimePs{0}; ///< 0: chosen from the fabric
    int64_t rtoPs{0};         ///< 0: chosen from the path
    uint32_t qpsPerConnection{1};
    QpMode qpMode{QpMode::PerFlow};

    // --- congestion control; keys that are parameters of an algorithm count only if given
    uint32_t ccMode{1};
    std::string ccTypeId; ///< not empty: the algorithm's TypeId, and ccMode does not count
    bool hasWindow{true};
    bool globalT{false};
    bool variableWindow{true};
    bool fastReact{true};
    bool rateBound{true};
    int64_t alphaResumeIntervalPs{1'000'000};
    int64_t rateDecreaseIntervalPs{4'000'000};
    int64_t rpTimerPs{900'000'000};
    bool clampTargetRate{false};
    double ewmaGain{1.0 / 256};
    uint32_t fastRecoveryTimes{1};
    uint64_t rateAiBps{50'000'000};
    uint64_t rateHaiBps{100'000'000};
    uint64_t minRateBps{100'000'000};
    uint64_t dctcpRateAiBps{1'000'000'000};
    std::optional<double> dctcpGain; ///< not set: ewmaGain
    double uTarget{0.95};
    uint32_t miThresh{0};
    uint32_t intMulti{1};
    bool multiRate{false};
    bool sampleFeedback{false};
    double pintLogBase{1.05};
    double pintProb{1.0};

    // --- monitors
    int64_t monStartPs{0};
    int64_t monEndPs{20'000'000'000};
    int64_t qpMonIntervalPs{100'000'000};
    int64_t qlenMonIntervalPs{10'000'000'000};
    int64_t bwMonIntervalPs{10'000'000'000};
    std::optional<int64_t> qlenMonStartPs; ///< not set: monStartPs
    std::optional<int64_t> qlenMonEndPs;   ///< not set: monEndPs

    // --- the run
    uint32_t gpusPerServer{0}; ///< 0: as the topology says
    uint32_t seed{1};

    std::string source;                ///< file it was read from
    std::vector<std::string> given;    ///< names of the keys that were set, in order
    std::vector<std::string> warnings; ///< one line each; printing them is the program's business

    /// @param path file of `KEY value...` lines @throw InputError for the first mistake
    static FabricConf Read(const std::string& path);

    /// As Read(), from a stream. @param name what to call it in errors
    static FabricConf Read(std::istream& text, const std::string& name);

    /**
     * Set one key after the file was read; call Check() when all are set.
     * @param keyAndValue as a line of the file: "CC_MODE 3" (or "CC_MODE=3")
     * @param origin what to call it in errors: "command line", "environment"
     */
    void Set(const std::string& keyAndValue, const std::string& origin);

    /// @throw InputError if keys contradict each other
    void Check();

    /// @return whether the key was set by the file or by Set()
    bool IsGiven(std::string_view key) const;

    /**
     * ECN thresholds of a port. A rate that the maps do not list takes the nearest listed, with one
     * warning per rate; without maps and flat values, 100 KB and 400 KB per 25 Gb/s, and 0.2.
     * @param rateBps the port's rate
     */
    EcnRamp EcnFor(uint64_t rateBps);
};

/// What a user may write for a key.
struct FabricConfKey
{
    std::string name;         ///< "CC_MODE"
    std::string type;         ///< "0 or 1", "microseconds", ...
    std::string range;        ///< legal values, for people
    std::string defaultValue; ///< as one would write it in a file; may be empty
    std::string description;  ///< one sentence
    bool hasEffect;           ///< false: accepted for compatibility only
};

/// @return every key, grouped as FabricConf is
std::vector<FabricConfKey> FabricConfKeys();

/**
 * @return for each key that has a value in force, its name and that value as a file would have it;
 * for records of what a run was made from
 */
std::vector<std::pair<std::string, std::string>> FabricConfValues(const FabricConf& conf);

/// @return the keys as a table for a terminal, a line each
std::string FabricConfHelp();

/// @return the keys as a table in Markdown
std::string FabricConfMarkdown();

} // namespace ns3

#endif /* FABRIC_CONF_H */
