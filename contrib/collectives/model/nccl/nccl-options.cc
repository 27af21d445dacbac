/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-options.h"

#include "engine-all-reduce.h"
#include "nccl-algorithm.h"
#include "network-table.h"

#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"
#include "ns3/rows.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <cmath>
#include <fmt/ranges.h>
#include <iterator>
#include <ranges>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

constexpr double MAX_SEND_LATENCY_US = 1e6;

/// Collectives that NCCL's lists may name.
const std::vector<CollectiveOp> COLLECTIVES = {CollectiveOp::AllReduce,
                                               CollectiveOp::AllGather,
                                               CollectiveOp::ReduceScatter,
                                               CollectiveOp::Broadcast,
                                               CollectiveOp::Reduce};

/// NCCL's names of ways between GPUs that a user may set (src/graph/topo.cc, topoPathTypeStr).
const std::vector<std::pair<std::string, std::optional<PciePath>>> PATHS = {
    {"LOC", PciePath::Nowhere},
    {"NVL", PciePath::NvLinks},
    {"PIX", PciePath::OneSwitch},
    {"PXB", PciePath::Switches},
    {"PHB", PciePath::HostBridge},
    {"SYS", PciePath::BetweenCpus}};

/// @return the one of @p all with that name, in upper or lower case
template <typename E>
std::optional<E>
FindNamed(const std::string& name, const std::vector<E>& all)
{
    const auto it = std::ranges::find_if(all, [&](E each) {
        return boost::iequals(std::string_view(ToString(each)), name);
    });
    return it == all.end() ? std::nullopt : std::optional(*it);
}

/// @return the choices that a comma list names, "^" in front for all others
template <typename E>
std::optional<std::vector<E>>
ParseList(const std::string& text, const std::vector<E>& all)
{
    const bool inverted = text.starts_with('^');
    std::vector<E> named;
    std::istringstream items(text.substr(inverted ? 1 : 0));
    for (std::string item; std::getline(items, item, ',');)
    {
        const auto choice = FindNamed(item, all);
        if (!choice)
        {
            return std::nullopt;
        }
        named.push_back(*choice);
    }
    if (named.empty() || !inverted)
    {
        return named.empty() ? std::nullopt : std::optional(named);
    }
    std::vector<E> others;
    std::ranges::copy_if(all, std::back_inserter(others), [&](E choice) {
        return std::ranges::find(named, choice) == named.end();
    });
    return others;
}

/// @return choices for all collectives, or, as in NCCL from 2.24 on, parts "choices" and
/// "collective:choices" with semicolons between them
template <typename E>
std::optional<NcclChoices<E>>
ParseChoices(std::string_view text, const std::vector<E>& all)
{
    NcclChoices<E> choices;
    std::istringstream parts{std::string(text)};
    for (std::string part; std::getline(parts, part, ';');)
    {
        const auto colon = part.find(':');
        const bool isOfAll = colon == std::string::npos;
        const auto op = FindNamed(part.substr(0, colon), COLLECTIVES);
        const auto list = ParseList(isOfAll ? part : part.substr(colon + 1), all);
        if (!list || (!op && !isOfAll))
        {
            return std::nullopt;
        }
        isOfAll ? choices.SetAll(*list) : choices.Set(*op, *list);
    }
    return choices;
}

/// @param target receives the choices among @p all
template <typename E>
ns3::RowValue
Choices(NcclChoices<E>& target, const std::vector<E>& all)
{
    const auto names = [](const auto& named) {
        return named | std::views::transform([](const auto& each) { return ToString(each); });
    };
    return ns3::Parsed(
        target,
        [all](std::string_view text) { return ParseChoices(text, all); },
        fmt::format("such lists after {}:, with ';' between, or for all collectives a comma list "
                    "of {}",
                    fmt::join(names(COLLECTIVES), ":, "),
                    fmt::join(names(all), ", ")));
}

/// NCCL uses NVLS where the GPUs have it; SimAI's rules only where they are told to.
void
SetNvlsByDefault(NcclOptions& options)
{
    const bool byDefault = !options.selectByRules && options.networkKind.allowsNvls;
    if (!options.nvlsIsUsers)
    {
        options.nvlsEnable = byDefault;
    }
    if (!options.nvlsTreeIsUsers)
    {
        options.nvlsTreeEnable = byDefault && options.nvlsEnable;
    }
}

/// @return NCCL's algorithms, and the others that NCCL_ALGO may name
std::vector<const CollectiveAlgorithm*>
ChoosableAlgorithms()
{
    using Choice = CollectiveAlgorithm::Choice;
    std::vector<const CollectiveAlgorithm*> algorithms(NcclAlgorithm::GetAll().begin(),
                                                       NcclAlgorithm::GetAll().end());
    std::ranges::copy_if(CollectiveAlgorithm::GetAll(),
                         std::back_inserter(algorithms),
                         [](const CollectiveAlgorithm* each) {
                             const Choice choice = each->GetRules().choice;
                             return choice != Choice::Apart && choice != Choice::ByLibrary;
                         });
    return algorithms;
}

