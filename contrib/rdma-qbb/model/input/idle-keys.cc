/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-keys.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"
#include "ns3/object-factory.h"
#include "ns3/rate-map.h"
#include "ns3/routing-policy.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ns3
{

namespace
{

/// A kind of plug-in of which a run has one.
struct PlugInKind
{
    const char* base;      ///< of all its classes
    const char* attribute; ///< that says which one is chosen
    const char* key;       ///< that says so in a configuration
};

constexpr PlugInKind PLUG_INS[] = {
    {"ns3::RdmaCongestionOps", "ns3::RdmaHw::CongestionControl", "CC_MODE"},
    {"ns3::RdmaLossRecovery", "ns3::RdmaHw::LossRecoveryType", "LOSS_RECOVERY"}};

bool
IsOrIsChildOf(TypeId type, TypeId base)
{
    return type == base || type.IsChildOf(base);
}

/// Relation of a key to a kind of plug-in.
struct Standing
{
    bool isOfKind{false};   ///< some of these plug-ins have it as a parameter
    bool isOfChosen{false}; ///< the chosen one does
};

Standing
StandingOf(const FabricConfKey& key, const PlugInKind& kind)
{
    const TypeId base = TypeId::LookupByName(kind.base);
    const TypeId chosen = AttributeDefault<TypeIdValue>(kind.attribute);
    Standing standing;
    for (const std::string& attribute : key.attributes)
    {
        for (const DeclaredAttribute& each : FindAttributes(attribute))
        {
            standing.isOfKind = standing.isOfKind || IsOrIsChildOf(each.type, base);
            standing.isOfChosen = standing.isOfChosen || IsOrIsChildOf(chosen, each.type);
        }
    }
    return standing;
}

/// @return why a parameter of plug-ins changes nothing; empty if the chosen one has it, or if it is
/// no such parameter
std::string
NotOfTheChosen(const FabricConfKey& key)
{
    for (const PlugInKind& kind : PLUG_INS)
    {
        const Standing standing = StandingOf(key, kind);
        if (standing.isOfKind && !standing.isOfChosen)
        {
            return std::string("with ") + kind.key + " " +
                   AttributeDefault<TypeIdValue>(kind.attribute).GetName();
        }
    }
    return "";
}

bool
HasMap(const char* attribute)
{
    return !AttributeDefault<RateMapValue>(attribute).GetByRate().empty();
}

bool
MayReorder(const FabricConf& conf)
{
    std::vector<std::string> policies{
        AttributeDefault<TypeIdValue>("ns3::SwitchNode::RoutingPolicyType").GetName()};
    std::transform(conf.routingAt.begin(),
                   conf.routingAt.end(),
                   std::back_inserter(policies),
                   [](const auto& choice) { return choice.policy; });
    return std::any_of(policies.begin(), policies.end(), [](const std::string& policy) {
        return ObjectFactory(policy).Create<RoutingPolicy>()->Reorders();
    });
}

/// A condition that makes keys idle besides the choice of plug-ins.
struct Condition
{
    std::vector<std::string_view> keys;
    std::function<bool(const FabricConf& conf)> isIdle;
    const char* reason;
};

const std::vector<Condition>&
Conditions()
{
    static const std::vector<Condition> conditions{
        {{"KMIN", "KMAX", "PMAX", "KMIN_MAP", "KMAX_MAP", "PMAX_MAP"},
         [](const auto&) { return !AttributeDefault<BooleanValue>("ns3::SwitchNode::EcnEnabled"); },
         "without ENABLE_QCN"},
        {{"KMIN"}, [](const auto&) { return HasMap("ns3::SwitchMmu::EcnKmin"); }, "with KMIN_MAP"},
        {{"KMAX"}, [](const auto&) { return HasMap("ns3::SwitchMmu::EcnKmax"); }, "with KMAX_MAP"},
        {{"PMAX"}, [](const auto&) { return HasMap("ns3::SwitchMmu::EcnPmax"); }, "with PMAX_MAP"},
        {{"VAR_WIN"},
         [](const auto&) { return !AttributeDefault<BooleanValue>("ns3::RdmaDriver::HasWindow"); },
         "without HAS_WIN"},
        {{"L2_CHUNK_SIZE"},
         [](const auto&) {
             return !AttributeDefault<BooleanValue>("ns3::RdmaGoBackN::BackToZero");
         },
         "without L2_BACK_TO_ZERO"},
        {{"PFC_WATCHDOG_ACTION"},
         [](const auto&) {
             return AttributeDefault<TimeValue>("ns3::PfcWatchdog::Timeout").IsZero();
         },
         "without PFC_WATCHDOG"},
        {{"REORDER_FRAMES", "REORDER_TIME"},
         [](const auto& conf) { return !MayReorder(conf); },
         "where no switch routes frame by frame"},
        {{"INT_MULTI"}, [](const auto&) { return true; }, "as telemetry is exact here"},
        {{"ENABLE_TRACE"},
         [](const auto& conf) { return conf.enableTrace && conf.traceFile.empty(); },
         "without TRACE_FILE"},
        {{"TRACE_FILE", "TRACE_OUTPUT_FILE"},
         [](const auto& conf) { return !conf.enableTrace; },
         "without ENABLE_TRACE"}};
    return conditions;
}

/// @return why a default changes nothing: none of the keys that stand for the attribute would
std::string
ReasonOfAttribute(const std::string& attribute,
                  std::vector<FabricConfKey> keys,
                  const std::function<std::string(const FabricConfKey& key)>& reason)
{
    std::erase_if(keys, [&](const FabricConfKey& key) {
        return std::find(key.attributes.begin(), key.attributes.end(), attribute) ==
               key.attributes.end();
    });
    if (keys.empty())
    {
        keys.emplace_back();
    }
    std::string first;
    for (FabricConfKey& key : keys)
    {
        key.attributes = {attribute};
        const std::string because = reason(key);
        if (because.empty())
        {
            return "";
        }
        first = first.empty() ? because : first;
    }
    return first;
}

} // namespace

std::vector<std::string>
DescribeIdleKeys(const FabricConf& conf,
                 const std::function<std::string(const FabricConfKey& key)>& reason)
{
    const std::vector<FabricConfKey> keys = FabricConfKeys();
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < conf.given.size(); ++i)
    {
        if (conf.origins[i].line > 0)
        {
            continue;
        }
        const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& each) {
            return each.name == conf.given[i];
        });
        const std::string because = reason(*key);
        if (!because.empty())
        {
            warnings.push_back(conf.origins[i].file + ": " + key->name + " has no effect " +
                               because);
        }
    }
    return warnings;
}

