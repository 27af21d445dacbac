/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-flags.h"

#include "ns3/config.h"
#include "ns3/input-error.h"
#include "ns3/string.h"
#include "ns3/type-id.h"

namespace ns3
{

namespace
{

/// ns-3 aborts on an attribute of an unknown class, so ask before.
bool
SetAttributeDefault(const std::string& name, const std::string& value)
{
    const std::size_t colons = name.rfind("::");
    TypeId type;
    TypeId::AttributeInformation information;
    return colons != std::string::npos && colons > 0 &&
           TypeId::LookupByNameFailSafe(name.substr(0, colons), &type) &&
           type.LookupAttributeByName(name.substr(colons + 2), &information) &&
           Config::SetDefaultFailSafe(name, StringValue(value));
}

} // namespace

void
ApplyNs3Flags(const std::vector<std::string>& flags)
{
    for (const std::string& flag : flags)
    {
        const std::size_t equals = flag.find('=');
        const bool isFlag = flag.starts_with("--") && equals != std::string::npos;
        const std::string name = isFlag ? flag.substr(2, equals - 2) : "";
        const std::string value = isFlag ? flag.substr(equals + 1) : "";
        if (!isFlag || (!SetAttributeDefault(name, value) &&
                        !Config::SetGlobalFailSafe(name, StringValue(value))))
        {
            throw InputError("command line",
                             0,
                             "unknown flag or refused value: " + flag,
                             "a flag of --help, or --ns3::Class::Attribute=value or "
                             "--GlobalValue=value of ns-3");
        }
    }
}

} // namespace ns3
