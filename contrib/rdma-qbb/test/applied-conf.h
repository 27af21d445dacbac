/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef APPLIED_CONF_H
#define APPLIED_CONF_H

#include "ns3/attribute-default.h"
#include "ns3/fabric-conf.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

/// A configuration from its text, in force while the object lives.
class AppliedConf
{
  public:
    /// @param text lines of a SimAI.conf @param name what to call it in errors
    explicit AppliedConf(const std::string& text, const std::string& name = "conf")
    {
        std::istringstream stream(text);
        conf = FabricConf::Read(stream, name);
        m_replaced = conf.Apply();
    }

    ~AppliedConf()
    {
        std::for_each(m_replaced.rbegin(), m_replaced.rend(), SetDefault);
    }

    /// Set an attribute's default as well, for as long.
    void Set(const AttributeSetting& setting)
    {
        const auto before = SetDefault(setting);
        m_replaced.insert(m_replaced.end(), before.begin(), before.end());
    }

    AppliedConf(const AppliedConf&) = delete;
    AppliedConf& operator=(const AppliedConf&) = delete;

    FabricConf conf;

  private:
    std::vector<AttributeSetting> m_replaced;
};

} // namespace ns3

#endif /* APPLIED_CONF_H */
