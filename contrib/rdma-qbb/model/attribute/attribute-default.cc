/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "attribute-default.h"

#include "ns3/assert.h"
#include "ns3/double.h"
#include "ns3/global-value.h"
#include "ns3/nstime.h"
#include "ns3/string.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace ns3
{

namespace
{

std::optional<DeclaredAttribute>
DeclaredBy(TypeId type, const std::string& attribute)
{
    for (std::size_t index = 0; index < type.GetAttributeN(); ++index)
    {
        TypeId::AttributeInformation information = type.GetAttribute(index);
        if (information.name == attribute)
        {
            return DeclaredAttribute{type, index, information};
        }
    }
    return std::nullopt;
}

/// @return the subclasses of a class. Parameters ask hundreds of times in a run's first
/// milliseconds, and ns-3 knows only the parent of a class.
std::vector<TypeId>
FindSubclasses(TypeId type)
{
    static std::map<uint16_t, std::vector<TypeId>> known; // by the number of the class
    static std::size_t registered = 0;                    // classes when they were found
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (registered != TypeId::GetRegisteredN())
    {
        known.clear();
        registered = TypeId::GetRegisteredN();
    }
    const auto [entry, isNew] = known.try_emplace(type.GetUid());
    for (std::size_t i = 0; isNew && i < registered; ++i)
    {
        const TypeId each = TypeId::GetRegistered(i);
        if (each.IsChildOf(type))
        {
            entry->second.push_back(each);
        }
    }
    return entry->second;
}

GlobalValue*
FindGlobal(const std::string& name)
{
    const auto global = std::find_if(GlobalValue::Begin(), GlobalValue::End(), [&](auto* each) {
        return each->GetName() == name;
    });
    return global == GlobalValue::End() ? nullptr : *global;
}

using Information = TypeId::AttributeInformation;

/// @return a default of an attribute, of the attribute's type where its class declares it as text
Ptr<const AttributeValue>
TypedValue(const DeclaredAttribute& declared, Ptr<const AttributeValue> Information::*which)
{
    const Ptr<const AttributeValue>& value = declared.information.*which;
    const auto& checker = declared.information.checker;
    if (checker->Check(*value))
    {
        return value;
    }
    return checker->CreateValidValue(*value);
}

/// @return the exact value of a default as text, also where ns-3 prints it rounded or as an address
std::string
WholeText(const TypeId::AttributeInformation& attribute)
{
    const auto& value = *attribute.initialValue;
    if (const auto* real = dynamic_cast<const DoubleValue*>(&value))
    {
        return std::to_string(std::bit_cast<uint64_t>(real->Get()));
    }
    if (const auto* time = dynamic_cast<const TimeValue*>(&value))
    {
        return std::to_string(time->Get().GetTimeStep());
    }
    const std::string kind = attribute.checker->GetValueTypeName();
    const bool isAddress = kind == "ns3::PointerValue" || kind == "ns3::CallbackValue";
    return isAddress && attribute.initialValue == attribute.originalInitialValue
               ? "as declared"
               : value.SerializeToString(attribute.checker);
}

/// Names of the defaults that models have read: ns-3's table of defaults has no place for a note.
std::set<std::string> g_read;
std::mutex g_mutex; ///< of g_read

std::string
FullName(const DeclaredAttribute& declared)
{
    return declared.type.GetAttributeFullName(declared.index);
}

} // namespace

std::vector<DeclaredAttribute>
FindAttributes(const std::string& name)
{
    std::vector<DeclaredAttribute> found;
    const std::size_t colons = name.rfind("::");
    TypeId type;
    if (colons == std::string::npos || !TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
    {
        return found;
    }
    const std::string attribute = name.substr(colons + 2);
    for (TypeId each = type;; each = each.GetParent())
    {
        if (const auto declared = DeclaredBy(each, attribute))
        {
            return {*declared};
        }
        if (each.GetParent() == each)
        {
            break;
        }
    }
    for (const TypeId& each : FindSubclasses(type))
    {
        if (const auto declared = DeclaredBy(each, attribute))
        {
            found.push_back(*declared);
        }
    }
    return found;
}

bool
IsLegal(const AttributeSetting& setting)
{
    if (const GlobalValue* global = FindGlobal(setting.name))
    {
        return global->GetChecker()->CreateValidValue(*setting.value) != nullptr;
    }
    const auto declared = FindAttributes(setting.name);
    return !declared.empty() && std::ranges::all_of(declared, [&](const auto& each) {
        return each.information.checker->CreateValidValue(*setting.value) != nullptr;
    });
}

std::vector<AttributeSetting>
SetDefault(const AttributeSetting& setting)
{
    NS_ASSERT(IsLegal(setting));
    const std::lock_guard lock(g_mutex);
    std::vector<AttributeSetting> replaced;
    if (GlobalValue* global = FindGlobal(setting.name))
    {
        replaced.push_back({setting.name, GetDefault(setting.name)});
        global->SetValue(*setting.value);
        g_read.erase(setting.name);
    }
    for (const DeclaredAttribute& each : FindAttributes(setting.name))
    {
        TypeId type = each.type;
        replaced.push_back({FullName(each), each.information.initialValue});
        g_read.erase(FullName(each));
        type.SetAttributeInitialValue(each.index,
                                      each.information.checker->CreateValidValue(*setting.value));
    }
    return replaced;
}

void
SetDefaultUnlessSet(const AttributeSetting& setting)
{
    const auto declared = FindAttributes(setting.name);
    // Setting a default puts another value in its place.
    if (std::ranges::all_of(declared, [](const auto& each) {
            return each.information.initialValue == each.information.originalInitialValue;
        }))
    {
        SetDefault(setting);
    }
}

Ptr<const AttributeValue>
GetDefault(const std::string& name)
{
    if (const GlobalValue* global = FindGlobal(name))
    {
        Ptr<AttributeValue> value = global->GetChecker()->Create();
        global->GetValue(*value);
        return value;
    }
    const auto declared = FindAttributes(name);
    return declared.empty() ? nullptr : TypedValue(declared.front(), &Information::initialValue);
}

Ptr<const AttributeValue>
ReadDefault(const std::string& name)
{
    const std::lock_guard lock(g_mutex);
    g_read.insert(name);
    for (const DeclaredAttribute& each : FindAttributes(name))
    {
        g_read.insert(FullName(each));
    }
    return GetDefault(name);
}

bool
WasRead(const std::string& name)
{
    const std::lock_guard lock(g_mutex);
    const auto declared = FindAttributes(name);
    const auto isRead = [](const auto& each) { return g_read.contains(FullName(each)); };
    return declared.empty() ? g_read.contains(name) : std::ranges::any_of(declared, isRead);
}

Ptr<const AttributeValue>
GetOriginalDefault(const std::string& name)
{
    const auto declared = FindAttributes(name);
    return declared.empty() ? GetDefault(name)
                            : TypedValue(declared.front(), &Information::originalInitialValue);
}

std::string
DescribeDefaults()
{
    std::string text;
    for (std::size_t i = 0; i < TypeId::GetRegisteredN(); ++i)
    {
        const TypeId type = TypeId::GetRegistered(i);
        for (std::size_t index = 0; index < type.GetAttributeN(); ++index)
        {
            const TypeId::AttributeInformation each = type.GetAttribute(index);
            text += type.GetAttributeFullName(index) + "=" + WholeText(each) + "\n";
        }
    }
    for (auto global = GlobalValue::Begin(); global != GlobalValue::End(); ++global)
    {
        StringValue value;
        (*global)->GetValue(value);
        text += (*global)->GetName() + "=" + value.Get() + "\n";
    }
    return text;
}

} // namespace ns3
