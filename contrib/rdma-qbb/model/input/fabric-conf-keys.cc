/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf-keys.h"

#include "fabric-conf-key-kinds.h"
#include "rdma-congestion-factory.h"
#include "rdma-qbb/model/attribute/collective-offload.h"

#include "ns3/type-id.h"

#include <cmath>
#include <string>
#include <utility>

namespace ns3
{

namespace
{

using namespace conf_keys;

std::vector<Rule>
InputAndOutputRules()
{
    using C = FabricConf;
    return {
        File("TOPOLOGY_FILE", &C::topologyFile, "Nodes and links of the cluster."),
        File("FLOW_FILE", &C::flowFile, "Flows to run; may be missing."),
        File("TRACE_FILE", &C::traceFile, "Nodes whose packet events are traced; may be missing."),
        File("TRACE_OUTPUT_FILE", &C::traceOutputFile, "Packet-event trace."),
        File("FCT_OUTPUT_FILE", &C::fctOutputFile, "Flow completion times."),
        File("PFC_OUTPUT_FILE", &C::pfcOutputFile, "PFC pauses and resumes."),
        File("QLEN_MON_FILE", &C::qlenMonFile, "Queue lengths of switch ports."),
        File("BW_MON_FILE", &C::bwMonFile, "Bandwidth of ports."),
        File("RATE_MON_FILE", &C::rateMonFile, "Sending rates of queue pairs."),
        File("CNP_MON_FILE", &C::cnpMonFile, "Congestion notifications of queue pairs."),
        Flag("ENABLE_TRACE", &C::enableTrace, "Writes the packet-event trace."),
        StopTime(),
    };
}

std::vector<Rule>
MarkingRules()
{
    constexpr const char* KMIN = "ns3::SwitchMmu::EcnKmin";
    constexpr const char* KMAX = "ns3::SwitchMmu::EcnKmax";
    constexpr const char* PMAX = "ns3::SwitchMmu::EcnPmax";
    const RateUnit kilobytes{1000, HUGE_VAL, "KB (1000 bytes), 0 or more"};
    const RateUnit bytes{1, HUGE_VAL, "0 or more"};
    const RateUnit probability{1, 1, "from 0 to 1"};
    return {
        // A map counts, whatever the flat value: it is applied after it.
        ForAllRates("KMAX", KMAX, "bytes", bytes, "kmax for all rates without KMAX_MAP."),
        ForAllRates("KMIN", KMIN, "bytes", bytes, "kmin for all rates without KMIN_MAP."),
        ForAllRates("PMAX", PMAX, "number", probability, "pmax for all rates without PMAX_MAP."),
        ByRate("KMAX_MAP",
               KMAX,
               kilobytes,
               "By link rate, the queue length from which every frame is marked."),
        ByRate("KMIN_MAP",
               KMIN,
               kilobytes,
               "By link rate, the queue length up to which no frame is marked."),
        ByRate("PMAX_MAP",
               PMAX,
               probability,
               "By link rate, the marking probability just below kmax."),
    };
}

Rule
EcnEnabled(const char* name, const char* description)
{
    Rule rule = Flag(name, "ns3::SwitchNode::EcnEnabled", description);
    rule.sameAs = "ENABLE_QCN";
    return rule;
}

/// Another simulator's name for what a key says. What is in force is told under that key.
Rule
NameElsewhere(Rule rule, const char* sameAs)
{
    rule.key.defaultValue.clear();
    rule.get = nullptr;
    rule.sameAs = sameAs;
    return rule;
}

/// 0 takes PFC from all priorities, 1 leaves it to those that carry RDMA.
Rule
PfcEnabled(const char* name, const char* description)
{
    const std::string attribute = "ns3::SwitchMmu::LosslessMask";
    FabricConfKey key{name, "flag", "0 or 1", "", description, true, {attribute}};
    const auto settings = [key, attribute](const FabricConf&, const InputLines& line) {
        const auto enabled = ParseFlag(One(line, key));
        if (!enabled)
        {
            Refuse(line, key, line.Fields()[1]);
        }
        std::vector<AttributeSetting> all;
        if (!*enabled)
        {
            all.push_back({attribute, Create<UintegerValue>(0)});
        }
        return all;
    };
    return {key, nullptr, nullptr, settings};
}

/// Keys of ConWeave's simulator, which is made from HPCC's, that have an equal here.
std::vector<Rule>
ConweaveRules()
{
    return {
        NameElsewhere(OneOf("LB_MODE",
                            "ns3::SwitchNode::RoutingPolicyType",
                            {{"0", "ns3::EcmpRouting"},
                             {"2", "ns3::AdaptiveRouting"},
                             {"6", "ns3::FlowletRouting"}},
                            "ConWeave's simulator: ROUTING ecmp, adaptive or flowlet."),
                      "ROUTING"),
        NameElsewhere(OneOf("ENABLE_IRN",
                            "ns3::RdmaHw::LossRecoveryType",
                            {{"0", "ns3::RdmaGoBackN"}, {"1", "ns3::RdmaIrn"}},
                            "ConWeave's simulator: LOSS_RECOVERY gbn or irn."),
                      "LOSS_RECOVERY"),
        PfcEnabled("ENABLE_PFC", "ConWeave's simulator: 0: no priority has PFC."),
        NameElsewhere(Whole("RANDOM_SEED",
                            "RngSeed",
                            {1, UINT32_MAX},
                            "number",
                            "ConWeave's simulator: SEED."),
                      "SEED"),
    };
}

/// `ACCL classes...`: whose collectives the NICs' engines carry out.
Rule
CollectiveEngine(const char* name, const char* description)
{
    const std::string attribute = CollectiveOffload::GetTypeId().GetName() + "::Engine";
    FabricConfKey
        key{name, "words", CollectiveOffload::EXPECTED, "NCCL", description, true, {attribute}};
    const auto textOf = [](const Ptr<const AttributeValue>& value) {
        return dynamic_cast<const StringValue&>(*value).Get();
    };
    const auto settings = [key, attribute](const FabricConf&, const InputLines& line) {
        const std::string text(line.RestFrom(1));
        if (!CollectiveOffload::Parse(text))
        {
            Refuse(line, key, text);
        }
        return std::vector<AttributeSetting>{{attribute, Create<StringValue>(text)}};
    };
    const auto get = [attribute, textOf](const FabricConf&) {
        return textOf(GetDefault(attribute));
    };
    return {key, nullptr, get, settings, textOf};
}

std::vector<Rule>
SwitchRules()
{
    return {
        EcnEnabled("ENABLE_QCN", "Switches mark ECN and receivers notify senders."),
        EcnEnabled("ECN_ENABLED", "The same as ENABLE_QCN."),
        Flag("USE_DYNAMIC_PFC_THRESHOLD",
             "ns3::SwitchMmu::DynamicThreshold",
             "The PFC threshold is a fraction of the free shared buffer; otherwise it is fixed."),
        BufferSize("BUFFER_SIZE", "ns3::SwitchMmu::BufferBytes", "Packet buffer of a switch."),
        Real("ERROR_RATE_PER_LINK",
             {"ns3::RdmaFabric::ErrorRatePerLink"},
             {0, 1},
             "Packet loss probability added to that of each link."),
        PlugIn({"ROUTING",
                "word or TypeId",
                Listed(ROUTINGS) + ", or a TypeId",
                "",
                "Which of several shortest paths a frame takes. Per flow: ecmp by a hash. After "
                "each gap in a flow: flowlet at random, adaptive-flowlet the least loaded port. "
                "Per frame, with receivers that put frames in order: adaptive the least loaded, "
                "spray the next in turn, random-spray one at random.",
                true},
               "ns3::SwitchNode::RoutingPolicyType",
               "ns3::RoutingPolicy",
               ROUTINGS),
        Flag("IN_NETWORK_REDUCTION",
             "ns3::RdmaFabric::InNetworkReduction",
             "Network switches add and copy the data of a group's ranks (CollNet). Only over links "
             "that lose nothing."),
        RoutingAt("ROUTING_AT", "ROUTING of some switches: the last line that names one counts."),
        PlaneOfClass(
            "PLANE",
            "Messages of a class leave by that NIC of their host, and so stay on its plane. "
            "SimAI_simulator only."),
        CollectiveEngine("COLLECTIVE_ENGINE",
                         "ACCL: engines in the NICs carry out the collectives of these classes of "
                         "traffic, all if none is named, where a system file does not say "
                         "otherwise; NCCL: NCCL does. SimAI_simulator only."),
        LinkTurns("LINK_DOWN", false, "At that time from the start, the link goes down."),
        LinkTurns("LINK_UP", true, "At that time from the start, the link comes up again."),
        NodeChange("NODE_DOWN", false, "At that time from the start, all links of a node go down."),
        NodeChange("NODE_UP", true, "At that time from the start, all links of a node come up."),
        QueueWeight("QUEUE_WEIGHT",
                    "ns3::QbbNetDevice::QueueWeights",
                    "Where priorities 1 to 7 wait at a port of a switch or a NIC, they share the "
                    "link by these weights (each 1 if not given)."),
        Micros("PAUSE_TIME",
               "ns3::QbbNetDevice::PauseTime",
               false,
               "How long a PFC pause lasts if not renewed; at least as long as two full packets."),
        Micros("PFC_WATCHDOG",
               "ns3::PfcWatchdog::Timeout",
               true,
               "How long a queue is paused without a break before it counts as a PFC storm, and a "
               "deadlock is searched for; 0: off."),
        OneOf("PFC_WATCHDOG_ACTION",
              "ns3::PfcWatchdog::Action",
              {{"alert", "Alert"}, {"drop", "Drop"}, {"forward", "Forward"}},
              "What a PFC storm leads to: a report (a deadlock then ends the run), the loss of "
              "what the queue holds, or sending in spite of the pause for the same time."),
    };
}

std::vector<Rule>
TransportRules()
{
    return {
        Whole("PACKET_PAYLOAD_SIZE",
              "ns3::RdmaHw::Mtu",
              {64, 65000},
              "bytes",
              "Message bytes in a full packet."),
        Whole("L2_CHUNK_SIZE",
              "ns3::RdmaGoBackN::ChunkBytes",
              {0, INT64_MAX},
              "bytes",
              "Go-back-0 restarts at a multiple of this; 0: at the lost packet."),
        AckInterval("L2_ACK_INTERVAL",
                    "ns3::RdmaHw::AckInterval",
                    "How much the receiver gets before it sends an acknowledgement; 0 and 1: every "
                    "packet."),
        Flag("L2_BACK_TO_ZERO",
             "ns3::RdmaGoBackN::BackToZero",
             "A loss goes back to the chunk's first byte."),
        NoEffect("L2_WAIT_FOR_ACK", "Read by older simulators."),
        Flag("ACK_HIGH_PRIO",
             "ns3::RdmaHw::AckIgnoresPause",
             "As in the HPCC simulator: NICs send acknowledgements in spite of a pause of their "
             "data's queue. In switches, they wait with the data."),
        PlugIn({"LOSS_RECOVERY",
                "word or TypeId",
                "gbn or irn, or a TypeId",
                "",
                "Go-back-N, or selective repeat as IRN does.",
                true},
               "ns3::RdmaHw::LossRecoveryType",
               "ns3::RdmaLossRecovery",
               {{"gbn", "ns3::RdmaGoBackN"}, {"irn", "ns3::RdmaIrn"}}),
        Whole("REORDER_FRAMES",
              "ns3::RdmaLossRecovery::ReorderFrames",
              {2, UINT16_MAX},
              "frames",
              "Where routing is per frame, how far ahead of the frame that it waits for a receiver "
              "keeps frames that come out of order; those beyond are dropped and asked for again."),
        Micros(
            "REORDER_TIME",
            "ns3::RdmaLossRecovery::ReorderTime",
            true,
            "Where routing is per frame, the time after which a receiver takes a frame for lost; "
            "0: 100 in a fabric that may lose frames, else never."),
        Rto("RTO",
            "Retransmission timeout; 0: two idle round trips of the path, at least 4000 with gbn, "
            "and with irn 320, or 100 while few packets are in flight."),
        Whole(
            "QPS_PER_CONNECTION",
            "ns3::RdmaFabric::QpsPerConnection",
            {1, 1024},
            "queue pairs",
            "Number of queue pairs, each with its own source port, that a message is split over."),
        OneOf("QP_MODE",
              "ns3::RdmaFabric::PersistentQueuePairs",
              {{"per_flow", "false"}, {"persistent", "true"}},
              "New queue pairs for each message, or for those of a collective's channel under way "
              "at once; "
              "or congestion state kept between messages."),
        OneOf("MESSAGE_DELIVERY",
              "ns3::RdmaFabric::DeliverOnAck",
              {{"arrival", "false"}, {"acknowledged", "true"}},
              "When a receiver has a message: at its last byte's arrival, or, as with ASTRA-sim's "
              "ns-3 back end and SimAI, when its sender has the last acknowledgement. "
              "SimAI_simulator only."),
        Micros("NIC_TOTAL_PAUSE_TIME",
               "ns3::RdmaFabric::NicPauseTime",
               true,
               "How long every NIC pauses its switch from the start, as a slow receiver does."),
    };
}

/// @return the words of CC_MODE
Words
CongestionWords()
{
    Words words;
    for (const CongestionMode& mode : GetCongestionModes())
    {
        if (!mode.typeName.ends_with(mode.word)) // a TypeId's name is no word
        {
            words.emplace_back(mode.word.data(), mode.typeName.data());
        }
    }
    return words;
}

std::vector<Rule>
CongestionRules()
{
    return {
        PlugIn({"CC_MODE",
                "number or TypeId",
                "0 or 12 none, 1 DCQCN, 3 HPCC, 7 TIMELY of the HPCC simulator, 8 DCTCP, "
                "10 HPCC-PINT, or a TypeId such as ns3::RdmaTimely (the paper's) or "
                "ns3::RdmaSwift",
                "",
                "Congestion control.",
                true},
               "ns3::RdmaHw::CongestionControl",
               "ns3::RdmaCongestionOps",
               CongestionWords()),
        Flag(
            "HAS_WIN",
            "ns3::RdmaDriver::HasWindow",
            "Bytes in flight are bounded by a window of one BDP, of all paths that the packets may "
            "take."),
        Flag("GLOBAL_T",
             "ns3::RdmaFabric::GlobalBaseRtt",
             "All pairs use the largest base RTT and BDP of any pair."),
        Flag("VAR_WIN",
             "ns3::RdmaDriver::VariableWindow",
             "The window shrinks with the sending rate."),
        Flag("RATE_BOUND", "ns3::RdmaDriver::RateBound", "The rate limiter is on."),
    };
}

/// Writes the value of the attribute that the chosen congestion control, or its switches, have.
std::string
ValueOfChosen(const Rule& rule)
{
    const TypeId chosen = AttributeDefault<TypeIdValue>("ns3::RdmaHw::CongestionControl");
    for (const std::string& attribute : rule.key.attributes)
    {
        for (const DeclaredAttribute& each : FindAttributes(attribute))
        {
            if (each.type == chosen || chosen.IsChildOf(each.type))
            {
                return rule.textOf(each.information.initialValue);
            }
        }
    }
    return "";
}

/// Keys that are parameters of algorithms, which have defaults of their own.
std::vector<Rule>
AlgorithmRules()
{
    const std::string any = "ns3::RdmaCongestionOps::";
    const std::string dcqcn = "ns3::RdmaDcqcnBase::";
    const std::string hpcc = "ns3::RdmaHpccBase::";
    const std::string dctcp = "ns3::RdmaDctcp::";
    const std::string timely = "ns3::RdmaTimelyBase::";
    // A configuration's rates are for its own links: nothing is scaled.
    const Constants unscaled{{dcqcn + "ScaleIncrease", false}, {timely + "ScaleIncrease", false}};
    const Constants increase{{dcqcn + "ScaleIncrease", false},
                             {timely + "ScaleIncrease", false},
                             {hpcc + "RateBased", true}};
    std::vector<Rule> rules{
        Flag("FAST_REACT",
             "ns3::RdmaHpccBase::FastReact",
             "HPCC reacts to each ACK, otherwise once per RTT."),
        Micros("ALPHA_RESUME_INTERVAL",
               "ns3::RdmaDcqcnBase::AlphaResumeInterval",
               false,
               "DCQCN: time between updates of alpha."),
        Micros("RATE_DECREASE_INTERVAL",
               "ns3::RdmaDcqcnBase::RateDecreaseInterval",
               false,
               "DCQCN: least time between rate decreases."),
        Micros("RP_TIMER",
               "ns3::RdmaDcqcnBase::RpTimer",
               false,
               "DCQCN: time between rate increases."),
        Flag("CLAMP_TARGET_RATE",
             "ns3::RdmaDcqcnBase::ClampTargetRate",
             "DCQCN: each decrease sets the target rate to the current rate."),
        Real("EWMA_GAIN",
             {any + "EwmaGain"},
             {0, 1, false},
             "DCQCN and DCTCP: weight of the newest sample."),
        Whole("FAST_RECOVERY_TIMES",
              "ns3::RdmaDcqcnBase::FastRecoveryTimes",
              {0, 1000},
              "rounds",
              "DCQCN: increases in fast recovery."),
        Rate("RATE_AI",
             {dcqcn + "RateAi", hpcc + "RateAi", timely + "RateAi"},
             "Step of additive increase.",
             increase),
        Rate("RATE_HAI", {any + "RateHai"}, "Step of hyper increase.", unscaled),
        Rate("MIN_RATE", {any + "MinRate"}, "Least sending rate of a queue pair."),
        Rate("DCTCP_RATE_AI",
             {dctcp + "RateAi"},
             "DCTCP: increase per window.",
             {{dctcp + "RateBased", true}}),
        // Applied after EWMA_GAIN, so that it wins over it.
        Real("DCTCP_GAIN",
             {dctcp + "EwmaGain"},
             {0, 1, false},
             "DCTCP: weight of the newest sample, if not EWMA_GAIN."),
        Real("U_TARGET",
             {hpcc + "TargetUtilization"},
             {0, 1, false},
             "HPCC: link utilisation steered to."),
        Whole("MI_THRESH",
              "ns3::RdmaHpccBase::MaxStage",
              {0, 1'000'000},
              "rounds",
              "HPCC: additive rounds before a multiplicative one."),
        CheckedOnly("INT_MULTI",
                    {1, 1024},
                    "HPCC: unit of telemetry counters; they are exact here, so any value gives the "
                    "same."),
        Flag("MULTI_RATE", "ns3::RdmaHpcc::MultiRate", "HPCC: a rate for each hop."),
        Flag("SAMPLE_FEEDBACK",
             "ns3::RdmaHpcc::SampleFeedback",
             "HPCC: only ACKs with a queue count."),
        Real("PINT_LOG_BASE",
             {"ns3::RdmaHpccPint::LogBase", "ns3::PintEncoder::LogBase"},
             {1, 2, false},
             "HPCC-PINT: base of the encoding."),
        Real("PINT_PROB",
             {"ns3::RdmaHpccPint::FeedbackProbability"},
             {0, 1, false},
             "HPCC-PINT: share of ACKs that count."),
    };
    for (Rule& rule : rules)
    {
        if (!rule.key.attributes.empty())
        {
            rule.key.defaultValue.clear();
            rule.key.description += " Not given: the algorithm's own.";
            rule.get = [rule](const FabricConf&) { return ValueOfChosen(rule); };
        }
    }
    return rules;
}

std::vector<Rule>
MonitorAndRunRules()
{
    using C = FabricConf;
    return {
        Micros("MON_START", &C::monStartPs, true, "Monitors begin to sample."),
        Micros("MON_END", &C::monEndPs, true, "Monitors end."),
        Micros("QP_MON_INTERVAL", &C::qpMonIntervalPs, false, "Rate and CNP samples."),
        Micros("QLEN_MON_INTERVAL", &C::qlenMonIntervalPs, false, "Queue length samples."),
        Micros("BW_MON_INTERVAL", &C::bwMonIntervalPs, false, "Bandwidth samples."),
        Micros("QLEN_MON_START", &C::qlenMonStartPs, true, "MON_START of queue lengths alone."),
        Micros("QLEN_MON_END", &C::qlenMonEndPs, true, "MON_END of queue lengths alone."),
        Whole("GPUS_PER_SERVER",
              &C::gpusPerServer,
              {0, 1'000'000},
              "GPUs",
              "Hosts of a server; 0: as the topology says."),
        Whole("SEED", "RngSeed", {1, UINT32_MAX}, "number", "Seed of all random variables."),
    };
}

} // namespace

const std::vector<Rule>&
FabricConfRules()
{
    static const std::vector<Rule> rules = [] {
        std::vector<Rule> all;
        for (auto group : {InputAndOutputRules,
                           MarkingRules,
                           SwitchRules,
                           TransportRules,
                           CongestionRules,
                           AlgorithmRules,
                           MonitorAndRunRules,
                           ConweaveRules})
        {
            for (Rule& rule : group())
            {
                all.push_back(std::move(rule));
            }
        }
        return all;
    }();
    return rules;
}

} // namespace ns3
