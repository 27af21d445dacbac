/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOST_SWITCHES_H
#define LOST_SWITCHES_H

#include "ns3/input-error.h"

#include <string>

namespace AstraSim
{

/// No switch carries out the operations of a group: there is none, or links to it have failed.
class LostSwitches : public ns3::InputError
{
  public:
    LostSwitches(const std::string& option, const std::string& group)
        : InputError(
              option,
              0,
              "no NVSwitch joins the ranks of group " + group,
              "ranks of one server whose links to an NVSwitch are up, or NCCL_NVLS_ENABLE=0"),
          m_group(group)
    {
    }

    /// @return the name of the group
    const std::string& GetGroup() const
    {
        return m_group;
    }

  private:
    std::string m_group;
};

} // namespace AstraSim

#endif /* LOST_SWITCHES_H */
