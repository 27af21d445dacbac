/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-options.h"

#include "nccl-algorithm.h"
#include "network-table.h"

#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <iterator>
#include <map>
#include <ranges>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

constexpr double MAX_SEND_LATENCY_US = 1e6;

class EnvironmentReader
{
  public:
    explicit EnvironmentReader(const NcclOptions::Lookup& lookup)
        : m_lookup(lookup)
    {
    }

    std::optional<std::string> Text(const std::string& name) const
    {
        auto value = m_lookup(name);
        return value && !value->empty() ? value : std::nullopt;
    }

    [[noreturn]] static void Refuse(const std::string& name,
                                    const std::string& value,
                                    const std::string& expected)
    {
        throw ns3::InputError("environment", 0, name + " is '" + value + "'", expected);
    }

    template <typename T>
    std::optional<T> Number(const std::string& name,
                            T low,
                            T high,
                            const std::string& expected) const
    {
        const auto text = Text(name);
        if (!text)
        {
            return std::nullopt;
        }
        T number{};
        const auto [end, error] =
            std::from_chars(text->data(), text->data() + text->size(), number);
        if (error != std::errc() || end != text->data() + text->size() || !(number >= low) ||
            !(number <= high))
        {
            Refuse(name, *text, expected);
        }
        return number;
    }

    std::optional<bool> FindFlag(const std::string& name) const
    {
        const auto value = Number<uint32_t>(name, 0, 1, "0 or 1");
        return value ? std::optional(*value == 1) : std::nullopt;
    }

    bool Flag(const std::string& name) const
    {
        return FindFlag(name).value_or(false);
    }

    /**
     * @param all the choices there are
     * @return the choices that a list names: choices, or since NCCL 2.24 parts "choices" and
     * "collective:choices" with semicolons between them; "^" before choices for all others
     */
    template <typename E>
    NcclChoices<E> Choices(const std::string& name, const std::vector<E>& all) const
    {
        NcclChoices<E> choices;
        const auto text = Text(name);
        std::istringstream parts(text.value_or(""));
        for (std::string part; std::getline(parts, part, ';');)
        {
            const auto colon = part.find(':');
            if (colon == std::string::npos)
            {
                choices.SetAll(ListOf(name, *text, part, all));
                continue;
            }
            const auto op = FindNamed(part.substr(0, colon), COLLECTIVES);
            if (!op)
            {
                Refuse(name,
                       *text,
                       "before ':' one of " + NamesOf(COLLECTIVES) + ", as in allreduce:tree,ring");
            }
            choices.Set(*op, ListOf(name, *text, part.substr(colon + 1), all));
        }
        return choices;
    }

  private:
    /// @return the one of @p all with that name, in upper or lower case
    template <typename E>
    static std::optional<E> FindNamed(const std::string& name, const std::vector<E>& all)
    {
        const auto it = std::find_if(all.begin(), all.end(), [&](E each) {
            return std::ranges::equal(std::string_view(ToString(each)), name, [](char a, char b) {
                return std::tolower(a) == std::tolower(b);
            });
        });
        return it == all.end() ? std::nullopt : std::optional(*it);
    }

    template <typename E>
    static std::string NamesOf(const std::vector<E>& all)
    {
        const auto name = [](E each) { return ToString(each); };
        return fmt::format("{}", fmt::join(all | std::views::transform(name), ", "));
    }

    /// @return the choices that a comma list names, "^" in front for all others
    template <typename E>
    static std::vector<E> ListOf(const std::string& name,
                                 const std::string& text,
                                 const std::string& list,
                                 const std::vector<E>& all)
    {
        const bool inverted = list.starts_with('^');
        std::vector<E> named;
        std::istringstream items(list.substr(inverted ? 1 : 0));
        for (std::string item; std::getline(items, item, ',');)
        {
            const auto choice = FindNamed(item, all);
            if (!choice)
            {
                Refuse(name, text, "a comma list of " + NamesOf(all));
            }
            named.push_back(*choice);
        }
        if (named.empty())
        {
            Refuse(name, text, "a comma list of " + NamesOf(all));
        }
        if (!inverted)
        {
            return named;
        }
        std::vector<E> others;
        std::ranges::copy_if(all, std::back_inserter(others), [&](E choice) {
            return std::find(named.begin(), named.end(), choice) == named.end();
        });
        return others;
    }

    /// Those that NCCL's lists may name.
    static inline const std::vector<CollectiveOp> COLLECTIVES = {CollectiveOp::AllReduce,
                                                                 CollectiveOp::AllGather,
                                                                 CollectiveOp::ReduceScatter,
                                                                 CollectiveOp::Broadcast,
                                                                 CollectiveOp::Reduce};

    const NcclOptions::Lookup& m_lookup;
};

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

void
ReadTuner(const EnvironmentReader& reader, NcclOptions& options)
{
    if (const auto file = reader.Text("NCCL_TUNER_CONFIG_FILE"))
    {
        options.tunerFile = std::make_shared<const TunerTable>(TunerTable::Read(*file));
    }
    if (const auto type = reader.Text("OFI_NCCL_TUNER_TYPE"))
    {
        options.usesKindsTuner = boost::iequals(*type, "Region");
        if (!options.usesKindsTuner && !boost::iequals(*type, "Internal"))
        {
            EnvironmentReader::Refuse("OFI_NCCL_TUNER_TYPE", *type, "Internal or Region");
        }
    }
}

