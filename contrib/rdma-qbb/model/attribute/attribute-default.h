/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ATTRIBUTE_DEFAULT_H
#define ATTRIBUTE_DEFAULT_H

#include "ns3/attribute.h"
#include "ns3/type-id.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @file
 * The defaults of attributes, which are where every parameter of a simulation is kept: a
 * configuration file, the environment and flags change them before objects are made.
 */

/// An attribute, and the class that declares it.
struct DeclaredAttribute
{
    TypeId type;
    std::size_t index; ///< among the attributes of the type
    TypeId::AttributeInformation information;
};

/**
 * @param name "ns3::RdmaHw::Mtu"; the class may be one with subclasses that declare the attribute
 * @return the declarations: one if the class or its parents declare it, else those of all
 * subclasses; empty if there is no such class or attribute
 */
std::vector<DeclaredAttribute> FindAttributes(const std::string& name);

/// A value that an attribute, or a global value, shall have by default.
struct AttributeSetting
{
    std::string name;                ///< as for FindAttributes(), or of a global value ("RngSeed")
    Ptr<const AttributeValue> value; ///< of the attribute's type, or a StringValue
};

/// @return whether the attribute exists and takes the value
bool IsLegal(const AttributeSetting& setting);

/**
 * Make a legal value the default of objects made from now on.
 * @return the defaults it replaces; to restore them, set them in reverse order
 */
std::vector<AttributeSetting> SetDefault(const AttributeSetting& setting);

/**
 * Make a legal value the default of an attribute, unless a program, a configuration, the
 * environment or a flag has set one, be it the declared one.
 */
void SetDefaultUnlessSet(const AttributeSetting& setting);

/// @return the default in force of the first declaration, for its description; null if there is
/// none
Ptr<const AttributeValue> GetDefault(const std::string& name);

/// @return the same, for a model that follows it: WasRead() is true from now on
Ptr<const AttributeValue> ReadDefault(const std::string& name);

/// @return whether a model has read one of the declarations' defaults since it was set. Objects,
/// which ns-3 gives all their defaults when it makes them, do not count.
bool WasRead(const std::string& name);

/// @return the default that the class itself declares, before any change
Ptr<const AttributeValue> GetOriginalDefault(const std::string& name);

/// @return every attribute of every class, and every global value, with the default in force: a
/// line "name=value" each; those that name objects of this process are left out
std::string DescribeDefaults();

/**
 * A default that a model follows.
 * @tparam Value type of the attribute
 * @code
 * const uint64_t mtu = AttributeDefault<UintegerValue>("ns3::RdmaHw::Mtu");
 * @endcode
 */
template <typename Value>
auto
AttributeDefault(const std::string& name)
{
    return dynamic_cast<const Value&>(*ReadDefault(name)).Get();
}

/// The same for a description of the default.
template <typename Value>
auto
LookAtDefault(const std::string& name)
{
    return dynamic_cast<const Value&>(*GetDefault(name)).Get();
}

} // namespace ns3

#endif /* ATTRIBUTE_DEFAULT_H */
