/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-results.h"

#include "thread-report.h"

#include <utility>

namespace AstraSim
{

namespace
{

constexpr double PS_PER_NS = 1000;

double
InRecord(int64_t ps)
{
    return static_cast<double>(ps) / PS_PER_NS;
}

double
InRecord(const ns3::TimeSum& sum)
{
    return sum.ToPs() / PS_PER_NS;
}

uint64_t
InRecord(uint64_t count)
{
    return count;
}

} // namespace

void
RunResults::WriteTo(RunRecord& record) const
{
    record.Set("simulated_ns", InRecord(simulatedPs));
    if (wallSeconds)
    {
        record.Set("simulation_wall_s", *wallSeconds);
    }
    record.Set("events", totals.events);
    if (collectives)
    {
        record.Set("collectives", *collectives);
    }
    if (knowsPackets)
    {
        ns3::CarriedTraffic::ForEachField(
            [&](const char* name, auto field, auto) { record.Set(name, InRecord(totals.*field)); });
    }
    else
    {
        record.Set("flows", totals.flows);
    }
    if (totals.uncertainPs)
    {
        record.Set("uncertain_ns", InRecord(*totals.uncertainPs));
    }
    RecordThreads(record);
    if (totals.backgroundFlows)
    {
        record.Set("background_flows", *totals.backgroundFlows);
    }
}

void
RecordOutages(RunRecord& record, const std::vector<ns3::LinkOutage>& outages, bool knowsPackets)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ns3::LinkOutage& outage : outages)
    {
        nlohmann::ordered_json entry = {{"nodes", outage.ends},
                                        {"links", outage.links.size()},
                                        {"from_ns", InRecord(outage.fromPs)},
                                        {"to_ns", nullptr}};
        if (outage.toPs != ns3::LinkOutage::FOR_GOOD)
        {
            entry["to_ns"] = InRecord(outage.toPs);
        }
        if (knowsPackets)
        {
            entry["drops"] = outage.losses.drops;
            entry["timeouts"] = outage.losses.timeouts;
            entry["timer_ns"] = InRecord(outage.losses.timerPs);
        }
        list.push_back(std::move(entry));
    }
    if (!list.empty())
    {
        record.Set("outages", list);
    }
}

} // namespace AstraSim