/// The variables, some of which make a setting together.
class NcclVariables
{
  public:
    NcclOptions Read(const NcclOptions::Lookup& lookup)
    {
        m_rows.ReadVariables(lookup);
        if (m_pxnDisable)
        {
            m_options.pxnEnable = !*m_pxnDisable;
        }
        if (m_peersOff)
        {
            m_options.peerLevel = PciePath::Nowhere;
        }
        constexpr uint32_t REQUIRED = 1;
        m_options.nvlsIsUsers = m_nvls || m_ncclNvls;
        m_options.nvlsEnable = m_nvls.value_or(m_ncclNvls.value_or(0) > 0);
        m_options.nvlsTreeIsUsers = m_nvlsTree.has_value();
        m_options.nvlsTreeEnable = m_nvlsTree.value_or(false);
        SetNvlsByDefault(m_options);
        m_options.nvlsRequired = m_ncclNvls == REQUIRED && m_options.nvlsEnable;
        m_options.SetNetworkKind(m_kind, "environment", "AS_NETWORK_KIND");
        return m_options;
    }

    const ns3::Rows& GetRows() const
    {
        return m_rows;
    }

  private:
    std::vector<ns3::Row> MakeRows()
    {
        std::vector<ns3::Row> rows = OwnRows();
        std::ranges::move(RowsOfChoices(), std::back_inserter(rows));
        std::ranges::move(RowsOfChannels(), std::back_inserter(rows));
        return rows;
    }

    /// @return a value that a function reads
    static ns3::RowValue Own(const char* expected, std::function<void(const std::string&)> read)
    {
        return {expected, [read = std::move(read)](std::string_view text) {
                    read(std::string(text));
                    return true;
                }};
    }

    /// The variables of SimAI and of this project.
    std::vector<ns3::Row> OwnRows()
    {
        NcclOptions& options = m_options;
        const auto parseLatency = [](std::string_view us) {
            const auto value = ns3::RealWithin(us, 0, MAX_SEND_LATENCY_US);
            return value ? std::optional<TimePs>(std::llround(*value * 1e6)) : std::nullopt;
        };
        return {
            {"AS_SEND_LAT",
             ns3::Parsed(options.sendLatency,
                         parseLatency,
                         ns3::RangeText("microseconds", 0.0, MAX_SEND_LATENCY_US)),
             "time before each flow (NCCL's latencies). Newer pages of SimAI say nanoseconds, but "
             "its published times fit microseconds; a value above 1000 gives a warning. "
             "``SimAI_analytical`` counts it once for each message in the longest chain of "
             "messages"},
            {"AS_NVLS_ENABLE",
             ns3::Flag(m_nvls),
             "whether NVSwitches may reduce (NVLS); if not given, as ``NCCL_NVLS_ENABLE`` says"},
            {"AS_NVLSTREE_ENABLE",
             ns3::Flag(m_nvlsTree),
             "whether NVSwitches may reduce within servers while trees join servers (NVLS-Tree); "
             "if not given, as NVLS"},
            {"AS_PXN_ENABLE",
             ns3::Flag(options.pxnEnable),
             "whether AllToAll sends through the GPU on its destination's rail (PXN); if not "
             "given, where rails meet in NVLink only"},
            {"AS_NETWORK_KIND",
             ns3::Text(m_kind, "a kind of network"),
             "network between the servers, as with ``--network-kind``"},
            {"AS_NETWORK_TABLE",
             ns3::Text(options.networkTable, "a file"),
             "kinds of networks, as with ``--network-table``"},
            {"AS_MEASURED_FIGURES",
             Own("a file",
                 [&options](const std::string& file) {
                     options.figures = MeasuredFigures::Read(file);
                     options.figuresFile = file;
                 }),
             "figures of GPUs in place of built-in ones: see :doc:`../models/nccl`"},
            {"AS_ENGINE_ALLREDUCE",
             Own("vLLM, SGLang, SGLang-0.5.14 or TensorRT-LLM",
                 [&options](const std::string& engine) {
                     options.engine =
                         &EngineAllReduce::Find(engine, "environment", "AS_ENGINE_ALLREDUCE");
                 }),
             "inference engine whose AllReduce within a server takes the place of NCCL's where it "
             "has one: see :doc:`../models/nccl`"},
            {"AS_HOST_CPU",
             ns3::Word(options.hostsAreAmd, {{"Intel", false}, {"AMD", true}, {"Arm", false}}),
             "on AMD hosts, NCCL expects less bandwidth of LL and more time per step between "
             "servers"},
            {"AS_GPU_TYPE",
             ns3::Text(options.gpuType, "a GPU type"),
             "GPU type instead of the topology's"},
            {"AS_GPU_TABLE",
             ns3::Text(options.gpuTable, "a file"),
             "GPU types, as with ``--gpu-table``"},
        };
    }

