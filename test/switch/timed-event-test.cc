/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/config.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace ns3
{

namespace
{

/// Notes when it is fired.
class NotedEvent : public QbbTimedEvent
{
  public:
    explicit NotedEvent(std::vector<int64_t>& firedPs)
        : m_firedPs(firedPs)
    {
    }

    void Fire(int64_t nowPs) override
    {
        m_firedPs.push_back(nowPs);
    }

  private:
    std::vector<int64_t>& m_firedPs;
};

/// @return when an event fires that is scheduled for a time at 5000, whatever the unit
std::vector<int64_t>
FireAt(int64_t timePs)
{
    Config::SetGlobal("SimulatorImplementationType", StringValue("ns3::DefaultSimulatorImpl"));
    std::vector<int64_t> firedPs;
    const Ptr<NotedEvent> event = Create<NotedEvent>(firedPs);
    Simulator::Schedule(TimeStep(5000), [&] { event->ScheduleAt(0, timePs); });
    Simulator::Run();
    Simulator::Destroy();
    return firedPs;
}

} // namespace

TEST(QbbTimedEvent, FiresOnNs3sOwnSimulatorNowOrLaterAndEndsTheProgramForThePast)
{
    EXPECT_EQ(FireAt(5000), std::vector<int64_t>{5000});
    EXPECT_EQ(FireAt(5001), std::vector<int64_t>{5001});
    EXPECT_DEATH(FireAt(4999), "an event cannot be scheduled in the past");
}

} // namespace ns3