void
ReadNvls(const EnvironmentReader& reader, NcclOptions& options)
{
    constexpr uint32_t REQUIRED = 1;
    constexpr uint32_t WHERE_SUPPORTED = 2;
    const auto ncclValue =
        reader.Number<uint32_t>("NCCL_NVLS_ENABLE", 0, WHERE_SUPPORTED, "0, 1 or 2");
    const auto nvls = reader.FindFlag("AS_NVLS_ENABLE");
    const auto nvlsTree = reader.FindFlag("AS_NVLSTREE_ENABLE");
    options.nvlsIsUsers = nvls || ncclValue;
    options.nvlsEnable = nvls.value_or(ncclValue.value_or(0) > 0);
    options.nvlsTreeIsUsers = nvlsTree.has_value();
    options.nvlsTreeEnable = nvlsTree.value_or(false);
    SetNvlsByDefault(options);
    options.nvlsRequired = ncclValue == REQUIRED && options.nvlsEnable;
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
    const EnvironmentReader reader(lookup);
    NcclOptions options;
    options.collNetEnable = reader.Flag("NCCL_COLLNET_ENABLE");
    options.pxnEnable = reader.FindFlag("AS_PXN_ENABLE");
    if (const auto disable = reader.Number<uint32_t>("NCCL_PXN_DISABLE", 0, 1, "0 or 1"))
    {
        options.pxnEnable = *disable == 0;
    }
    options.algorithms = reader.Choices("NCCL_ALGO", ChoosableAlgorithms());
    options.protocols =
        reader.Choices<NcclProtocol>("NCCL_PROTO",
                                     {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple});
    const std::string channelRange = "a number of channels from 1 to 128";
    options.minChannels =
        reader.Number<uint32_t>("NCCL_MIN_NCHANNELS", 1, 128, channelRange).value_or(0);
    options.maxChannels =
        reader.Number<uint32_t>("NCCL_MAX_NCHANNELS", 1, 128, channelRange).value_or(0);
    options.nvChannels =
        reader.Number<uint32_t>("AS_NV_CHANNELS", 1, 128, channelRange).value_or(0);
    options.ringChannels =
        reader.Number<uint32_t>("AS_RING_CHANNELS", 1, 128, channelRange).value_or(0);
    const std::string chunkRange = "bytes from 1024 to 1073741824";
    const auto chunk = [&](const char* name) {
        return reader.Number<uint64_t>(name, 1024, 1 << 30, chunkRange);
    };
    options.pairNetChunk = chunk("NCCL_P2P_NET_CHUNKSIZE");
    options.pairNvlinkChunk = chunk("NCCL_P2P_NVL_CHUNKSIZE").value_or(options.pairNvlinkChunk);
    options.bufferBytes =
        reader.Number<uint64_t>("NCCL_BUFFSIZE", 65536, 1 << 30, "bytes from 65536 to 1073741824")
            .value_or(0);
    options.channelsPerNetPeer =
        reader.Number<uint32_t>("NCCL_NCHANNELS_PER_NET_PEER", 1, 128, channelRange).value_or(0);
    options.crossNic = reader.Number<uint32_t>("NCCL_CROSS_NIC", 0, 2, "0, 1 or 2").value_or(2) > 0;
    if (const auto release = reader.Text("NCCL_TUNING"))
    {
        static const std::map<std::string, NcclRelease> RELEASES = {
            {"2.18", NcclRelease::V2_18},
            {"2.20", NcclRelease::V2_20},
            {"2.23", NcclRelease::V2_23},
            {"2.28", NcclRelease::V2_28},
            {"2.29", NcclRelease::V2_29},
            {"2.30", NcclRelease::V2_30},
        };
        const auto it = RELEASES.find(*release);
        if (it == RELEASES.end())
        {
            EnvironmentReader::Refuse("NCCL_TUNING",
                                      *release,
                                      "2.18, 2.20, 2.23, 2.28, 2.29 or 2.30");
        }
        options.release = it->second;
    }
    ReadTuner(reader, options);
    const auto select = reader.Text("NCCL_SELECT");
    if (select && *select != "rules" && *select != "model")
    {
        EnvironmentReader::Refuse("NCCL_SELECT", *select, "rules or model");
    }
    options.selectByRules = select == "rules";
    ReadNvls(reader, options);
    options.networkTable = reader.Text("AS_NETWORK_TABLE").value_or("");
    const std::string kind = reader.Text("AS_NETWORK_KIND").value_or(NetworkKind().name);
    options.SetNetworkKind(kind, "environment", "AS_NETWORK_KIND");
    if (const auto file = reader.Text("AS_MEASURED_FIGURES"))
    {
        options.figures = MeasuredFigures::Read(*file);
        options.figuresFile = *file;
    }
    if (const auto engine = reader.Text("AS_ENGINE_ALLREDUCE"))
    {
        options.engine = &EngineAllReduce::Find(*engine, "environment", "AS_ENGINE_ALLREDUCE");
    }
    if (const auto cpu = reader.Text("AS_HOST_CPU"))
    {
        if (*cpu != "Intel" && *cpu != "AMD" && *cpu != "Arm")
        {
            EnvironmentReader::Refuse("AS_HOST_CPU", *cpu, "Intel, AMD or Arm");
        }
        options.hostsAreAmd = *cpu == "AMD";
    }
    if (const auto latency = reader.Number<double>("AS_SEND_LAT",
                                                   0.0,
                                                   MAX_SEND_LATENCY_US,
                                                   "microseconds from 0 to 1000000"))
    {
        options.sendLatency = std::llround(*latency * 1e6);
    }
    options.gpuType = reader.Text("AS_GPU_TYPE").value_or("");
    options.gpuTable = reader.Text("AS_GPU_TABLE").value_or("");
    return options;
}

} // namespace AstraSim
