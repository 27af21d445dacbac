/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf-keys.h"

#include "fabric-conf-key-kinds.h"
#include "fabric-conf-row-kinds.h"

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
SwitchRules()
{
    using C = FabricConf;
    return {
        Flag("ENABLE_QCN", &C::enableQcn, "Switches mark ECN and receivers notify senders."),
        Flag("ECN_ENABLED", &C::enableQcn, "The same as ENABLE_QCN."),
        Flag("USE_DYNAMIC_PFC_THRESHOLD",
             &C::dynamicPfcThreshold,
             "The PFC threshold is a fraction of the free shared buffer; otherwise it is fixed."),
        Single({"BUFFER_SIZE",
                "MiB below 1024, else bytes",
                "above 0",
                "",
                "Packet buffer of a switch.",
                true},
               &C::bufferBytes,
               ParseBufferBytes,
               BufferText),
        RateMap("KMAX_MAP",
                &C::kmaxBytes,
                "KB (1000 bytes), 0 or more",
                BYTES_PER_KB,
                ParseKiloBytes,
                "By link rate, the queue length from which every frame is marked."),
        RateMap("KMIN_MAP",
                &C::kminBytes,
                "KB (1000 bytes), 0 or more",
                BYTES_PER_KB,
                ParseKiloBytes,
                "By link rate, the queue length up to which no frame is marked."),
        RateMap("PMAX_MAP",
                &C::pmax,
                "from 0 to 1",
                1,
                ParseProbability,
                "By link rate, the marking probability just below kmax."),
        Single({"KMAX", "bytes", "0 or more", "", "kmax for all rates without KMAX_MAP.", true},
               &C::flatKmaxBytes,
               ParseUnsigned,
               CountIfSet),
        Single({"KMIN", "bytes", "0 or more", "", "kmin for all rates without KMIN_MAP.", true},
               &C::flatKminBytes,
               ParseUnsigned,
               CountIfSet),
        Single({"PMAX", "number", "from 0 to 1", "", "pmax for all rates without PMAX_MAP.", true},
               &C::flatPmax,
               ParseProbability,
               [](const std::optional<double>& value) { return TextIfSet(value); }),
        Real("ERROR_RATE_PER_LINK",
             &C::errorRatePerLink,
             {0, 1},
             "Packet loss probability added to that of each link."),
        OneOf<C::Routing, ROUTINGS.size()>(
            "ROUTING",
            &C::routing,
            ROUTINGS,
            "Which of several shortest paths a frame takes. Per flow: ecmp by a hash. After each "
            "gap in a flow: flowlet at random, adaptive-flowlet the least loaded port. Per frame, "
            "with receivers that put frames in order: adaptive the least loaded, spray the next "
            "in turn, random-spray one at random."),
        Flag("IN_NETWORK_REDUCTION",
             &C::inNetworkReduction,
             "Network switches add and copy the data of a group's ranks (CollNet). Only over links "
             "that lose nothing."),
        RoutingAt("ROUTING_AT", "ROUTING of some switches: the last line that names one counts."),
        LinkChange("LINK_DOWN", false, "At that time from the start, the link goes down."),
        LinkChange("LINK_UP", true, "At that time from the start, the link comes up again."),
        NodeChange("NODE_DOWN", false, "At that time from the start, all links of a node go down."),
        NodeChange("NODE_UP", true, "At that time from the start, all links of a node come up."),
        QueueWeight("QUEUE_WEIGHT",
                    "Where priorities 1 to 7 wait at a port of a switch or a NIC, they share the "
                    "link by these weights (each 1 if not given)."),
        Micros("PAUSE_TIME", &C::pauseTimePs, false, "How long a PFC pause lasts if not renewed."),
        Micros("PFC_WATCHDOG",
               &C::pfcWatchdogPs,
               true,
               "A queue that is paused for so long without a break is a PFC storm, and a reason to "
               "search for a deadlock; 0: off."),
        OneOf<C::PfcAction, 3>("PFC_WATCHDOG_ACTION",
                               &C::pfcAction,
                               {{{"alert", C::PfcAction::Alert},
                                 {"drop", C::PfcAction::Drop},
                                 {"forward", C::PfcAction::Forward}}},
                               "What a PFC storm leads to: a report (a deadlock then ends the "
                               "run), the loss of what the queue holds, or sending in spite of "
                               "the pause for the same time."),
    };
}