    std::vector<ns3::Row> RowsOfChoices()
    {
        using enum NcclProtocol;
        using enum NcclRelease;
        NcclOptions& options = m_options;
        const auto parseTunerType = [](std::string_view text) {
            const bool isRegion = boost::iequals(text, "Region");
            return isRegion || boost::iequals(text, "Internal") ? std::optional(isRegion)
                                                                : std::nullopt;
        };
        return {
            {"NCCL_ALGO",
             Choices(options.algorithms, ChoosableAlgorithms()),
             "algorithms that may be chosen, ``^`` before them for all others; as in NCCL from "
             "2.24 on also for single collectives: ``allreduce:tree,ring;allgather:^pat``. A list "
             "for all collectives leaves rings to those other than AllReduce, as NCCL does"},
            {"NCCL_PROTO",
             Choices(options.protocols, {Ll, Ll128, Simple}),
             "protocols that may be chosen, in the same form"},
            {"NCCL_TUNING",
             ns3::Word(options.release,
                       {{"2.18", V2_18},
                        {"2.20", V2_20},
                        {"2.23", V2_23},
                        {"2.28", V2_28},
                        {"2.29.2", V2_29_2},
                        {"2.29", V2_29},
                        {"2.30", V2_30}}),
             "release whose cost model is used; ``2.23`` stands for those up to 2.27, ``2.29.2`` "
             "also for 2.29.3, and ``2.29`` for 2.29.7"},
            {"NCCL_SELECT",
             ns3::Word(options.selectByRules, {{"model", false}, {"rules", true}}),
             "``rules``: fixed rules like SimAI's, with NVLS and NVLS-Tree off unless "
             "``AS_NVLS_ENABLE`` or ``AS_NVLSTREE_ENABLE`` turns them on"},
            {"NCCL_TUNER_CONFIG_FILE",
             Own("a file",
                 [&options](const std::string& file) {
                     options.tunerFile = std::make_shared<const TunerTable>(TunerTable::Read(file));
                 }),
             "table of algorithms, protocols and channels in the format of NCCL's example tuner "
             "plug-in (:ref:`tuners`); it takes the place of the tuner of the network's plug-in"},
            {"OFI_NCCL_TUNER_TYPE",
             ns3::Parsed(options.usesKindsTuner, parseTunerType, "Internal or Region", "Region"),
             "``Internal``: NCCL chooses, not the tuner of the network's plug-in"},
            {"NCCL_NVLS_ENABLE",
             ns3::Whole(m_ncclNvls, 0, 2),
             "2 (default): NVLS and NVLS-Tree where GPUs and NVSwitches have them (Hopper and "
             "Blackwell); 0: neither; 1: as 2, and an error where they are missing"},
            {"NCCL_COLLNET_ENABLE",
             ns3::Flag(options.collNetEnable),
             "whether the network's switches may reduce (CollNet); needs "
             "``IN_NETWORK_REDUCTION 1``"},
            {"NCCL_PXN_DISABLE",
             ns3::Flag(m_pxnDisable),
             "PXN on (0) or off (1), whatever ``AS_PXN_ENABLE`` says"},
            {"NCCL_P2P_LEVEL",
             ns3::Word(options.peerLevel, PATHS),
             "the longest way over PCIe on which GPUs of a server write to each other's memory "
             "(``PXB``, and ``SYS`` for two GPUs beside AMD's CPUs); on others the data go through "
             "the memory of their CPU"},
            {"NCCL_P2P_DISABLE", ns3::Flag(m_peersOff), "1: as the level ``LOC``, for PCIe"},
            {"NCCL_IB_TIMEOUT",
             ns3::Whole(options.ibTimeout, 1, 31, "an exponent"),
             "NICs wait 4.096 us x 2^this for an answer (20; 18 before NCCL 2.23). A run that a "
             "failed link keeps from finishing says when NCCL would end with an error"},
            {"NCCL_IB_RETRY_CNT",
             ns3::Whole(options.ibRetryCount, 0, 7, "times"),
             "how often they then send again (7)"},
            {"NCCL_CROSS_NIC",
             ns3::Word(options.crossNic, {{"2", true}, {"1", true}, {"0", false}}),
             "1, 2: a ring may enter and leave a server on different rails, so that it stays on "
             "one rail between servers; 0: a ring goes through every server in the same order, and "
             "crosses to the next rail between servers, where NCCL would hand the data to the "
             "first rail's NIC (PXN)"},
        };
    }

