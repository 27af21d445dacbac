/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-level-background.h"

namespace AstraSim
{

FlowLevelBackground::FlowLevelBackground(EventLoop& loop,
                                         FlowLevelFabric& fabric,
                                         const std::string& path)
    : m_loop(loop),
      m_fabric(fabric),
      m_file(path, fabric.GetTopology())
{
}

void
FlowLevelBackground::Start()
{
    m_next = m_file.Next();
    ScheduleNext();
}

void
FlowLevelBackground::ScheduleNext()
{
    if (m_next)
    {
        m_loop.Schedule(
            m_next->startPs - m_loop.Now(),
            [](void* self) { static_cast<FlowLevelBackground*>(self)->StartDueFlows(); },
            this);
    }
}

void
FlowLevelBackground::StartDueFlows()
{
    const MessageHandler done = [](void* self) {
        ++static_cast<FlowLevelBackground*>(self)->m_finished;
    };
    while (m_next && m_next->startPs <= m_loop.Now())
    {
        m_fabric.StartBackground(
            {m_next->src, m_next->dst, m_next->bytes, m_next->priority, m_next->dport, done, this});
        m_next = m_file.Next();
    }
    ScheduleNext();
}

} // namespace AstraSim
