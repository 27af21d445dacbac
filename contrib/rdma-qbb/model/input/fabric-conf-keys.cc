/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-conf-keys.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>

namespace ns3
{

namespace
{

using Rule = FabricConfKeyRule;

constexpr int64_t PS_PER_US = 1'000'000;
constexpr int64_t PS_PER_S = 1'000'000'000'000;
constexpr int64_t BYTES_PER_KB = 1000;

[[noreturn]] void
Refuse(const InputLines& line, const FabricConfKey& key, std::string_view value)
{
    line.Fail(key.name + " cannot be '" + std::string(value) + "'", key.type + ", " + key.range);
}

/// @return the only value of the line
std::string_view
One(const InputLines& line, const FabricConfKey& key)
{
    if (line.Fields().size() != 2)
    {
        line.Fail(key.name + " has " + std::to_string(line.Fields().size() - 1) + " values",
                  "one: " + key.type);
    }
    return line.Fields()[1];
}

std::string
Text(double value)
{
    std::ostringstream text;
    text << value;
    return text.str();
}

/// Gives a rule to a key: reading one value with parse, which returns nullopt for what is illegal.
template <typename Member, typename Parse>
Rule
Single(FabricConfKey key, Member member, Parse parse)
{
    const auto set = [key, member, parse](FabricConf& conf, const InputLines& line) {
        const std::string_view text = One(line, key);
        const auto value = parse(text);
        if (!value)
        {
            Refuse(line, key, text);
        }
        conf.*member = *value;
    };
    return {std::move(key), set};
}

Rule
Flag(const char* name, bool FabricConf::*member, const char* description)
{
    return Single({name, "flag", "0 or 1", Text(FabricConf{}.*member), description, true},
                  member,
                  [](std::string_view text) -> std::optional<bool> {
                      if (text != "0" && text != "1")
                      {
                          return std::nullopt;
                      }
                      return text == "1";
                  });
}

std::string
DefaultOf(double value)
{
    return Text(value);
}

std::string
DefaultOf(const std::optional<double>& value)
{
    return value ? Text(*value) : "";
}

template <typename Number>
Rule
Real(const char* name,
     Number FabricConf::*member,
     std::pair<double, double> range,
     const char* description,
     bool withLowest = true)
{
    const std::string legal =
        (withLowest ? "from " : "above ") + Text(range.first) + " to " + Text(range.second);
    return Single({name, "number", legal, DefaultOf(FabricConf{}.*member), description, true},
                  member,
                  [range, withLowest](std::string_view text) {
                      auto value = ParseReal(text);
                      if (value && (*value < range.first || *value > range.second ||
                                    (!withLowest && *value == range.first)))
                      {
                          value.reset();
                      }
                      return value;
                  });
}

template <typename Number>
Rule
Whole(const char* name,
      Number FabricConf::*member,
      std::pair<uint64_t, uint64_t> range,
      const char* type,
      const char* description)
{
    return Single({name,
                   type,
                   "from " + std::to_string(range.first) + " to " + std::to_string(range.second),
                   std::to_string(FabricConf{}.*member),
                   description,
                   true},
                  member,
                  [range](std::string_view text) {
                      auto value = ParseUnsigned(text);
                      if (value && (*value < range.first || *value > range.second))
                      {
                          value.reset();
                      }
                      return value;
                  });
}

std::string
MicrosOf(int64_t ps)
{
    return Text(static_cast<double>(ps) / PS_PER_US);
}

std::string
MicrosOf(const std::optional<int64_t>& ps)
{
    return ps ? MicrosOf(*ps) : "";
}

template <typename Time>
Rule
Micros(const char* name, Time FabricConf::*member, bool mayBeZero, const char* description)
{
    return Single({name,
                   "microseconds",
                   mayBeZero ? "0 or more" : "above 0",
                   MicrosOf(FabricConf{}.*member),
                   description,
                   true},
                  member,
                  [mayBeZero](std::string_view text) {
                      auto value = ParseScaled(text, PS_PER_US);
                      if (value && *value == 0 && !mayBeZero)
                      {
                          value.reset();
                      }
                      return value;
                  });
}

Rule
Rate(const char* name, uint64_t FabricConf::*member, const char* description)
{
    return Single({name,
                   "rate",
                   "a rate such as 50Mb/s",
                   FormatDataRate(FabricConf{}.*member),
                   description,
                   true},
                  member,
                  ParseDataRateBps);
}

Rule
File(const char* name, std::string FabricConf::*member, const char* description)
{
    FabricConfKey key{name, "file", "a path", FabricConf{}.*member, description, true};
    return {key, [member](FabricConf& conf, const InputLines& line) {
                conf.*member = line.RestFrom(1);
            }};
}

template <typename Choice, std::size_t N>
Rule
OneOf(const char* name,
      Choice FabricConf::*member,
      const std::array<std::pair<const char*, Choice>, N>& choices,
      const char* description)
{
    std::string legal;
    std::string preset;
    for (const auto& [text, choice] : choices)
    {
        legal += (legal.empty() ? "" : " or ") + std::string(text);
        preset = choice == FabricConf{}.*member ? text : preset;
    }
    return Single({name, "word", legal, preset, description, true},
                  member,
                  [choices](std::string_view text) -> std::optional<Choice> {
                      for (const auto& [known, choice] : choices)
                      {
                          if (text == known)
                          {
                              return choice;
                          }
                      }
                      return std::nullopt;
                  });
}

/// A key that changes nothing here.
Rule
NoEffect(const char* name, const char* description)
{
    return {{name, "anything", "anything", "", description, false},
            [](FabricConf&, const InputLines&) {}};
}

/// `n` and n pairs of a rate and a value.
template <typename Value, typename Parse>
Rule
RateMap(const char* name,
        std::map<uint64_t, Value> FabricConf::*member,
        const char* range,
        Parse parse,
        const char* description)
{
    FabricConfKey key{name, "n, then n times: rate in bit/s, value", range, "", description, true};
    return {key, [key, member, parse](FabricConf& conf, const InputLines& line) {
                const auto& fields = line.Fields();
                const auto count = ParseUnsigned(fields[1]);
                const std::size_t values = fields.size() - 2;
                if (!count || *count == 0 || *count > 1'000'000 || values != *count * 2)
                {
                    line.Fail(key.name + " says " + std::string(fields[1]) + " pairs and has " +
                                  std::to_string(values) + " values",
                              "n, then 2 n values");
                }
                std::map<uint64_t, Value> map;
                for (std::size_t i = 2; i < fields.size(); i += 2)
                {
                    const auto rate = ParseDataRateBps(fields[i]);
                    const auto value = parse(fields[i + 1]);
                    if (!rate || *rate == 0)
                    {
                        Refuse(line, key, fields[i]);
                    }
                    if (!value)
                    {
                        Refuse(line, key, fields[i + 1]);
                    }
                    if (!map.emplace(*rate, *value).second)
                    {
                        line.Fail(key.name + " lists " + std::string(fields[i]) + " twice");
                    }
                }
                conf.*member = std::move(map);
            }};
}

/// `t a b`: at t microseconds the link between nodes a and b changes; `0 0 0` means none.
Rule
LinkChange(const char* name, bool up, const char* description)
{
    FabricConfKey key{name,
                      "microseconds and two node ids",
                      "0 0 0 for none; may be repeated",
                      "0 0 0",
                      description,
                      true};
    return {
        key,
        [key, up](FabricConf& conf, const InputLines& line) {
            const auto& fields = line.Fields();
            if (fields.size() != 4)
            {
                line.Fail(key.name + " has " + std::to_string(fields.size() - 1) + " values",
                          "3: " + key.type);
            }
            const auto timePs = ParseScaled(fields[1], PS_PER_US);
            const auto a = ParseUnsigned(fields[2]);
            const auto b = ParseUnsigned(fields[3]);
            for (std::size_t i = 1; i < 4; ++i)
            {
                if ((i == 1 && !timePs) || (i == 2 && (!a || *a > UINT32_MAX)) ||
                    (i == 3 && (!b || *b > UINT32_MAX)))
                {
                    Refuse(line, key, fields[i]);
                }
            }
            if (*timePs == 0 && *a == 0 && *b == 0)
            {
                return;
            }
            if (*a == *b)
            {
                line.Fail(key.name + " names node " + std::to_string(*a) + " twice",
                          "the two ends of a link");
            }
            conf.linkEvents.push_back(
                {*timePs, static_cast<uint32_t>(*a), static_cast<uint32_t>(*b), up, line.Line()});
        }};
}

Rule
CcMode()
{
    FabricConfKey key{"CC_MODE",
                      "number or TypeId",
                      "0 or 12 none, 1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT, or a TypeId "
                      "such as ns3::RdmaSwift",
                      "1",
                      "Congestion control.",
                      true};
    return {key, [key](FabricConf& conf, const InputLines& line) {
                const std::string_view text = One(line, key);
                const auto number = ParseUnsigned(text);
                if (!number)
                {
                    if (text.starts_with("-") || (text[0] >= '0' && text[0] <= '9'))
                    {
                        Refuse(line, key, text);
                    }
                    conf.ccTypeId = text;
                    return;
                }
                constexpr std::array<uint64_t, 7> KNOWN{0, 1, 3, 7, 8, 10, 12};
                if (std::find(KNOWN.begin(), KNOWN.end(), *number) == KNOWN.end())
                {
                    Refuse(line, key, text);
                }
                // ASTRA-sim's back end calls "none, only a window" 12.
                conf.ccMode = *number == 12 ? 0 : *number;
                conf.ccTypeId.clear();
            }};
}

Rule
StopTime()
{
    FabricConfKey key{"SIMULATOR_STOP_TIME",
                      "seconds",
                      "above 0; larger than the clock can hold (about 106 days): no limit",
                      "no limit",
                      "The simulation ends at this simulated time even if flows are left.",
                      true};
    return {key, [key](FabricConf& conf, const InputLines& line) {
                const std::string_view text = One(line, key);
                bool tooLarge = false;
                const auto value = ParseScaled(text, PS_PER_S, &tooLarge);
                if ((!value && !tooLarge) || value == 0)
                {
                    Refuse(line, key, text);
                }
                conf.stopTimePs = value.value_or(TIME_PS_MAX);
            }};
}

std::optional<uint64_t>
ParseBufferBytes(std::string_view text)
{
    const auto value = ParseUnsigned(text);
    if (!value || *value == 0 || *value > (1ULL << 50))
    {
        return std::nullopt;
    }
    return *value < 1024 ? *value << 20 : *value;
}

std::optional<uint64_t>
ParseKiloBytes(std::string_view text)
{
    return ParseScaled(text, BYTES_PER_KB);
}

std::optional<double>
ParseProbability(std::string_view text)
{
    auto value = ParseReal(text);
    if (value && (*value < 0 || *value > 1))
    {
        value.reset();
    }
    return value;
}

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
    using R = C::Routing;
    return {
        Flag("ENABLE_QCN", &C::enableQcn, "Switches mark ECN and receivers notify senders."),
        Flag("ECN_ENABLED", &C::enableQcn, "The same as ENABLE_QCN."),
        Flag("USE_DYNAMIC_PFC_THRESHOLD",
             &C::dynamicPfcThreshold,
             "The PFC threshold is a fraction of the free shared buffer; otherwise it is fixed."),
        Single({"BUFFER_SIZE",
                "MiB below 1024, else bytes",
                "above 0",
                "16",
                "Packet buffer of a switch.",
                true},
               &C::bufferBytes,
               ParseBufferBytes),
        RateMap("KMAX_MAP",
                &C::kmaxBytes,
                "KB (1000 bytes), 0 or more",
                ParseKiloBytes,
                "By link rate, the queue length from which every frame is marked."),
        RateMap("KMIN_MAP",
                &C::kminBytes,
                "KB (1000 bytes), 0 or more",
                ParseKiloBytes,
                "By link rate, the queue length up to which no frame is marked."),
        RateMap("PMAX_MAP",
                &C::pmax,
                "from 0 to 1",
                ParseProbability,
                "By link rate, the marking probability just below kmax."),
        Single({"KMAX", "bytes", "0 or more", "", "kmax for all rates without KMAX_MAP.", true},
               &C::flatKmaxBytes,
               ParseUnsigned),
        Single({"KMIN", "bytes", "0 or more", "", "kmin for all rates without KMIN_MAP.", true},
               &C::flatKminBytes,
               ParseUnsigned),
        Single({"PMAX", "number", "from 0 to 1", "", "pmax for all rates without PMAX_MAP.", true},
               &C::flatPmax,
               ParseProbability),
        Real("ERROR_RATE_PER_LINK",
             &C::errorRatePerLink,
             {0, 1},
             "Packet loss probability added to that of each link."),
        OneOf<R, 4>("ROUTING",
                    &C::routing,
                    {{{"ecmp", R::Ecmp},
                      {"adaptive", R::Adaptive},
                      {"spray", R::Spray},
                      {"flowlet", R::Flowlet}}},
                    "Which of several shortest paths a frame takes."),
        LinkChange("LINK_DOWN", false, "At that time from the start, the link goes down."),
        LinkChange("LINK_UP", true, "At that time from the start, the link comes up again."),
        Micros("PAUSE_TIME", &C::pauseTimePs, false, "How long a PFC pause lasts if not renewed."),
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
              "Go-back-0 restarts at a multiple of this."),
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
               &C::nicTotalPauseTimePs,
               true,
               "PFC pause time injected at each NIC."),
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
