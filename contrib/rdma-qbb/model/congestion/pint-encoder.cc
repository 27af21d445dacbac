/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pint-encoder.h"

#include "ns3/double.h"
#include "ns3/qbb-frame.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

// Hot path: OnDequeue runs for each frame and hop with HPCC-PINT.

NS_OBJECT_ENSURE_REGISTERED(PintEncoder);

PintCode::PintCode(double base)
    : m_base(base),
      m_inverseLogBase(1 / std::log(base))
{
}

uint16_t
PintCode::Encode(double utilization, double uniform) const
{
    const double value = utilization * SCALE;
    if (value <= 1)
    {
        return 0;
    }
    const double floorPower = std::floor(std::log(value) * m_inverseLogBase);
    const double excess = value * std::pow(m_base, -floorPower) - 1;
    const double power = uniform * (m_base - 1) < excess ? floorPower + 1 : floorPower;
    return static_cast<uint16_t>(std::min(power, 65535.0));
}

double
PintCode::Decode(uint16_t power) const
{
    return std::pow(m_base, power) / SCALE;
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
                MakeDoubleChecker<double>(1.0001, 2.0))
            .AddAttribute("BaseRtt",
                          "Base RTT T over which utilisations are smoothed.",
                          TimeValue(MicroSeconds(13)),
                          MakeTimeAccessor(&PintEncoder::m_baseRtt),
                          MakeTimeChecker(NanoSeconds(1)));
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
    const double windowPs = static_cast<double>(m_baseRtt.GetPicoSeconds());
    const double spanPs = std::min(static_cast<double>(nowPs - port.lastPs), windowPs);
    const double bdpBits = static_cast<double>(rateBps) * windowPs * 1e-12;
    const double queueShare = 8.0 * static_cast<double>(queueBytes) * spanPs / windowPs;
    port.utilization =
        (1 - spanPs / windowPs) * port.utilization + (queueShare + 8.0 * wireBytes) / bdpBits;
    port.lastPs = nowPs;
    if (telemetry)
    {
        const uint16_t power = m_code.Encode(port.utilization, m_random->GetValue());
        telemetry->pintPower = std::max(telemetry->pintPower, power);
    }
}

} // namespace ns3
