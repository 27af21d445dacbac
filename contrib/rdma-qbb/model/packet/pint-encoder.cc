/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pint-encoder.h"

#include "qbb-frame.h"

#include "ns3/assert.h"
#include "ns3/double.h"
#include "ns3/log.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

// Hot path: OnDequeue runs for each frame and hop with HPCC-PINT.

NS_LOG_COMPONENT_DEFINE("PintEncoder");

NS_OBJECT_ENSURE_REGISTERED(PintEncoder);

PintCode::PintCode(double base)
    : m_base(base),
      m_inverseLogBase(1 / std::log(base))
{
    const double powers = std::log(MOST_UTILIZATION * SCALE) * m_inverseLogBase;
    NS_ASSERT_MSG(base >= LEAST_BASE, "a power has 16 bits");
    const auto count = static_cast<uint32_t>(powers) + 2;
    m_utilizations.reserve(count);
    for (uint32_t power = 0; power < count; ++power)
    {
        m_utilizations.push_back(std::pow(base, power) / SCALE);
    }
}

uint16_t
PintCode::Floor(double utilization) const
{
    const double value = utilization * SCALE;
    if (value <= 1)
    {
        return 0;
    }
    const double power = std::log(value) * m_inverseLogBase;
    return static_cast<uint16_t>(std::min(power, static_cast<double>(m_utilizations.size() - 2)));
}

uint16_t
PintCode::Round(double utilization, uint16_t floor, double uniform) const
{
    const double excess = utilization / m_utilizations[floor] - 1;
    return uniform * (m_base - 1) < excess ? floor + 1 : floor;
}

double
PintCode::Decode(uint16_t power) const
{
    return m_utilizations[std::min<std::size_t>(power, m_utilizations.size() - 1)];
}

TypeId
PintEncoder::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::PintEncoder")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<PintEncoder>()
            .AddAttribute(
                "LogBase",
                "Base of the digest's powers (PINT_LOG_BASE); the senders' must be the same.",
                DoubleValue(1.05),
                MakeDoubleAccessor(&PintEncoder::SetLogBase, &PintEncoder::GetLogBase),
                MakeDoubleChecker<double>(PintCode::LEAST_BASE, 2.0))
            .AddAttribute("BaseRtt",
                          "Base RTT T over which utilisations are smoothed; 0: the longest of the "
                          "fabric, or 13 us where nobody has told.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&PintEncoder::m_baseRtt),
                          MakeTimeChecker(Time(0)));
    return tid;
}

PintEncoder::PintEncoder()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

void
PintEncoder::SetLogBase(double base)
{
    m_logBase = base;
    m_code = PintCode(base);
}

double
PintEncoder::GetLogBase() const
{
    return m_logBase;
}

int64_t
PintEncoder::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

void
PintEncoder::OnDequeue(PintPortState& port,
                       QbbTelemetry* telemetry,
                       uint32_t wireBytes,
                       uint64_t queueBytes,
                       uint64_t rateBps,
                       int64_t nowPs) const
{
    const Time window = m_baseRtt.IsZero() ? m_fabricBaseRtt : m_baseRtt;
    const double windowPs = static_cast<double>(window.GetPicoSeconds());
    const double spanPs = std::min(static_cast<double>(nowPs - port.lastPs), windowPs);
    const double bdpBits = static_cast<double>(rateBps) * windowPs * 1e-12;
    const double queueShare = 8.0 * static_cast<double>(queueBytes) * spanPs / windowPs;
    port.utilization =
        (1 - spanPs / windowPs) * port.utilization + (queueShare + 8.0 * wireBytes) / bdpBits;
    port.lastPs = nowPs;
    if (!telemetry)
    {
        return;
    }
    const uint16_t floor = m_code.Floor(port.utilization);
    if (floor >= telemetry->pintPower)
    {
        telemetry->pintPower = m_code.Round(port.utilization, floor, m_random->GetValue());
        NS_LOG_LOGIC("a port used to " << port.utilization << " writes the power "
                                       << telemetry->pintPower);
    }
}

} // namespace ns3