std::vector<Rule>
TransportRules()
{
    using C = FabricConf;
    using L = C::LossRecovery;
    using Q = C::QpMode;
    return {
        Whole("PACKET_PAYLOAD_SIZE",
              &C::payloadBytes,
              {64, 65000},
              "bytes",
              "Message bytes in a full packet."),
        Whole("L2_CHUNK_SIZE",
              &C::l2ChunkBytes,
              {0, INT64_MAX},
              "bytes",
              "Go-back-0 restarts at a multiple of this; 0: at the lost packet."),
        Whole("L2_ACK_INTERVAL",
              &C::l2AckInterval,
              {0, INT64_MAX},
              "packets up to 1, bytes above",
              "The receiver acknowledges after so much; 0 and 1: every packet."),
        Flag("L2_BACK_TO_ZERO", &C::l2BackToZero, "A loss goes back to the chunk's first byte."),
        NoEffect("L2_WAIT_FOR_ACK", "Read by older simulators."),
        Flag("ACK_HIGH_PRIO",
             &C::ackHighPriority,
             "Acknowledgements go in queue 0, otherwise in the queue of their data."),
        OneOf<L, 2>("LOSS_RECOVERY",
                    &C::lossRecovery,
                    {{{"gbn", L::GoBackN}, {"irn", L::Irn}}},
                    "Go-back-N, or selective repeat as IRN does."),
        Whole("REORDER_FRAMES",
              &C::reorderFrames,
              {2, UINT16_MAX},
              "frames",
              "Where routing is per frame, a receiver keeps frames that come out of order up to so "
              "many after the one it waits for; what is beyond is dropped and asked for again."),
        Micros("REORDER_TIME",
               &C::reorderTimePs,
               true,
               "Where routing is per frame, a receiver takes a frame for lost after so long; 0: "
               "100 in a fabric that may lose frames, else never."),
        Micros("RTO", &C::rtoPs, true, "Retransmission timeout; 0: chosen from the path."),
        Whole("QPS_PER_CONNECTION",
              &C::qpsPerConnection,
              {1, 1024},
              "queue pairs",
              "A message is split over so many queue pairs with their own source ports."),
        OneOf<Q, 2>("QP_MODE",
                    &C::qpMode,
                    {{{"per_flow", Q::PerFlow}, {"persistent", Q::Persistent}}},
                    "New queue pairs for each message, or congestion state kept between them."),
        Micros("NIC_TOTAL_PAUSE_TIME",
               &C::nicPausePs,
               true,
               "Every NIC pauses its switch for so long from the start, as a slow receiver does."),
    };
}

std::vector<Rule>
CongestionRules()
{
    using C = FabricConf;
    return {
        CcMode(),
        Flag("HAS_WIN", &C::hasWindow, "Bytes in flight are bounded by a window of one BDP."),
        Flag("GLOBAL_T", &C::globalT, "All pairs use the largest base RTT and BDP of any pair."),
        Flag("VAR_WIN", &C::variableWindow, "The window shrinks with the sending rate."),
        Flag("RATE_BOUND", &C::rateBound, "The rate limiter is on."),
    };
}

/// Keys that are parameters of algorithms: ApplyFabricConf() passes on those that are given.
std::vector<Rule>
AlgorithmRules()
{
    using C = FabricConf;
    std::vector<Rule> rules{
        Flag("FAST_REACT", &C::fastReact, "HPCC reacts to each ACK, otherwise once per RTT."),
        Micros("ALPHA_RESUME_INTERVAL",
               &C::alphaResumeIntervalPs,
               false,
               "DCQCN: time between updates of alpha."),
        Micros("RATE_DECREASE_INTERVAL",
               &C::rateDecreaseIntervalPs,
               false,
               "DCQCN: least time between rate decreases."),
        Micros("RP_TIMER", &C::rpTimerPs, false, "DCQCN: time between rate increases."),
        Flag("CLAMP_TARGET_RATE",
             &C::clampTargetRate,
             "DCQCN: each decrease sets the target rate to the current rate."),
        Real("EWMA_GAIN",
             &C::ewmaGain,
             {0, 1},
             "DCQCN and DCTCP: weight of the newest sample.",
             false),
        Whole("FAST_RECOVERY_TIMES",
              &C::fastRecoveryTimes,
              {0, 1000},
              "rounds",
              "DCQCN: increases in fast recovery."),
        Rate("RATE_AI", &C::rateAiBps, "Step of additive increase."),
        Rate("RATE_HAI", &C::rateHaiBps, "Step of hyper increase."),
        Rate("MIN_RATE", &C::minRateBps, "Least sending rate of a queue pair."),
        Rate("DCTCP_RATE_AI", &C::dctcpRateAiBps, "DCTCP: increase per window."),
        Real("DCTCP_GAIN",
             &C::dctcpGain,
             {0, 1},
             "DCTCP: weight of the newest sample, if not EWMA_GAIN.",
             false),
        Real("U_TARGET", &C::uTarget, {0, 1}, "HPCC: link utilisation steered to.", false),
        Whole("MI_THRESH",
              &C::miThresh,
              {0, 1'000'000},
              "rounds",
              "HPCC: additive rounds before a multiplicative one."),
        Whole(
            "INT_MULTI",
            &C::intMulti,
            {1, 1024},
            "number",
            "HPCC: unit of telemetry counters; they are exact here, so any value gives the same."),
        Flag("MULTI_RATE", &C::multiRate, "HPCC: a rate for each hop."),
        Flag("SAMPLE_FEEDBACK", &C::sampleFeedback, "HPCC: only ACKs with a queue count."),
        Real("PINT_LOG_BASE", &C::pintLogBase, {1, 2}, "HPCC-PINT: base of the encoding.", false),
        Real("PINT_PROB", &C::pintProb, {0, 1}, "HPCC-PINT: share of ACKs that count.", false),
    };
    for (Rule& rule : rules)
    {
        rule.key.defaultValue.clear();
        rule.key.description += " Not given: the algorithm's own.";
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
        Whole("SEED", &C::seed, {1, UINT32_MAX}, "number", "Seed of all random variables."),
    };
}

} // namespace

const std::vector<Rule>&
FabricConfRules()
{
    static const std::vector<Rule> rules = [] {
        std::vector<Rule> all;
        for (auto group : {InputAndOutputRules,
                           SwitchRules,
                           TransportRules,
                           CongestionRules,
                           AlgorithmRules,
                           MonitorAndRunRules})
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
