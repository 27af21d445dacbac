/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf-keys.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/rate-map.h"
#include "ns3/routing-policy.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <type_traits>

namespace ns3::conf_format
{

namespace
{

using C = FabricConf;

/// @return why a key changes nothing beside other keys: "without HAS_WIN"; empty if it does
using IdleReason = std::function<std::string(FabricConf& conf, const ConfUse& use)>;

/// Writes the value of a key for a run's record.
enum class KeyTold : uint8_t
{
    InForce,  ///< as it is in force
    OfChosen, ///< as the chosen congestion control has it, as each has a default of its own
    Never,    ///< not shown: another key includes it
};

/// Destination of a key's value: none, a member of FabricConf, or attributes.
struct Target
{
    Target() = default;

    template <typename T>
    Target(Parameter<T> FabricConf::*member)
    {
        note = [member](const FabricConf& conf) { return &(conf.*member); };
        if constexpr (std::is_convertible_v<int64_t, T> || std::is_same_v<T, std::string>)
        {
            using Held = std::conditional_t<std::is_arithmetic_v<T>, int64_t, T>;
            using Given = std::conditional_t<std::is_same_v<T, std::string>, T, int64_t>;
            set = [member](FabricConf& conf, const FabricConfValue& value) {
                (conf.*member).Edit() = static_cast<T>(std::get<Given>(value));
            };
            get = [member](const FabricConf& conf) { return Held{(conf.*member).Look()}; };
        }
    }

    Target(const char* attribute)
        : attributes{attribute}
    {
    }

    Target(std::initializer_list<std::string> names)
        : attributes(names)
    {
    }

    std::function<void(FabricConf& conf, const FabricConfValue& value)> set;
    std::function<std::optional<FabricConfValue>(const FabricConf& conf)> get;
    std::function<const ParameterNote*(const FabricConf& conf)> note;
    std::vector<std::string> attributes;
};

/// A row as it is written below.
struct Entry
{
    struct
    {
        const char* name;
        FabricConfFormat format;
        Target target{};
        std::vector<IdleReason> idle{};
        bool isToldOfFiles{false};
    } key;