void
RefuseSetTwice(const FabricConf& conf, const std::vector<GivenAttribute>& attributes)
{
    const std::vector<FabricConfKey> keys = FabricConfKeys();
    for (std::size_t i = 0; i < conf.given.size(); ++i)
    {
        const auto key = std::ranges::find(keys, conf.given[i], &FabricConfKey::name);
        for (const GivenAttribute& given : attributes)
        {
            if (conf.origins[i].line == 0 &&
                std::ranges::find(key->attributes, given.name) != key->attributes.end())
            {
                throw InputError(given.origin,
                                 0,
                                 conf.origins[i].file + " sets the same attribute",
                                 "one of them");
            }
        }
    }
}

std::string
ReasonToBeIdle(const FabricConf& conf, const FabricConfKey& key)
{
    for (const Condition& each : Conditions())
    {
        if (std::find(each.keys.begin(), each.keys.end(), key.name) != each.keys.end() &&
            each.isIdle(conf))
        {
            return each.reason;
        }
    }
    return NotOfTheChosen(key);
}

std::vector<std::string>
DescribeIdleAttributes(const std::vector<GivenAttribute>& attributes,
                       const std::function<std::string(const FabricConfKey& key)>& reason)
{
    const std::vector<FabricConfKey> keys = FabricConfKeys();
    std::vector<std::string> warnings;
    for (const GivenAttribute& given : attributes)
    {
        const std::string because = ReasonOfAttribute(given.name, keys, reason);
        if (!because.empty())
        {
            warnings.push_back(given.origin + " has no effect " + because);
        }
    }
    return warnings;
}

} // namespace ns3
