/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-flags.h"

#include "ns3/attribute-default.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/input-error.h"
#include "ns3/make-event.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/units.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cstdlib>

namespace ns3
{

namespace
{

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

/// ns-3 aborts on an attribute of an unknown class, so ask before.
bool
SetAttributeDefault(const std::string& name, const std::string& value)
{
    const auto declared = FindAttributes(name);
    const AttributeSetting setting{name, Create<StringValue>(value)};
    const bool legal =
        !declared.empty() &&
        std::all_of(declared.begin(),
                    declared.end(),
                    [&](const DeclaredAttribute& each) {
                        return IsReadable(each.information.checker->GetValueTypeName(), value);
                    }) &&
        IsLegal(setting);
    if (legal)
    {
        SetDefault(setting);
    }
    return legal;
}

bool
SetGlobal(const std::string& name, const std::string& value)
{
    for (auto global = GlobalValue::Begin(); global != GlobalValue::End(); ++global)
    {
        if ((*global)->GetName() == name)
        {
            return IsReadable((*global)->GetChecker()->GetValueTypeName(), value) &&
                   Config::SetGlobalFailSafe(name, StringValue(value));
        }
    }
    return false;
}

/// What a program does with the attributes that a topology file decides on.
enum class OfTopology
{
    Apply,
    Refuse
};

/// An attribute whose default changes nothing where a fabric is made from a topology file.
struct IdleDefault
{
    std::string name; ///< of the attribute; with :: at its end, of a class, for all of its own
    std::string why;
    std::string instead;
};

const std::vector<IdleDefault> IDLE_DEFAULTS{
    {"ns3::QbbNetDevice::DataRate", "the topology says the rate of each link", "the rate there"},
    {"ns3::QbbChannel::Delay", "the topology says the delay of each link", "the delay there"},
    {"ns3::QbbChannel::ErrorRate",
     "the topology says the error rate of each link",
     "the error rate there, or ns3::RdmaFabric::ErrorRatePerLink, which adds to it"},
    {"ns3::NVSwitchNode::EcnEnabled",
     "NVSwitches do not mark",
     "ns3::SwitchNode::EcnEnabled, for network switches"},
    {"ns3::NVSwitchNode::RoutingPolicyType",
     "NVSwitches use ECMP",
     "ns3::SwitchNode::RoutingPolicyType, for network switches"},
    {"ns3::RdmaClient::", "no RdmaClient sends", "flows in a file, or a workload"}};

/// @throw InputError if the attribute that a flag names is among IDLE_DEFAULTS
void
RefuseIdle(const std::string& flag, const std::string& name, const std::string& origin)
{
    std::vector<std::string> meant{name};
    for (const DeclaredAttribute& each : FindAttributes(name))
    {
        meant.push_back(each.type.GetAttributeFullName(each.index));
    }
    for (const IdleDefault& idle : IDLE_DEFAULTS)
    {
        if (std::any_of(meant.begin(), meant.end(), [&](const std::string& each) {
                return idle.name.ends_with("::") ? each.starts_with(idle.name) : each == idle.name;
            }))
        {
            throw InputError(origin, 0, flag + " changes nothing: " + idle.why, idle.instead);
        }
    }
}

void
ApplyNs3Flag(const std::string& flag, const std::string& origin, OfTopology ofTopology)
{
    const std::size_t equals = flag.find('=');
    const bool isFlag = flag.starts_with("--") && equals != std::string::npos;
    const std::string name = isFlag ? flag.substr(2, equals - 2) : "";
    if (ofTopology == OfTopology::Refuse)
    {
        RefuseIdle(flag, name, origin);
    }
    const std::string value = isFlag ? flag.substr(equals + 1) : "";
    if (!isFlag || (!SetAttributeDefault(name, value) && !SetGlobal(name, value)))
    {
        throw InputError(origin,
                         0,
                         "unknown flag or refused value: " + flag,
                         "a flag of --help, or --ns3::Class::Attribute=value or "
                         "--GlobalValue=value of ns-3");
    }
}

void
ApplyFlags(const std::vector<std::string>& flags, OfTopology ofTopology)
{
    for (const std::string& flag : flags)
    {
        ApplyNs3Flag(flag, "command line", ofTopology);
    }
}

void
ApplyEnvironment(OfTopology ofTopology)
{
    for (const char* name : {"NS_ATTRIBUTE_DEFAULT", "NS_GLOBAL_VALUE"})
    {
        const char* text = std::getenv(name);
        if (!text)
        {
            continue;
        }
        std::vector<std::string> settings;
        boost::split(settings, text, boost::is_any_of(";"));
        for (const std::string& setting : settings)
        {
            if (!setting.empty())
            {
                ApplyNs3Flag("--" + setting, "environment: " + std::string(name), ofTopology);
            }
        }
        // ns-3 reads it whenever it makes an object, and would put it above the command line.
        unsetenv(name);
    }
}

} // namespace

void
ApplyNs3Flags(const std::vector<std::string>& flags)
{
    ApplyFlags(flags, OfTopology::Apply);
}

void
ApplyNs3Environment()
{
    ApplyEnvironment(OfTopology::Apply);
}

void
ApplyNs3Overrides(const std::vector<std::string>& flags)
{
    ApplyEnvironment(OfTopology::Refuse);
    ApplyFlags(flags, OfTopology::Refuse);
}

std::string
AttributesHelp(const std::string& name)
{
    TypeId type;
    if (!TypeId::LookupByNameFailSafe(name, &type))
    {
        throw InputError("command line",
                         0,
                         "--PrintAttributes: '" + name + "' is not a class of ns-3",
                         "a TypeId such as ns3::RdmaDcqcn");
    }
    std::string text;
    for (TypeId each = type;; each = each.GetParent())
    {
        for (std::size_t i = 0; i < each.GetAttributeN(); ++i)
        {
            const TypeId::AttributeInformation attribute = each.GetAttribute(i);
            text += "--" + each.GetAttributeFullName(i) + "=" +
                    attribute.initialValue->SerializeToString(attribute.checker) + "\n    " +
                    attribute.help + "\n";
        }
        if (!each.HasParent())
        {
            return text;
        }
    }
}

void
UseFastSimulator()
{
    ApplyNs3Flags({"--SimulatorImplementationType=ns3::QbbSimulatorImpl",
                   "--SchedulerType=ns3::TimingWheelScheduler"});
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