    std::string sentence;
    /// Flags that get a value of their own when the key is given.
    std::vector<std::pair<std::string, bool>> alongside{};
    const char* sameAs{""};
};

template <typename T>
const T*
As(const AttributeValue& value)
{
    return dynamic_cast<const T*>(&value);
}

/// @return the attribute's value, of its type @throw InputError if it does not take the value
AttributeSetting
MakeSetting(const std::string& attribute,
            const FabricConfValue& value,
            const FabricConf& conf,
            const KeyRow& key,
            std::string_view text)
{
    const auto prototype = GetDefault(attribute);
    AttributeSetting setting{attribute, Create<StringValue>(WriteValue(value))};
    if (prototype && As<TimeValue>(*prototype))
    {
        setting.value = Create<TimeValue>(PicoSeconds(std::get<int64_t>(value)));
    }
    if (prototype && As<DataRateValue>(*prototype))
    {
        setting.value =
            Create<DataRateValue>(DataRate(static_cast<uint64_t>(std::get<int64_t>(value))));
    }
    const auto declared = FindAttributes(attribute);
    const auto checker = declared.empty() ? nullptr : declared.front().information.checker;
    if (!IsLegal(setting))
    {
        conf.FailAt({key.name},
                    fmt::format("{} cannot be '{}'", key.name, text),
                    checker ? "as " + attribute + ": " + checker->GetUnderlyingTypeInformation()
                            : "a value that " + attribute + " takes");
    }
    if (checker)
    {
        setting.value = checker->CreateValidValue(*setting.value);
    }
    return setting;
}

/// @return the value of an attribute; nullopt if it is not one alone
std::optional<FabricConfValue>
ValueOf(const AttributeValue& value, const std::string& attribute)
{
    const auto* map = As<RateMapValue>(value);
    const auto* real = As<DoubleValue>(value);
    const auto* time = As<TimeValue>(value);
    const auto* rate = As<DataRateValue>(value);
    const auto* flag = As<BooleanValue>(value);
    const auto* whole = As<UintegerValue>(value);
    if (map || real)
    {
        return map ? map->Get().GetForAll() : std::optional(real->Get());
    }
    if (rate || whole)
    {
        return static_cast<int64_t>(rate ? rate->Get().GetBitRate() : whole->Get());
    }
    if (time || flag)
    {
        return time ? time->Get().GetPicoSeconds() : int64_t{flag->Get()};
    }
    return value.SerializeToString(FindAttributes(attribute).front().information.checker);
}

std::string
TextOf(const FabricConfFormat& format, const std::optional<FabricConfValue>& value)
{
    return !value ? "" : format.write ? format.write(*value) : WriteValue(*value);
}

/// @return the default of the first attribute, for the chosen congestion control
std::string
TextOfChosen(const FabricConfFormat& format, const std::vector<std::string>& attributes)
{
    const TypeId chosen = LookAtDefault<TypeIdValue>("ns3::RdmaHw::CongestionControl");
    for (const std::string& attribute : attributes)
    {
        for (const DeclaredAttribute& each : FindAttributes(attribute))
        {
            if (each.type == chosen || chosen.IsChildOf(each.type))
            {
                return TextOf(format, ValueOf(*each.information.initialValue, attribute));
            }
        }
    }
    return "";
}

/// @param look gives an attribute's default
std::string
TextOf(const Entry& entry,
       const FabricConf& conf,
       Ptr<const AttributeValue> (*look)(const std::string& name))
{
    const auto& [name, format, target, idle, isToldOfFiles] = entry.key;
    if (target.attributes.empty())
    {
        return target.get ? TextOf(format, target.get(conf)) : "";
    }
    const std::string& attribute = target.attributes.front();
    return TextOf(format, ValueOf(*look(attribute), attribute));
}

/// @return the values in force as the file would have them; empty if there are none
std::string
TextInForce(const Entry& entry, const KeyRow& key, const FabricConf& conf, KeyTold told)
{
    const FabricConfFormat& format = entry.key.format;
    if (told == KeyTold::Never || format.get)
    {
        return format.get ? format.get(conf, key) : "";
    }
    return told == KeyTold::OfChosen && !key.attributes.empty()
               ? TextOfChosen(format, key.attributes)
               : TextOf(entry, conf, GetDefault);
}

/// Store the values of a key. @throw InputError if they are illegal
void
Take(const Entry& entry, const KeyRow& key, FabricConf& conf, std::string_view text)
{
    const FabricConfFormat& format = entry.key.format;
    std::vector<std::string> fields{std::string(text)};
    if (!format.hasBlanks)
    {
        boost::split(fields, text, boost::is_any_of(" \t\r\v\f"), boost::token_compress_on);
    }
    const std::size_t count = format.fields.size();
    if (count && (fields.size() > count || fields.size() + format.optional < count))
    {
        const std::string least =
            format.optional ? std::to_string(count - format.optional) + " to " : "";
        conf.FailAt({key.name},
                    fmt::format("{} has {} values", key.name, fields.size()),
                    (count == 1 ? "one" : least + std::to_string(count)) + ": " + key.type);
    }
    FabricConfFormat::Values values;
    for (std::size_t i = 0; i < std::min(count, fields.size()); ++i)
    {
        const auto value = format.fields[i](fields[i]);
        if (!value)
        {
            Refuse(conf, key, fields[i]);
        }
        values.push_back(*value);
    }
    FabricConfFormat::Settings settings;
    if (format.take)
    {
        settings = format.take(conf, values, fields, key);
    }
    else
    {
        for (const std::string& attribute : key.attributes)
        {
            settings.push_back(MakeSetting(attribute, values.front(), conf, key, text));
        }
        for (const auto& [attribute, isOn] : entry.alongside)
        {
            settings.push_back({attribute, Create<BooleanValue>(isOn)});
        }
        if (entry.key.target.set)
        {
            entry.key.target.set(conf, values.front());
        }
    }
    if (!key.attributes.empty())
    {
        conf.settings[key.place] = std::move(settings);
    }
}

/// @return a reason that holds "with" another key or "without" it: one that is empty, or 0
IdleReason
If(const std::string& word, const char* key)
{
    return [word, key](FabricConf& conf, const ConfUse&) {
        const auto keys = KeyRows(conf);
        const std::string value = std::ranges::find(keys, key, &KeyRow::name)->getInForce();
        const bool isWith = !value.empty() && value != "0";
        return isWith == (word == "with") ? word + " " + key : "";
    };
}

/// @return a reason where TRANSPORT UEC chooses instead
std::string
WithUltraEthernet(FabricConf&, const ConfUse&)
{
    const TypeId transport = LookAtDefault<TypeIdValue>("ns3::RdmaHw::TransportType");
    return transport.GetName() == "ns3::UecTransport" ? "with TRANSPORT UEC" : "";
}

/// @return whether no link has PFC for its credits, NVLinks left out
bool
AllLinksHaveCredits(const FabricConf& conf)
{
    return LookAtDefault<UintegerValue>("ns3::QbbChannel::CreditBytes") > 0 &&
           conf.linkCreditsAt.Look().empty();
}

std::string
WithCredits(FabricConf& conf, const ConfUse&)
{
    return AllLinksHaveCredits(conf) ? "with LINK_CREDITS" : "";
}

/// @return a reason where links have credits instead of PFC
std::string
WithCreditsButAtNvSwitches(FabricConf& conf, const ConfUse&)
{
    return AllLinksHaveCredits(conf) ? "with LINK_CREDITS but at NVSwitches" : "";
}

/// @return a reason where no link sends frames again
std::string
WithoutRetry(FabricConf& conf, const ConfUse&)
{
    const auto retries = [](const auto& choice) { return choice.value > 0; };
    return LookAtDefault<BooleanValue>("ns3::QbbChannel::LinkRetry") ||
                   std::ranges::any_of(conf.linkRetryAt.Look(), retries)
               ? ""
               : "without LINK_RETRY";
}

/// @return a reason where switches may drop frames of all priorities
std::string
WhereNothingIsLossless(FabricConf&, const ConfUse&)
{
    return LookAtDefault<UintegerValue>("ns3::SwitchMmu::LosslessMask") == 0
               ? "where no priority is lossless (ENABLE_PFC)"
               : "";
}

std::string
WithoutWorkload(FabricConf&, const ConfUse& use)
{
    return use.hasWorkload ? "" : "without a workload";
}

constexpr const char* ENGINE = "ns3::CollectiveOffload::Engine";

/// @return a reason where a program asks nobody for the engine of collectives
std::string
WithoutEngines(FabricConf&, const ConfUse& use)
{
    return WasRead(ENGINE) || LookAtDefault<StringValue>(ENGINE) == "NCCL" ? "" : use.unread;
}

/// @return a reason where no switch has a policy under which frames overtake each other
std::string
WhereFramesKeepOrder(FabricConf& conf, const ConfUse&)
{
    std::vector<std::string> policies{
        LookAtDefault<TypeIdValue>("ns3::SwitchNode::RoutingPolicyType").GetName()};
    std::ranges::transform(conf.routingAt.Look(),
                           std::back_inserter(policies),
                           &FabricConf::RoutingChoice::policy);
    const bool mayReorder = std::ranges::any_of(policies, [](const std::string& policy) {
        return ObjectFactory(policy).Create<RoutingPolicy>()->Reorders();
    });
    return mayReorder ? "" : "where no switch routes frame by frame";
}

std::vector<Entry>
InputAndOutput()
{
    return {
        {{"TOPOLOGY_FILE", Path(), &C::topologyFile}, "Nodes and links of the cluster."},
        {{"FLOW_FILE", Path(), &C::flowFile}, "Flows to run; may be missing."},
        {{"TRACE_FILE", Path(), &C::traceFile, {If("without", "ENABLE_TRACE")}},
         "Nodes whose packet events are traced; may be missing."},
        {{"TRACE_OUTPUT_FILE", Path(), &C::traceOutputFile, {If("without", "ENABLE_TRACE")}},
         "Packet-event trace."},
        {{"FCT_OUTPUT_FILE", Path(), &C::fctOutputFile}, "Flow completion times."},
        {{"PFC_OUTPUT_FILE", Path(), &C::pfcOutputFile}, "PFC pauses and resumes."},
        {{"QLEN_MON_FILE", Path(), &C::qlenMonFile}, "Queue lengths of switch ports."},
        {{"BW_MON_FILE", Path(), &C::bwMonFile}, "Bandwidth of ports."},
        {{"RATE_MON_FILE", Path(), &C::rateMonFile}, "Sending rates of queue pairs."},
        {{"CNP_MON_FILE", Path(), &C::cnpMonFile}, "Congestion notifications of queue pairs."},
        {{"ENABLE_TRACE", Flag(), &C::enableTrace, {If("without", "TRACE_FILE")}},
         "Writes the packet-event trace."},
        {{"SIMULATOR_STOP_TIME", StopTime(), &C::stopTimePs},
         "The simulation ends at this simulated time even if flows are left."},
    };
}

std::vector<Entry>
Marking()
{
    constexpr const char* KMIN = "ns3::SwitchMmu::EcnKmin";
    constexpr const char* KMAX = "ns3::SwitchMmu::EcnKmax";
    constexpr const char* PMAX = "ns3::SwitchMmu::EcnPmax";
    const IdleReason unmarked = If("without", "ENABLE_QCN");
    const IdleReason uec = WithUltraEthernet;
    const Scale kilobytes{1000, HUGE_VAL, "KB (1000 bytes), 0 or more"};
    const Scale bytes{1, HUGE_VAL, "0 or more"};
    const Scale probability{1, 1, "from 0 to 1"};
    return {
        // A map wins over the flat value: it is applied later.
        {{"KMAX", Scaled("bytes", bytes), KMAX, {uec, unmarked, If("with", "KMAX_MAP")}},
         "kmax for all rates without KMAX_MAP."},
        {{"KMIN", Scaled("bytes", bytes), KMIN, {uec, unmarked, If("with", "KMIN_MAP")}},
         "kmin for all rates without KMIN_MAP."},
        {{"PMAX", Scaled("number", probability), PMAX, {uec, unmarked, If("with", "PMAX_MAP")}},
         "pmax for all rates without PMAX_MAP."},
        {{"KMAX_MAP", ByRate(kilobytes), KMAX, {uec, unmarked}},
         "By link rate, the queue length from which every frame is marked."},
        {{"KMIN_MAP", ByRate(kilobytes), KMIN, {uec, unmarked}},
         "By link rate, the queue length up to which no frame is marked."},
        {{"PMAX_MAP", ByRate(probability), PMAX, {uec, unmarked}},
         "By link rate, the marking probability just below kmax."},
    };
}

std::vector<Entry>
Switches()
{
    const Words routings{{"ecmp", "ns3::EcmpRouting"},
                         {"flowlet", "ns3::FlowletRouting"},
                         {"adaptive-flowlet", "ns3::AdaptiveFlowletRouting"},
                         {"adaptive", "ns3::AdaptiveRouting"},
                         {"spray", "ns3::SprayRouting"},
                         {"random-spray", "ns3::RandomSprayRouting"}};
    const Words policies{{"thresholds", "ns3::BufferPolicy"},
                         {"dynamic", "ns3::DynamicThresholds"},
                         {"static", "ns3::StaticThresholds"}};
    const auto buffering =
        PlugIn("word or TypeId", Listed(policies), "ns3::BufferPolicy", policies);
    const Target ofModel{"ns3::SwitchMmu::BufferBytes",
                         "ns3::SwitchMmu::Alpha",
                         "ns3::SwitchMmu::LossyAlpha",
                         "ns3::SwitchMmu::LossyQueueAlpha",
                         "ns3::SwitchMmu::PfcResponseTime"};
    constexpr const char* CREDITS = "ns3::QbbChannel::CreditBytes";
    constexpr const char* RETRY = "ns3::QbbChannel::LinkRetry";
    const Words actions{{"alert", "Alert"}, {"drop", "Drop"}, {"forward", "Forward"}};
    const auto routing = PlugIn("word or TypeId", Listed(routings), "ns3::RoutingPolicy", routings);
    return {
        {{"ENABLE_QCN", Flag(), "ns3::SwitchNode::EcnEnabled"},
         "Switches mark ECN and receivers notify senders."},
        {{"ECN_ENABLED", Flag(), "ns3::SwitchNode::EcnEnabled"},
         "The same as ENABLE_QCN.",
         {},
         "ENABLE_QCN"},
        {{"USE_DYNAMIC_PFC_THRESHOLD", Flag(), "ns3::SwitchMmu::DynamicThreshold"},
         "The PFC threshold is a fraction of the free shared buffer; otherwise it is fixed."},
        {{"BUFFER_POLICY", buffering, "ns3::SwitchMmu::BufferPolicyType", {WithUltraEthernet}},
         "Decides which frames a switch admits, marks, trims or drops: thresholds as "
         "USE_DYNAMIC_PFC_THRESHOLD says, dynamic or static ones, or a class of one's own."},
        // BUFFER_SIZE wins: it is applied later.
        {{"SWITCH_MODEL", ChosenSwitchModel(), ofModel},
         "The network switches are of this make: ports, buffer, thresholds and PFC headroom are "
         "its own. Not given: as many ports as the topology has."},
        {{"BUFFER_SIZE", BufferSize(), "ns3::SwitchMmu::BufferBytes"},
         "Packet buffer of a switch."},
        {{"ERROR_RATE_PER_LINK", Real(0, 1, true), "ns3::RdmaFabric::ErrorRatePerLink"},
         "Packet loss probability added to that of each link."},
        {{"LINK_RETRY", Flag(), RETRY},
         "Links, NVLinks left out, send frames again that they lose, in order, so that hosts see "
         "no loss (link-level retry of Ultra Ethernet, LLR)."},
        {{"LINK_RETRY_BUFFER",
          Whole("bytes", 0, INT64_MAX),
          "ns3::QbbChannel::ReplayBuffer",
          {WithoutRetry}},
         "Link-level retry: frames that each end of a link keeps until the far end has them, on "
         "the wire; at least one of the longest. 0: enough for the link's rate over its delay."},
        {{"LINK_RETRY_TIMEOUT", Micros(true), "ns3::QbbChannel::ReplayTimeout", {WithoutRetry}},
         "Link-level retry: time after which a frame without an answer is sent again, at least as "
         "long as an answer may take; 0: twice that."},
        {{"LINK_CREDITS", Whole("bytes", 0, INT64_MAX), CREDITS, {WhereNothingIsLossless}},
         "Credit-based flow control (CBFC of Ultra Ethernet) instead of PFC on links, NVLinks left "
         "out: the buffer that each end of a link has for each lossless priority, on the wire, at "
         "least one of the longest packets. 0: PFC."},
        {{"LINK_RETRY_AT", LinksAt("1 or 0", 1, &C::linkRetryAt), &C::linkRetryAt},
         "LINK_RETRY of some links: the last line that names one counts."},
        {{"LINK_CREDITS_AT",
          LinksAt("bytes", INT64_MAX, &C::linkCreditsAt),
          &C::linkCreditsAt,
          {WhereNothingIsLossless}},
         "LINK_CREDITS of some links, 0 for PFC: the last line that names one counts."},
        {{"ROUTING", routing, "ns3::SwitchNode::RoutingPolicyType"},
         "Which of several shortest paths a frame takes. Per flow: ecmp by a hash. After each gap "
         "in a flow: flowlet at random, adaptive-flowlet the least loaded port. Per frame, with "
         "receivers that put frames in order: adaptive the least loaded, spray the next in turn, "
         "random-spray one at random."},
        {{"IN_NETWORK_REDUCTION", Flag(), "ns3::RdmaFabric::InNetworkReduction", {WithoutWorkload}},
         "Network switches add and copy the data of a group's ranks (CollNet). Only over links "
         "that lose nothing."},
        {{"IN_NETWORK_TREES",
          Whole("trees", 0, UINT32_MAX),
          "ns3::RdmaFabric::InNetworkTrees",
          {If("without", "IN_NETWORK_REDUCTION"), WithoutWorkload}},
         "IN_NETWORK_REDUCTION: the most trees that a switch is part of, one for each channel, or "
         "rail, of a group. A channel without room shares a tree of its group; a group without a "
         "tree goes on without CollNet. 0: any number."},
        {{"IN_NETWORK_OPERATIONS",
          Whole("operations", 0, UINT32_MAX),
          "ns3::RdmaFabric::InNetworkOperations",
          {If("without", "IN_NETWORK_REDUCTION"), WithoutWorkload}},
         "IN_NETWORK_REDUCTION: the most operations, a message of a channel each, that a switch "
         "carries out at a time. Others wait, and an operation begins when all its members have "
         "joined. 0: any number."},
        {{"ROUTING_AT", RoutingAt(routings), &C::routingAt},
         "ROUTING of some switches: the last line that names one counts."},
        {{"PLANE", PlaneOfClass(), &C::planes, {WithoutWorkload}, true},
         "Messages of a class leave by that NIC of their host, and so stay on its plane. "
         "SimAI_simulator only."},
        {{"COLLECTIVE_ENGINE", CollectiveEngine(), ENGINE, {WithoutWorkload, WithoutEngines}, true},
         "An engine, by its name, carries out the collectives of these classes of traffic, all if "
         "none is named, where a system file does not say otherwise; NCCL: NCCL does. "
         "SimAI_simulator only."},
        {{"LINK_DOWN", ChangeOfLink(false)},
         "At that time from the start, the link goes down. Of a bundle, all links do, or the one "
         "with that number, from 1 in the order of the topology file."},
        {{"LINK_UP", ChangeOfLink(true)},
         "At that time from the start, the link comes up again; of a bundle as LINK_DOWN says."},
        {{"LINK_RATE", RateOfLink()},
         "At that time from the start, the link gets that rate, in both directions, as a degraded "
         "cable or its repair: t a b rate. A number after the rate says which link of a bundle, as "
         "for LINK_DOWN. Routes, windows and buffers stay those of the rate in the topology file."},
        {{"NODE_DOWN", ChangeOfNode(false)},
         "At that time from the start, all links of a node go down."},
        {{"NODE_UP", ChangeOfNode(true)},
         "At that time from the start, all links of a node come up."},
        {{"QUEUE_WEIGHT", QueueWeight(), "ns3::QbbNetDevice::QueueWeights"},
         "Where priorities 1 to 7 wait at a port of a switch or a NIC, they share the link by "
         "these weights (each 1 if not given)."},
        {{"PAUSE_TIME",
          Micros(false),
          "ns3::QbbNetDevice::PauseTime",
          {WithCreditsButAtNvSwitches}},
         "How long a PFC pause lasts if not renewed; at least as long as two full packets."},
        {{"PFC_WATCHDOG", Micros(true), "ns3::PfcWatchdog::Timeout", {WithCreditsButAtNvSwitches}},
         "How long a queue is paused without a break before it counts as a PFC storm, and a "
         "deadlock is searched for; 0: off."},
        {{"PFC_WATCHDOG_ACTION",
          OneOf(actions),
          "ns3::PfcWatchdog::Action",
          {WithCreditsButAtNvSwitches, If("without", "PFC_WATCHDOG")}},
         "What a PFC storm leads to: a report (a deadlock then ends the run), the loss of what the "
         "queue holds, or sending in spite of the pause for the same time."},
    };
}

std::vector<Entry>
Transport()
{
    const Words recoveries{{"gbn", "ns3::RdmaGoBackN"}, {"irn", "ns3::RdmaIrn"}};
    const auto recovery =
        PlugIn("word or TypeId", Listed(recoveries), "ns3::RdmaLossRecovery", recoveries);
    const auto mode = OneOf({{"per_flow", "false"}, {"persistent", "true"}});
    const auto delivery = OneOf({{"arrival", "false"}, {"acknowledged", "true"}});
    return {
        {{"PACKET_PAYLOAD_SIZE", Whole("bytes", 64, 65000), "ns3::RdmaHw::Mtu"},
         "Message bytes in a full packet."},
        {{"L2_CHUNK_SIZE",
          Whole("bytes", 0, INT64_MAX),
          "ns3::RdmaGoBackN::ChunkBytes",
          {If("without", "L2_BACK_TO_ZERO")}},
         "Go-back-0 restarts at a multiple of this; 0: at the lost packet."},
        {{"L2_ACK_INTERVAL", AckInterval(), "ns3::RdmaHw::AckInterval"},
         "How much the receiver gets before it sends an acknowledgement; 0 and 1: every packet."},
        {{"L2_BACK_TO_ZERO", Flag(), "ns3::RdmaGoBackN::BackToZero"},
         "A loss goes back to the chunk's first byte."},
        {{"L2_WAIT_FOR_ACK", {"anything", "anything"}}, "Read by older simulators."},
        {{"ACK_HIGH_PRIO", Flag(), "ns3::RdmaHw::AckIgnoresPause", {WithCredits}},
         "As in the HPCC simulator: NICs send acknowledgements in spite of a pause of their data's "
         "queue. In switches, they wait with the data."},
        {{"LOSS_RECOVERY", recovery, "ns3::RdmaHw::LossRecoveryType", {WithUltraEthernet}},
         "Go-back-N, or selective repeat as IRN does."},
        {{"REORDER_FRAMES",
          Whole("frames", 0, UINT32_MAX),
          "ns3::RdmaLossRecovery::ReorderFrames",
          {WhereFramesKeepOrder}},
         "Where routing is per frame, how far ahead of the frame that it waits for a receiver "
         "keeps frames that come out of order; those beyond are dropped and asked for again. 0: "
         "4096, or what the path's bandwidth-delay product holds if that is more."},
        {{"REORDER_TIME",
          Micros(true),
          "ns3::RdmaLossRecovery::ReorderTime",
          {WhereFramesKeepOrder}},
         "Where routing is per frame, the time after which a receiver takes a frame for lost; "
         "0: in a fabric that may lose frames, 100 or twice the difference of the paths' delays if "
         "that is longer; else never."},
        {{"RTO", Micros(true), {"ns3::RdmaGoBackN::Timeout", "ns3::RdmaIrn::RtoHigh"}},
         "Retransmission timeout, with irn at most 100 while few packets are in flight; 0: two "
         "idle round trips of the path and the time in which a full buffer drains into its slowest "
         "link, and at least 4000; with irn at least 320, or 100 while few packets are in flight, "
         "which without PFC leaves out the buffer."},
        {{"QPS_PER_CONNECTION", Whole("queue pairs", 1, 1024), "ns3::RdmaFabric::QpsPerConnection"},
         "Number of queue pairs, each with its own source port, that a message is split over; of "
         "messages of ranks, on each NIC."},
        {{"QP_MODE", mode, "ns3::RdmaFabric::PersistentQueuePairs"},
         "New queue pairs for each message, or for those of a collective's channel under way at "
         "once; or congestion state kept between messages."},
        {{"MESSAGE_DELIVERY", delivery, "ns3::RdmaFabric::DeliverOnAck", {WithoutWorkload}},
         "When a receiver has a message: at its last byte's arrival, or, as with ASTRA-sim's ns-3 "
         "back end and SimAI, when its sender has the last acknowledgement. SimAI_simulator only."},
        {{"NIC_TOTAL_PAUSE_TIME", Micros(true), "ns3::RdmaFabric::NicPauseTime"},
         "How long every NIC pauses its switch from the start, as a slow receiver does."},
    };
}

std::vector<Entry>
Congestion()
{
    const auto mode =
        PlugIn("number or TypeId",
               "0 or 12 none, 1 DCQCN, 3 HPCC, 7 TIMELY of the HPCC simulator, 8 DCTCP, 10 "
               "HPCC-PINT, ns3::RdmaTimely (the paper's), ns3::RdmaSwift",
               "ns3::RdmaCongestionOps",
               {{"0", "ns3::RdmaNoCongestionControl"},
                {"1", "ns3::RdmaDcqcn"},
                {"3", "ns3::RdmaHpcc"},
                {"7", "ns3::RdmaTimelyHpccArtifact"},
                {"8", "ns3::RdmaDctcp"},
                {"10", "ns3::RdmaHpccPint"},
                // ASTRA-sim's network files write it for a window and nothing else.
                {"12", "ns3::RdmaNoCongestionControl"}});
    return {
        {{"CC_MODE", mode, "ns3::RdmaHw::CongestionControl", {WithUltraEthernet}},
         "Congestion control."},
        {{"HAS_WIN", Flag(), "ns3::RdmaDriver::HasWindow"},
         "Bytes in flight are bounded by a window: those that fill all paths that the packets may "
         "take, even if an acknowledgement waits for a packet of the other direction on each "
         "link."},
        {{"GLOBAL_T", Flag(), "ns3::RdmaFabric::GlobalBaseRtt"},
         "All pairs use the largest base RTT and BDP of any pair. As in the HPCC simulator, that "
         "BDP is the window: acknowledgements that wait are not allowed for."},
        {{"VAR_WIN", Flag(), "ns3::RdmaDriver::VariableWindow", {If("without", "HAS_WIN")}},
         "The window shrinks with the sending rate."},
        {{"RATE_BOUND", Flag(), "ns3::RdmaDriver::RateBound"}, "The rate limiter is on."},
    };
}

/// Keys that are parameters of algorithms, which have defaults of their own.
std::vector<Entry>
Algorithms()
{
    // A configuration's rates are for its own links: nothing is scaled.
    const std::vector<std::pair<std::string, bool>> unscaled{
        {"ns3::RdmaDcqcnBase::ScaleIncrease", false},
        {"ns3::RdmaTimelyBase::ScaleIncrease", false}};
    const auto exact = [](const auto&, const auto&) { return "as telemetry is exact here"; };
    auto increase = unscaled;
    increase.emplace_back("ns3::RdmaHpccBase::RateBased", true);
    std::vector<Entry> rows{
        {{"FAST_REACT", Flag(), "ns3::RdmaHpccBase::FastReact"},
         "HPCC reacts to each ACK, otherwise once per RTT."},
        {{"ALPHA_RESUME_INTERVAL", Micros(false), "ns3::RdmaDcqcnBase::AlphaResumeInterval"},
         "DCQCN: time between updates of alpha."},
        {{"RATE_DECREASE_INTERVAL", Micros(false), "ns3::RdmaDcqcnBase::RateDecreaseInterval"},
         "DCQCN: least time between rate decreases."},
        {{"RP_TIMER", Micros(false), "ns3::RdmaDcqcnBase::RpTimer"},
         "DCQCN: time between rate increases."},
        {{"CLAMP_TARGET_RATE", Flag(), "ns3::RdmaDcqcnBase::ClampTargetRate"},
         "DCQCN: each decrease sets the target rate to the current rate."},
        {{"EWMA_GAIN", Real(0, 1, false), "ns3::RdmaCongestionOps::EwmaGain"},
         "DCQCN and DCTCP: weight of the newest sample."},
        {{"FAST_RECOVERY_TIMES", Whole("rounds", 0, 1000), "ns3::RdmaDcqcnBase::FastRecoveryTimes"},
         "DCQCN: increases in fast recovery."},
        {{"RATE_AI",
          Rate(),
          {"ns3::RdmaDcqcnBase::RateAi",
           "ns3::RdmaHpccBase::RateAi",
           "ns3::RdmaTimelyBase::RateAi"}},
         "Step of additive increase.",
         increase},
        {{"RATE_HAI", Rate(), "ns3::RdmaCongestionOps::RateHai"},
         "Step of hyper increase.",
         unscaled},
        {{"MIN_RATE", Rate(), "ns3::RdmaCongestionOps::MinRate"},
         "Least sending rate of a queue pair."},
        {{"DCTCP_RATE_AI", Rate(), "ns3::RdmaDctcp::RateAi"},
         "DCTCP: increase per window.",
         {{"ns3::RdmaDctcp::RateBased", true}}},
        // Applied after EWMA_GAIN, so that it wins over it.
        {{"DCTCP_GAIN", Real(0, 1, false), "ns3::RdmaDctcp::EwmaGain"},
         "DCTCP: weight of the newest sample, if not EWMA_GAIN."},
        {{"U_TARGET", Real(0, 1, false), "ns3::RdmaHpccBase::TargetUtilization"},
         "HPCC: link utilisation steered to."},
        {{"MI_THRESH", Whole("rounds", 0, 1'000'000), "ns3::RdmaHpccBase::MaxStage"},
         "HPCC: additive rounds before a multiplicative one."},
        {{"INT_MULTI", Whole("number", 1, 1024), {}, {exact}},
         "HPCC: unit of telemetry counters; they are exact here, so any value gives the same."},
        {{"MULTI_RATE", Flag(), "ns3::RdmaHpcc::MultiRate"}, "HPCC: a rate for each hop."},
        {{"SAMPLE_FEEDBACK", Flag(), "ns3::RdmaHpcc::SampleFeedback"},
         "HPCC: only ACKs with a queue count."},
        {{"PINT_LOG_BASE",
          Real(1.0003, 2, true),
          {"ns3::RdmaHpccPint::LogBase", "ns3::PintEncoder::LogBase"}},
         "HPCC-PINT: base of the encoding."},
        {{"PINT_PROB", Real(0, 1, false), "ns3::RdmaHpccPint::FeedbackProbability"},
         "HPCC-PINT: share of ACKs that count."},
    };
    for (Entry& row : rows)
    {
        row.sentence += row.key.target.attributes.empty() ? "" : " Not given: the algorithm's own.";
    }
    return rows;
}

/// Applied after the keys that it takes the place of.
std::vector<Entry>
UltraEthernet()
{
    const auto spreading =
        OneOf({{"oblivious", "Oblivious"}, {"avoid", "Avoid"}, {"reps", "Recycle"}});
    return {
        {{"TRANSPORT", ChosenTransport(), "ns3::RdmaHw::TransportType"},
         "Protocol of connections. UEC: Ultra Ethernet 1.0, with its congestion control (NSCC), "
         "delivery out of order, a path for each packet, and trimming at switches without PFC "
         "(ENABLE_PFC 1: with it), whatever CC_MODE, LOSS_RECOVERY, BUFFER_POLICY and KMIN_MAP "
         "say. roce: as these say. Or a class of one's own, which may let receivers grant what "
         "senders send."},
        {{"UEC_CC",
          UltraEthernetCongestion(),
          {"ns3::UecTransport::Nscc", "ns3::UecTransport::Rccc", "ns3::UecTrimming::MarksEdge"}},
         "Ultra Ethernet: congestion control at senders, by a window (nscc), at receivers, by "
         "credits (rccc), or both. rccc and both need UEC_DELIVERY rud."},
        {{"UEC_DELIVERY",
          UltraEthernetDelivery(),
          {"ns3::UecTransport::Ordered", "ns3::UecTransport::Idempotent"}},
         "Ultra Ethernet: packets of a connection take all paths and are delivered as they come "
         "(rud), also twice, by receivers without state (rudi), or take one path and keep their "
         "order (rod)."},
        {{"UEC_SPREADING", spreading, "ns3::UecTransport::Spreading"},
         "Ultra Ethernet: which path a packet takes. oblivious: one after the other; avoid: the "
         "same without those on which packets were marked, trimmed or lost; reps: those again on "
         "which packets were not marked."},
    };
}

std::vector<Entry>
MonitorsAndRun()
{
    return {
        {{"MON_START", Micros(true), &C::monStartPs}, "Monitors begin to sample."},
        {{"MON_END", Micros(true), &C::monEndPs}, "Monitors end."},
        {{"QP_MON_INTERVAL", Micros(false), &C::qpMonIntervalPs}, "Rate and CNP samples."},
        {{"QLEN_MON_INTERVAL", Micros(false), &C::qlenMonIntervalPs}, "Queue length samples."},
        {{"BW_MON_INTERVAL", Micros(false), &C::bwMonIntervalPs}, "Bandwidth samples."},
        {{"QLEN_MON_START", Micros(true), &C::qlenMonStartPs}, "MON_START of queue lengths alone."},
        {{"QLEN_MON_END", Micros(true), &C::qlenMonEndPs}, "MON_END of queue lengths alone."},
        {{"MONITOR", Monitor(), &C::monitors}, "A monitor of your own also observes the fabric."},
        {{"GPUS_PER_SERVER", Whole("GPUs", 0, 1'000'000), &C::gpusPerServer},
         "Hosts of a server; 0: as the topology says."},
        {{"SEED", Whole("number", 1, UINT32_MAX), "RngSeed"}, "Seed of all random variables."},
    };
}

/// Keys of ConWeave's simulator, which is made from HPCC's, that have an equal here.
std::vector<Entry>
Conweave()
{
    auto routing = OneOf(
        {{"0", "ns3::EcmpRouting"}, {"2", "ns3::AdaptiveRouting"}, {"6", "ns3::FlowletRouting"}});
    routing.range = "0 (ECMP), 2 (DRILL) or 6 (LetFlow); 3 (CONGA) is ROUTING ns3::CongaRouting in "
                    "docs/source/howto/own-plug-ins, 9 (ConWeave) has no equal";
    const auto recovery = OneOf({{"0", "ns3::RdmaGoBackN"}, {"1", "ns3::RdmaIrn"}});
    return {
        {{"LB_MODE", routing, "ns3::SwitchNode::RoutingPolicyType"},
         "ConWeave's simulator: ROUTING ecmp, adaptive or flowlet.",
         {},
         "ROUTING"},
        {{"ENABLE_IRN", recovery, "ns3::RdmaHw::LossRecoveryType"},
         "ConWeave's simulator: LOSS_RECOVERY gbn or irn.",
         {},
         "LOSS_RECOVERY"},
        {{"ENABLE_PFC", PfcEnabled(), "ns3::SwitchMmu::LosslessMask"},
         "ConWeave's simulator: 0: no priority has PFC."},
        {{"RANDOM_SEED", Whole("number", 1, UINT32_MAX), "RngSeed"},
         "ConWeave's simulator: SEED.",
         {},
         "SEED"},
        {{"CNP_OUTPUT_FILE", Path(), &C::cnpMonFile},
         "ConWeave's simulator: CNP_MON_FILE.",
         {},
         "CNP_MON_FILE"},
        {{"SW_MONITORING_INTERVAL", Nanos(), &C::qlenMonIntervalPs},
         "ConWeave's simulator: QLEN_MON_INTERVAL.",
         {},
         "QLEN_MON_INTERVAL"},
        {{"FLOWGEN_START_TIME", StopTime(), &C::qlenMonStartPs},
         "ConWeave's simulator: its switches are sampled from then on, as QLEN_MON_START says.",
         {},
         "QLEN_MON_START"},
        {{"FLOWGEN_STOP_TIME", StopTime(), &C::qlenMonEndPs},
         "ConWeave's simulator: its switches are sampled until then, as QLEN_MON_END says.",
         {},
         "QLEN_MON_END"},
    };
}

/// Keys of HPCC's simulator and of those made from it that change nothing here.
std::vector<Entry>
WithoutEqual()
{
    const FabricConfFormat anything{"anything", "anything"};
    const std::string ofConweave = "Parameter of ConWeave (LB_MODE 9), which is not modelled.";
    const std::string otherFile = "Output of ConWeave's simulator. ";
    return {
        {{"DATA_RATE", anything}, "Read by HPCC's simulator and not used: links have their rates."},
        {{"LINK_DELAY", anything},
         "Read by HPCC's simulator and not used: links have their delays."},
        {{"LOAD", anything}, "ConWeave's simulator: the load that its flow file was made for."},
        {{"CONWEAVE_TX_EXPIRY_TIME", anything}, ofConweave},
        {{"CONWEAVE_REPLY_TIMEOUT_EXTRA", anything}, ofConweave},
        {{"CONWEAVE_EXTRA_VOQ_FLUSH_TIME", anything}, ofConweave},
        {{"CONWEAVE_PATH_PAUSE_TIME", anything}, ofConweave},
        {{"CONWEAVE_DEFAULT_VOQ_WAITING_TIME", anything}, ofConweave},
        {{"FLOW_INPUT_FILE", anything}, otherFile + "FCT_OUTPUT_FILE has the flows."},
        {{"UPLINK_MON_FILE", anything}, otherFile + "BW_MON_FILE has the ports."},
        {{"CONN_MON_FILE", anything}, otherFile + "RATE_MON_FILE has the queue pairs under way."},
        {{"EST_ERROR_MON_FILE", anything}, otherFile + "Of ConWeave alone."},
        {{"VOQ_MON_FILE", anything}, otherFile + "Of ConWeave alone."},
        {{"VOQ_MON_DETAIL_FILE", anything}, otherFile + "Of ConWeave alone."},
    };
}

/// The keys of a configuration, under way.
struct Keys
{
    /// Add those of a group.
    void Add(const std::vector<Entry>& group, KeyTold told = KeyTold::InForce)
    {
        for (const Entry& entry : group)
        {
            const auto& [name, format, target, idle, isToldOfFiles] = entry.key;
            KeyRow key{{name, {format.range, {}}, entry.sentence}};
            key.repeats = format.range.ends_with("may be repeated");
            key.type = format.type;
            key.attributes = target.attributes;
            key.hasEffect = !format.fields.empty() || format.take;
            key.sameAs = entry.sameAs;
            key.isToldOfFiles = isToldOfFiles;
            key.note = target.note ? target.note(conf) : nullptr;
            const auto meant = std::ranges::find(all, key.sameAs, &KeyRow::name);
            key.place = static_cast<std::size_t>(meant - all.begin()); // the end: its own
            if (told == KeyTold::InForce)
            {
                key.value.standard =
                    format.take ? format.defaultValue : TextOf(entry, conf, GetOriginalDefault);
            }
            Bind(key, entry, told);
            all.push_back(std::move(key));
        }
    }

