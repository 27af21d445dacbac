/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ATTRIBUTE_DEFAULT_H
#define ATTRIBUTE_DEFAULT_H

#include "ns3/attribute.h"
#include "ns3/type-id.h"

namespace AstraSim
{

/// @return the value in force of an attribute whose object the run does without
template <typename Value>
Value
AttributeDefault(ns3::TypeId type, const char* name)
{
    ns3::TypeId::AttributeInformation information;
    type.LookupAttributeByName(name, &information);
    Value value;
    value.DeserializeFromString(information.initialValue->SerializeToString(information.checker),
                                information.checker);
    return value;
}

} // namespace AstraSim

#endif /* ATTRIBUTE_DEFAULT_H */
