/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-call.h"

namespace ns3
{

// In functions, as other sources ask for them before main(); and kept, as some ask after it.
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
    // The numbers at the end are used again, so that runs in one program do not add up.
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
