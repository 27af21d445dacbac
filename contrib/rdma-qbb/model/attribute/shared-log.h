/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SHARED_LOG_H
#define SHARED_LOG_H

#include "ns3/log.h"

#include <map>
#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The log component of a class with functions in several files.
 *
 * NS_LOG_COMPONENT_DEFINE() makes a component that is one file's own; two files cannot give the
 * same name.
 *
 * @param name of the component @param file that asks
 * @return the one of that name
 */
inline LogComponent&
SharedLogComponent(const std::string& name, const std::string& file)
{
    static std::map<std::string, LogComponent> components;
    return components.try_emplace(name, name, file).first->second;
}

} // namespace ns3

/// As NS_LOG_COMPONENT_DEFINE(), in each file of a class that has several.
#define NS_LOG_COMPONENT_SHARE(name)                                                               \
    static ns3::LogComponent& g_log [[maybe_unused]] = ns3::SharedLogComponent(name, __FILE__)

#endif /* SHARED_LOG_H */
