/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-flags.h"

#include "huge-pages.h"
#include "program-flags.h"

#include "ns3/attribute-default.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/input-error.h"
#include "ns3/make-event.h"
#include "ns3/nearest-name.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace ns3
{

namespace
{

constexpr const char* COMMAND_LINE = "command line";

/// ns-3 aborts on text that it cannot read, so look before.
bool
IsReadable(const std::string& type, const std::string& value)
{
    if (type == "ns3::UintegerValue")
    {
        return ParseUnsigned(value).has_value();
    }
    if (type == "ns3::IntegerValue")
    {
        return ParseUnsigned(value.starts_with("-") ? value.substr(1) : value).has_value();
    }
    if (type == "ns3::DoubleValue")
    {
        return ParseReal(value).has_value();
    }
    if (type == "ns3::BooleanValue")
    {
        return value == "true" || value == "false" || value == "1" || value == "0";
    }
    if (type == "ns3::TimeValue")
    {
        return ParseTimePs(value).has_value();
    }
    if (type == "ns3::DataRateValue")
    {
        return ParseDataRateBps(value).has_value();
    }
    if (type == "ns3::TypeIdValue")
    {
        TypeId found;
        return TypeId::LookupByNameFailSafe(value, &found);
    }
    return true;
}

/// A flag of ns-3, in parts.
struct Ns3Flag
{
    std::string text;
    std::string name;
    std::string value;
    std::string origin; ///< for errors
};

/// Call @p visit(class, index) for each attribute of a class, those of its base classes after its
/// own.
template <typename Visitor>
void
VisitAttributes(TypeId type, Visitor visit)
{
    for (TypeId each = type;; each = each.GetParent())
    {
        for (std::size_t i = 0; i < each.GetAttributeN(); ++i)
        {
            visit(each, i);
        }
        if (!each.HasParent())
        {
            return;
        }
    }
}

/// Say whether the class or its attribute does not exist. @throw InputError
[[noreturn]] void
RefuseName(const Ns3Flag& flag)
{
    const std::size_t colons = flag.name.rfind("::");
    const std::string ofClass = flag.name.substr(0, colons);
    TypeId type;
    if (!TypeId::LookupByNameFailSafe(ofClass, &type))
    {
        std::vector<std::string> classes;
        for (std::size_t i = 0; i < TypeId::GetRegisteredN(); ++i)
        {
            classes.push_back(TypeId::GetRegistered(i).GetName());
        }
        throw InputError(flag.origin,
                         0,
                         flag.text + ": no class is called " + ofClass,
                         "a class of ns-3" + NearestHint(ofClass, classes));
    }
    std::vector<std::string> attributes;
    VisitAttributes(type, [&](TypeId each, std::size_t i) {
        attributes.push_back(each.GetAttribute(i).name);
    });
    const std::string attribute = flag.name.substr(colons + 2);
    throw InputError(flag.origin,
                     0,
                     flag.text + ": " + ofClass + " has no attribute " + attribute,
                     "one that --PrintAttributes " + ofClass + " lists" +
                         NearestHint(attribute, attributes));
}

[[noreturn]] void
RefuseValue(const Ns3Flag& flag, const AttributeChecker& checker)
{
    throw InputError(flag.origin,
                     0,
                     fmt::format("\"{}\" is not a valid value of --{}", flag.value, flag.name),
                     checker.HasUnderlyingTypeInformation() ? checker.GetUnderlyingTypeInformation()
                                                            : checker.GetValueTypeName());
}

GlobalValue*
FindGlobal(const std::string& name)
{
    const auto global = std::find_if(GlobalValue::Begin(), GlobalValue::End(), [&](auto* each) {
        return each->GetName() == name;
    });
    return global == GlobalValue::End() ? nullptr : *global;
}

/// ns-3 aborts on text for attributes that hold objects. It accepts defaults of attributes that no
/// constructor sets, without effect.
void
RefuseUnlessText(const Ns3Flag& flag, const TypeId::AttributeInformation& attribute)
{
    static const std::set<std::string> objects{"ns3::PointerValue",
                                               "ns3::ObjectPtrContainerValue",
                                               "ns3::CallbackValue"};
    const bool isObject = objects.contains(attribute.checker->GetValueTypeName());
    if (isObject || !(attribute.flags & TypeId::ATTR_CONSTRUCT))
    {
        throw InputError(flag.origin,
                         0,
                         fmt::format("{}: {} {}",
                                     flag.text,
                                     attribute.name,
                                     isObject ? "holds objects" : "cannot be set"),
                         "an attribute that holds a number, a time, a rate or a name");
    }
}

/// ns-3 aborts on an attribute of an unknown class, so ask before.
void
SetAttributeDefault(const Ns3Flag& flag)
{
    const auto declared = FindAttributes(flag.name);
    if (declared.empty())
    {
        RefuseName(flag);
    }
    const AttributeSetting setting{flag.name, Create<StringValue>(flag.value)};
    for (const DeclaredAttribute& each : declared)
    {
        RefuseUnlessText(flag, each.information);
        const AttributeChecker& checker = *each.information.checker;
        if (!IsReadable(checker.GetValueTypeName(), flag.value) || !IsLegal(setting))
        {
            RefuseValue(flag, checker);
        }
    }
    SetDefault(setting);
}

/// @return whether it sets an attribute, not a global value
bool
IsOfClass(const Ns3Flag& flag)
{
    return flag.name.find("::") != std::string::npos;
}

/// A program's treatment of the attributes that a topology file decides on.
enum class OfTopology
{
    Apply,
    Refuse
};

/// An attribute with a default that changes nothing in a fabric made from a topology file.
struct IdleDefault
{
    std::string name; ///< of an attribute, or of a class with "::" at its end, for all its
                      ///< attributes
    std::string why;
    std::string instead;
};

const std::vector<IdleDefault> IDLE_DEFAULTS{
    {"ns3::QbbNetDevice::DataRate", "the topology says the rate of each link", "the rate there"},
    {"ns3::QbbChannel::Delay", "the topology says the delay of each link", "the delay there"},
    {"ns3::QbbChannel::ErrorRate",
     "the topology says the error rate of each link",
     "the error rate there, or ns3::RdmaFabric::ErrorRatePerLink, which adds to it"},
    {"ns3::QbbChannel::CreditPriorities",
     "lossless priorities have credits",
     "ns3::SwitchMmu::LosslessMask"},
    {"ns3::NVSwitchNode::EcnEnabled",
     "NVSwitches do not mark",
     "ns3::SwitchNode::EcnEnabled, for network switches"},
    {"ns3::NVSwitchNode::RoutingPolicyType",
     "NVSwitches use ECMP",
     "ns3::SwitchNode::RoutingPolicyType, for network switches"},
    {"ns3::RdmaClient::", "no RdmaClient sends", "flows in a file, or a workload"}};

/// @throw InputError if the attribute that a flag names is among IDLE_DEFAULTS
void
RefuseIdle(const Ns3Flag& flag)
{
    std::vector<std::string> meant{flag.name};
    for (const DeclaredAttribute& each : FindAttributes(flag.name))
    {
        meant.push_back(each.type.GetAttributeFullName(each.index));
    }
    for (const IdleDefault& idle : IDLE_DEFAULTS)
    {
        if (std::ranges::any_of(meant, [&](const std::string& each) {
                return idle.name.ends_with("::") ? each.starts_with(idle.name) : each == idle.name;
            }))
        {
            throw InputError(flag.origin,
                             0,
                             flag.text + " changes nothing: " + idle.why,
                             idle.instead);
        }
    }
}

void
SetGlobal(const Ns3Flag& flag)
{
    const GlobalValue* global = FindGlobal(flag.name);
    if (!global)
    {
        throw InputError(flag.origin,
                         0,
                         "unknown flag " + flag.text,
                         "a flag of --help, or --ns3::Class::Attribute=value or "
                         "--GlobalValue=value of ns-3");
    }
    const AttributeChecker& checker = *global->GetChecker();
    if (!IsReadable(checker.GetValueTypeName(), flag.value) ||
        !Config::SetGlobalFailSafe(flag.name, StringValue(flag.value)))
    {
        RefuseValue(flag, checker);
    }
}

Ns3Flag
ApplyNs3Flag(const std::string& text, const std::string& origin, OfTopology ofTopology)
{
    const std::size_t equals = text.find('=');
    if (!text.starts_with("--") || equals == std::string::npos)
    {
        throw InputError(origin, 0, text + " has no value", "--NAME=VALUE, in one word");
    }
    const Ns3Flag flag{text, text.substr(2, equals - 2), text.substr(equals + 1), origin};
    if (ofTopology == OfTopology::Refuse)
    {
        RefuseIdle(flag);
    }
    IsOfClass(flag) ? SetAttributeDefault(flag) : SetGlobal(flag);
    return flag;
}

/// @throw InputError if a flag sets the same as an earlier one
std::vector<Ns3Flag>
ApplyFlags(const std::vector<std::string>& flags, const std::string& origin, OfTopology ofTopology)
{
    std::vector<Ns3Flag> applied;
    for (const std::string& text : flags)
    {
        const Ns3Flag flag = ApplyNs3Flag(text, origin, ofTopology);
        const auto before = std::ranges::find(applied, flag.name, &Ns3Flag::name);
        if (before != applied.end())
        {
            throw InputError(origin,
                             0,
                             fmt::format("{} and {}", before->text, text),
                             "each attribute and each global value once");
        }
        applied.push_back(flag);
    }
    return applied;
}

std::vector<Ns3Flag>
ApplyEnvironment(OfTopology ofTopology)
{
    std::vector<Ns3Flag> applied;
    for (const char* name : {"NS_ATTRIBUTE_DEFAULT", "NS_GLOBAL_VALUE"})
    {
        const char* text = std::getenv(name);
        if (!text)
        {
            continue;
        }
        std::vector<std::string> settings;
        boost::split(settings, text, boost::is_any_of(";"));
        std::erase(settings, "");
        for (std::string& setting : settings)
        {
            setting.insert(0, "--");
        }
        const auto flags = ApplyFlags(settings, "environment: " + std::string(name), ofTopology);
        applied.insert(applied.end(), flags.begin(), flags.end());
        // ns-3 reads it whenever it makes an object, and would put it above the command line.
        unsetenv(name);
    }
    return applied;
}

} // namespace

bool
IsNs3Flag(const std::string& flag)
{
    if (!flag.starts_with("--"))
    {
        return false;
    }
    const std::string name = flag.substr(2, flag.find('=') - 2);
    return name.find("::") != std::string::npos || FindGlobal(name);
}

void
ApplyNs3Flags(const std::vector<std::string>& flags)
{
    ApplyFlags(flags, COMMAND_LINE, OfTopology::Apply);
}

void
ApplyNs3Environment()
{
    ApplyEnvironment(OfTopology::Apply);
}

std::vector<GivenAttribute>
ApplyNs3Overrides(const std::vector<std::string>& flags)
{
    std::vector<Ns3Flag> applied = ApplyEnvironment(OfTopology::Refuse);
    const auto ofFlags = ApplyFlags(flags, COMMAND_LINE, OfTopology::Refuse);
    applied.insert(applied.end(), ofFlags.begin(), ofFlags.end());
    std::vector<GivenAttribute> given;
    for (const Ns3Flag& flag : applied)
    {
        if (IsOfClass(flag))
        {
            given.push_back(
                {flag.name,
                 flag.origin == COMMAND_LINE ? flag.text : flag.origin + ": " + flag.name});
        }
    }
    return given;
}

std::string
AttributesHelp(const std::string& name)
{
    TypeId type;
    if (!TypeId::LookupByNameFailSafe(name, &type))
    {
        AstraSim::RefuseFlag("--PrintAttributes: '" + name + "' is not a class of ns-3",
                             "a TypeId such as ns3::RdmaDcqcn");
    }
    std::string text;
    VisitAttributes(type, [&](TypeId each, std::size_t i) {
        const TypeId::AttributeInformation attribute = each.GetAttribute(i);
        text += "--" + each.GetAttributeFullName(i) + "=" +
                attribute.initialValue->SerializeToString(attribute.checker) + "\n    " +
                attribute.help + "\n";
    });
    return text;
}

void
UseFastSimulator()
{
    ApplyNs3Flags({"--SimulatorImplementationType=ns3::QbbSimulatorImpl",
                   "--SchedulerType=ns3::TimingWheelScheduler"});
}

void
PrepareSimulator()
{
    Time::SetResolution(Time::PS);
    UseHugePages();
    UseFastSimulator();
}

std::function<int64_t()>
WatchSimulator()
{
    const QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get();
    return [simulator] { return simulator ? simulator->GetReachedPs() : 0; };
}

void
StopSimulatorFromAnyThread()
{
    // The one call of ns-3's simulator that other threads may make.
    Simulator::ScheduleWithContext(Simulator::NO_CONTEXT,
                                   TimeStep(0),
                                   MakeEvent(static_cast<void (*)()>(&Simulator::Stop)));
}

} // namespace ns3
