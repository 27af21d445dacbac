/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_LEVEL_BACKGROUND_H
#define FLOW_LEVEL_BACKGROUND_H

#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/event-loop.h"
#include "ns3/flow-file.h"

#include <cstdint>
#include <optional>
#include <string>

namespace AstraSim
{

/// Runs the flows of a file over a FlowLevelFabric, each from its start time.
class FlowLevelBackground
{
  public:
    /// @param loop,fabric outlive the object @param path flow file
    FlowLevelBackground(EventLoop& loop, FlowLevelFabric& fabric, const std::string& path);

    /// Schedule the flows.
    void Start();

    /// @return flows that are complete at their senders
    uint64_t GetFinished() const
    {
        return m_finished;
    }

    /// @return whether all flows of the file are complete
    bool IsDone() const
    {
        return m_finished >= m_file.Count();
    }

  private:
    void ScheduleNext();
    void StartDueFlows();

    EventLoop& m_loop;
    FlowLevelFabric& m_fabric;
    ns3::FlowFile m_file;
    std::optional<ns3::FlowRecord> m_next;
    uint64_t m_finished{0};
};

} // namespace AstraSim

#endif /* FLOW_LEVEL_BACKGROUND_H */
