/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-keys.h"

#include "fabric-conf-keys.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/input-error.h"
#include "ns3/object-factory.h"
#include "ns3/rdma-transport.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <fmt/format.h>

namespace ns3
{

namespace
{

using conf_format::KeyRow;
using conf_format::KeyRows;

/// A kind of plug-in of which a run has one.
struct PlugInKind
{
    const char* base;      ///< of all its classes
    const char* attribute; ///< that says which one is chosen
    const char* key;       ///< that says so in a configuration
};

constexpr PlugInKind PLUG_INS[] = {
    {"ns3::RdmaCongestionOps", "ns3::RdmaHw::CongestionControl", "CC_MODE"},
    {"ns3::RdmaLossRecovery", "ns3::RdmaHw::LossRecoveryType", "LOSS_RECOVERY"},
    {"ns3::BufferPolicy", "ns3::SwitchMmu::BufferPolicyType", "BUFFER_POLICY"},
    {"ns3::RdmaTransport", "ns3::RdmaHw::TransportType", "TRANSPORT"}};

/// The plug-in of a kind that a run has.
struct ChosenPlugIn
{
    TypeId type;
    std::string key; ///< that chose it, and its value
};

/// @return what the configuration chooses, or the transport instead
ChosenPlugIn
ChosenOf(const PlugInKind& kind)
{
    const TypeId configured = LookAtDefault<TypeIdValue>(kind.attribute);
    const TypeId transport = LookAtDefault<TypeIdValue>("ns3::RdmaHw::TransportType");
    TypeId type = configured;
    if (transport != RdmaTransport::GetTypeId())
    {
        const auto chooses = ObjectFactory(transport.GetName()).Create<RdmaTransport>();
        const std::string base = kind.base;
        type = base == "ns3::RdmaCongestionOps"  ? chooses->ChooseCongestionControl(configured)
               : base == "ns3::RdmaLossRecovery" ? chooses->ChooseLossRecovery(configured)
                                                 : configured;
    }
    return {
        type,
        type == configured
            ? fmt::format("{} {}", kind.key, type.GetName())
            : fmt::format("TRANSPORT {}, which chooses {}", transport.GetName(), type.GetName())};
}

/// Attributes that count only where a flag is on.
struct FlaggedAttributes
{
    const char* prefix; ///< of their names
    const char* flag;   ///< an attribute
    const char* reason;
};

constexpr FlaggedAttributes FLAGGED[] = {
    {"ns3::UecTransport::Credit", "ns3::UecTransport::Rccc", "with UEC_CC nscc"},
    {"ns3::UecTransport::Unsolicited", "ns3::UecTransport::Rccc", "with UEC_CC nscc"}};

/// @return the reason why attributes of plug-ins change nothing, if the chosen plug-in has none of
/// them; else an empty text
std::string
NotOfTheChosen(const std::vector<std::string>& attributes)
{
    const auto isA = [](TypeId type, TypeId base) { return type == base || type.IsChildOf(base); };
    for (const PlugInKind& kind : PLUG_INS)
    {
        const TypeId base = TypeId::LookupByName(kind.base);
        const ChosenPlugIn chosen = ChosenOf(kind);
        bool isOfKind = false;
        bool isOfChosen = false;
        for (const std::string& attribute : attributes)
        {
            for (const DeclaredAttribute& each : FindAttributes(attribute))
            {
                isOfKind = isOfKind || isA(each.type, base);
                isOfChosen = isOfChosen || isA(chosen.type, each.type);
            }
        }
        if (isOfKind && !isOfChosen)
        {
            return "with " + chosen.key;
        }
    }
    for (const FlaggedAttributes& flagged : FLAGGED)
    {
        const bool isOne = std::ranges::all_of(attributes, [&flagged](const auto& attribute) {
            return attribute.starts_with(flagged.prefix);
        });
        if (isOne && !attributes.empty() && !LookAtDefault<BooleanValue>(flagged.flag))
        {
            return flagged.reason;
        }
    }
    return "";
}

/// @return why one of the attributes, or the member, that a key stands for changes nothing; empty
/// if it does
std::string
WhyIdle(const KeyRow& key, const std::vector<std::string>& attributes, const ConfUse& use)
{
    const ParameterNote* note = key.note;
    if (note && !note->replacedBy.empty())
    {
        return "with " + note->replacedBy;
    }
    const bool isRead =
        note ? note->wasRead->load()
             : attributes.empty() || use.makesObjects || std::ranges::any_of(attributes, WasRead);
    std::string reason = isRead || use.makesObjects ? "" : use.unread;
    reason = reason.empty() && key.idle ? key.idle() : reason;
    reason = reason.empty() ? NotOfTheChosen(attributes) : reason;
    return reason.empty() && !isRead ? use.unread : reason;
}

/// @return why a default changes nothing: none of the keys that stand for the attribute would
std::string
WhyIdle(const std::string& attribute, const std::vector<KeyRow>& keys, const ConfUse& use)
{
    std::vector<std::string> reasons;
    for (const KeyRow& key : keys)
    {
        if (std::ranges::find(key.attributes, attribute) != key.attributes.end())
        {
            reasons.push_back(WhyIdle(key, {attribute}, use));
        }
    }
    if (reasons.empty())
    {
        return WhyIdle(KeyRow{}, {attribute}, use);
    }
    return std::ranges::find(reasons, "") == reasons.end() ? reasons.front() : "";
}

} // namespace

std::vector<std::string>
DescribeIdle(const FabricConf& conf,
             const std::vector<GivenAttribute>& attributes,
             const ConfUse& use)
{
    FabricConf copy = conf;
    const auto keys = KeyRows(copy, use);
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < conf.given.size(); ++i)
    {
        const auto& key = *std::ranges::find(keys, conf.given[i], &KeyRow::name);
        const auto& [file, line] = conf.origins[i];
        const bool isTold = (line == 0 || key.isToldOfFiles) && key.hasEffect;
        const std::string reason = isTold ? WhyIdle(key, key.attributes, use) : "";
        if (!reason.empty())
        {
            const std::string place = line == 0 ? file : fmt::format("{}:{}", file, line);
            warnings.push_back(fmt::format("{}: {} has no effect {}", place, key.name, reason));
        }
    }
    for (const GivenAttribute& given : attributes)
    {
        const std::string reason = WhyIdle(given.name, keys, use);
        if (!reason.empty())
        {
            warnings.push_back(given.origin + " has no effect " + reason);
        }
    }
    return warnings;
}

void
RefuseSetTwice(const FabricConf& conf, const std::vector<GivenAttribute>& attributes)
{
    FabricConf copy = conf;
    const auto keys = KeyRows(copy);
    for (std::size_t i = 0; i < conf.given.size(); ++i)
    {
        const auto& ofKey = std::ranges::find(keys, conf.given[i], &KeyRow::name)->attributes;
        for (const GivenAttribute& given : attributes)
        {
            if (conf.origins[i].line == 0 && std::ranges::find(ofKey, given.name) != ofKey.end())
            {
                throw InputError(given.origin,
                                 0,
                                 conf.origins[i].file + " sets the same attribute",
                                 "one of them");
            }
        }
    }
}

} // namespace ns3
