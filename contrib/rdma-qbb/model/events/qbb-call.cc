/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-call.h"

namespace ns3
{

// Static variables in functions, as other sources use them before main(); never destroyed, as some
// use them after it.
std::vector<QbbAddressee*>&
QbbAddressee::All()
{
    static auto& all = *new std::vector<QbbAddressee*>;
    return all;
}

QbbAddressee::QbbAddressee()
    : m_address(static_cast<uint32_t>(All().size()))
{
    All().push_back(this);
}

QbbAddressee::~QbbAddressee()
{
    // Free numbers at the end are used again, so that they do not grow with the number of runs in a
    // program.
    auto& all = All();
    all[m_address] = nullptr;
    while (!all.empty() && !all.back())
    {
        all.pop_back();
    }
}

std::vector<QbbCallKinds::Handler>&
QbbCallKinds::All()
{
    static auto& all = *new std::vector<Handler>;
    return all;
}

uint32_t
QbbCallKinds::Add(Handler handler)
{
    All().push_back(handler);
    return static_cast<uint32_t>(All().size() - 1);
}

} // namespace ns3
