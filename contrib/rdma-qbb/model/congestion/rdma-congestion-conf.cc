/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-congestion-conf.h"

#include "rdma-congestion-factory.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <string>

namespace ns3
{

namespace
{

using Value = Ptr<AttributeValue>;

/// The attribute that a key stands for, in one family of algorithms.
struct Rule
{
    const char* key;
    const char* attribute;
    const char* owner; ///< base TypeId of the family; null for any that has the attribute
    Value (*value)(const FabricConf& conf);
};

template <int64_t FabricConf::*FIELD>
Value
TimeOf(const FabricConf& conf)
{
    return Create<TimeValue>(PicoSeconds(conf.*FIELD));
}

template <uint64_t FabricConf::*FIELD>
Value
RateOf(const FabricConf& conf)
{
    return Create<DataRateValue>(DataRate(conf.*FIELD));
}

template <double FabricConf::*FIELD>
Value
RealOf(const FabricConf& conf)
{
    return Create<DoubleValue>(conf.*FIELD);
}

template <uint32_t FabricConf::*FIELD>
Value
CountOf(const FabricConf& conf)
{
    return Create<UintegerValue>(conf.*FIELD);
}

template <bool FabricConf::*FIELD>
Value
FlagOf(const FabricConf& conf)
{
    return Create<BooleanValue>(conf.*FIELD);
}

template <bool VALUE>
Value
Constant(const FabricConf&)
{
    return Create<BooleanValue>(VALUE);
}

Value
DctcpGainOf(const FabricConf& conf)
{
    return Create<DoubleValue>(conf.dctcpGain.value_or(conf.ewmaGain));
}

using C = FabricConf;
constexpr const char* DCQCN = "ns3::RdmaDcqcnBase";
constexpr const char* HPCC = "ns3::RdmaHpccBase";
constexpr const char* TIMELY = "ns3::RdmaTimely";
constexpr const char* DCTCP = "ns3::RdmaDctcp";

// A configuration's rates are for its own links: nothing is scaled.
constexpr Rule RULES[] = {
    {"ALPHA_RESUME_INTERVAL", "AlphaResumeInterval", DCQCN, TimeOf<&C::alphaResumeIntervalPs>},
    {"RATE_DECREASE_INTERVAL", "RateDecreaseInterval", DCQCN, TimeOf<&C::rateDecreaseIntervalPs>},
    {"RP_TIMER", "RpTimer", DCQCN, TimeOf<&C::rpTimerPs>},
    {"CLAMP_TARGET_RATE", "ClampTargetRate", DCQCN, FlagOf<&C::clampTargetRate>},
    {"FAST_RECOVERY_TIMES", "FastRecoveryTimes", DCQCN, CountOf<&C::fastRecoveryTimes>},
    {"EWMA_GAIN", "EwmaGain", nullptr, RealOf<&C::ewmaGain>},
    {"DCTCP_GAIN", "EwmaGain", DCTCP, DctcpGainOf},
    {"RATE_AI", "RateAi", DCQCN, RateOf<&C::rateAiBps>},
    {"RATE_AI", "ScaleIncrease", nullptr, Constant<false>},
    {"RATE_AI", "RateAi", HPCC, RateOf<&C::rateAiBps>},
    {"RATE_AI", "RateBased", HPCC, Constant<true>},
    {"RATE_AI", "RateAi", TIMELY, RateOf<&C::rateAiBps>},
    {"RATE_HAI", "RateHai", nullptr, RateOf<&C::rateHaiBps>},
    {"RATE_HAI", "ScaleIncrease", nullptr, Constant<false>},
    {"MIN_RATE", "MinRate", nullptr, RateOf<&C::minRateBps>},
    {"DCTCP_RATE_AI", "RateAi", DCTCP, RateOf<&C::dctcpRateAiBps>},
    {"DCTCP_RATE_AI", "RateBased", DCTCP, Constant<true>},
    {"FAST_REACT", "FastReact", nullptr, FlagOf<&C::fastReact>},
    {"U_TARGET", "TargetUtilization", nullptr, RealOf<&C::uTarget>},
    {"MI_THRESH", "MaxStage", nullptr, CountOf<&C::miThresh>},
    {"MULTI_RATE", "MultiRate", nullptr, FlagOf<&C::multiRate>},
    {"SAMPLE_FEEDBACK", "SampleFeedback", nullptr, FlagOf<&C::sampleFeedback>},
    {"PINT_LOG_BASE", "LogBase", nullptr, RealOf<&C::pintLogBase>},
    {"PINT_PROB", "FeedbackProbability", nullptr, RealOf<&C::pintProb>},
};

bool
BelongsTo(TypeId tid, const char* family)
{
    return !family || tid.GetName() == family || tid.IsChildOf(TypeId::LookupByName(family));
}

} // namespace

void
ApplyFabricConf(RdmaCongestionOps& ops, const FabricConf& conf)
{
    const TypeId tid = ops.GetInstanceTypeId();
    for (const Rule& rule : RULES)
    {
        TypeId::AttributeInformation attribute;
        if (!conf.IsGiven(rule.key) || !BelongsTo(tid, rule.owner) ||
            !tid.LookupAttributeByName(rule.attribute, &attribute))
        {
            continue;
        }
        const Value value = rule.value(conf);
        if (!ops.SetAttributeFailSafe(rule.attribute, *value))
        {
            throw InputError(conf.source,
                             0,
                             std::string{rule.key} + " " +
                                 value->SerializeToString(attribute.checker) +
                                 " is not legal for " + ops.GetName(),
                             attribute.checker->GetUnderlyingTypeInformation());
        }
    }
}

Ptr<RdmaCongestionOps>
CreateCongestionOps(const FabricConf& conf)
{
    const std::string mode = conf.ccTypeId.empty() ? std::to_string(conf.ccMode) : conf.ccTypeId;
    Ptr<RdmaCongestionOps> ops = CreateCongestionOps(mode, conf.source + ": CC_MODE");
    ApplyFabricConf(*ops, conf);
    return ops;
}

Ptr<PintEncoder>
CreatePintEncoder(const FabricConf& conf, int64_t longestRttPs)
{
    auto encoder = CreateObject<PintEncoder>();
    if (conf.IsGiven("PINT_LOG_BASE"))
    {
        encoder->SetAttribute("LogBase", DoubleValue(conf.pintLogBase));
    }
    if (longestRttPs > 0)
    {
        encoder->SetAttribute("BaseRtt", TimeValue(PicoSeconds(longestRttPs)));
    }
    return encoder;
}

} // namespace ns3