    std::vector<ns3::Row> RowsOfChannels()
    {
        NcclOptions& options = m_options;
        const auto channels = [](uint32_t& target) {
            return ns3::Whole(target, 1, 128, "channels");
        };
        const auto bytes = [](auto& target, uint64_t least) {
            return ns3::Whole(target, least, 1 << 30, "bytes");
        };
        return {
            {"AS_NV_CHANNELS", channels(options.nvChannels), "of collectives within a server"},
            {"AS_RING_CHANNELS", channels(options.ringChannels), "of those between servers"},
            {"AS_RING_STEPS_PER_MESSAGE",
             ns3::Whole(options.ringSteps, 1, 4096, "steps"),
             "steps of a ring of Simple that are simulated as one message, at most (1: as NCCL): "
             "see :doc:`../howto/speed`"},
            {"NCCL_MIN_NCHANNELS",
             channels(options.minChannels),
             "minimum, except of NVLS and NVLS-Tree"},
            {"NCCL_MAX_NCHANNELS",
             channels(options.maxChannels),
             "maximum, except of NVLS and NVLS-Tree"},
            {"NCCL_NCHANNELS_PER_NET_PEER",
             channels(options.channelsPerNetPeer),
             "of a pair at most, in groups of several servers (NCCL's; 2, and from 2.29 on one for "
             "each 14 GB/s of its NICs)"},
            {"NCCL_BUFFSIZE",
             bytes(options.bufferBytes, 65536),
             "a connection's buffer with Simple, of which a chunk takes an eighth, or half in "
             "rings (4194304, or as the network's plug-in sets it)"},
            {"NCCL_P2P_NET_CHUNKSIZE",
             bytes(options.pairNetChunk, 1024),
             "a chunk of AllToAll, SendRecv and their like in groups of several servers (131072, "
             "or as the network's plug-in sets it; AMD's GPUs have RCCL's, which grows with the "
             "group); no more than an eighth of ``NCCL_BUFFSIZE`` counts"},
            {"NCCL_P2P_NVL_CHUNKSIZE",
             bytes(options.pairNvlinkChunk, 1024),
             "the same in groups within a server"},
            {"NCCL_P2P_PCI_CHUNKSIZE",
             bytes(options.pairPcieChunk, 1024),
             "the same in groups within a server without NVLinks"},
            {"NCCL_NVLS_CHUNKSIZE",
             bytes(options.nvlsChunk, 16384),
             "a chunk of NVLS and NVLS-Tree at most (131072, or as the network's plug-in sets it); "
             "by it NCCL also counts from which size on chunks are larger than 64 KiB"},
            {"NCCL_NVLSTREE_MAX_CHUNKSIZE",
             bytes(options.nvlsTreeChunk, 16384),
             "a chunk of NVLS-Tree at most (65536 from four servers on, or as the network's "
             "plug-in sets it)"},
        };
    }

    NcclOptions m_options;
    std::optional<bool> m_nvls;
    std::optional<bool> m_nvlsTree;
    std::optional<uint32_t> m_ncclNvls;
    std::optional<bool> m_pxnDisable;
    bool m_peersOff{false};
    std::string m_kind{NetworkKind().name};
    ns3::Rows m_rows{"environment", MakeRows()};
};

} // namespace

void
NcclOptions::SetNetworkKind(const std::string& kind,
                            const std::string& source,
                            const std::string& what)
{
    if (networkTable.empty() && kind == NetworkKind().name)
    {
        networkKind = {}; // the row of that name, without reading the others
        SetNvlsByDefault(*this);
        return;
    }
    const NetworkTable table =
        networkTable.empty() ? NetworkTable::GetBuiltIn() : NetworkTable::Read(networkTable);
    const NetworkKind* found = table.Find(kind);
    if (!found)
    {
        throw ns3::InputError(source,
                              0,
                              what + " is '" + kind + "'",
                              "one of " + table.GetNames() + ", or a row of --network-table");
    }
    networkKind = *found;
    SetNvlsByDefault(*this);
}

const TunerTable*
NcclOptions::GetTuner() const
{
    if (tunerFile)
    {
        return tunerFile.get();
    }
    return usesKindsTuner && release >= NcclRelease::V2_23 ? networkKind.tuner.get() : nullptr;
}

NcclOptions
NcclOptions::FromEnvironment(const Lookup& lookup)
{
    return NcclVariables().Read(lookup);
}

std::string
NcclOptions::DescribeVariables()
{
    return NcclVariables().GetRows().ToCsv();
}

} // namespace AstraSim