    /// Let a row take values, and tell them, and why they change nothing.
    void Bind(KeyRow& row, const Entry& entry, KeyTold told) const
    {
        row.getInForce = [entry, key = row, told, &target = conf] {
            return TextInForce(entry, key, target, told);
        };
        row.value.take = [entry, key = row, &target = conf](std::string_view text) {
            Take(entry, key, target, text);
            return true;
        };
        row.idle = [reasons = entry.key.idle, use = use, &target = conf] {
            std::string reason;
            for (auto each = reasons.begin(); each != reasons.end() && reason.empty(); ++each)
            {
                reason = (*each)(target, use);
            }
            return reason;
        };
    }

    FabricConf& conf;
    ConfUse use;
    std::vector<KeyRow> all{};
};

} // namespace

std::vector<KeyRow>
KeyRows(FabricConf& conf, const ConfUse& use)
{
    Keys keys{conf, use};
    keys.Add(InputAndOutput());
    keys.Add(Marking());
    keys.Add(Switches());
    keys.Add(Transport());
    keys.Add(Congestion());
    keys.Add(Algorithms(), KeyTold::OfChosen);
    keys.Add(UltraEthernet());
    keys.Add(MonitorsAndRun());
    keys.Add(Conweave(), KeyTold::Never);
    keys.Add(WithoutEqual(), KeyTold::Never);
    return std::move(keys.all);
}

} // namespace ns3::conf_format
