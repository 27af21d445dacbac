/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-credit-rate.h"

#include "ns3/flow-hash.h"
#include "ns3/qbb-frame.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{

constexpr double PERIOD_RTTS = 1.5;
constexpr double MOST_MARKED = 0.3; ///< part of frames
constexpr double MARK_GAIN = 0.5;
constexpr double MARK_AVERAGE_GAIN = 0.5;
constexpr double STEP = 0.01;
constexpr int MOST_DOUBLINGS = 7; ///< 0.01 times 2 to the power of this is more than 1

} // namespace

UecCreditRate::UecCreditRate(double least, int64_t rttPs, uint32_t seed)
    : m_least(least),
      m_rttPs(rttPs),
      m_seed(MixBits(seed)),
      m_endPs(DrawPeriodPs())
{
}

int64_t
UecCreditRate::DrawPeriodPs()
{
    const double part = static_cast<double>(MixBits(m_seed ^ ++m_periods)) / UINT32_MAX;
    return std::max<int64_t>(
        1,
        static_cast<int64_t>((0.75 + part / 2) * PERIOD_RTTS * static_cast<double>(m_rttPs)));
}

void
UecCreditRate::OnFrame(const QbbFrame& frame, int64_t nowPs)
{
    EndPeriodsBefore(nowPs);
    ++m_frames;
    if (frame.payloadBytes == 0)
    {
        ++(frame.trimmedAtEdge ? m_trimmedAtEdge : m_trimmed);
    }
    else
    {
        m_marked += frame.ecn == EcnCodepoint::Ce;
    }
}

double
UecCreditRate::Get(int64_t nowPs)
{
    EndPeriodsBefore(nowPs);
    return m_rate;
}

void
UecCreditRate::EndPeriodsBefore(int64_t nowPs)
{
    // After so many periods without a frame the rate is 1, whatever it was.
    constexpr int MOST_PERIODS = 100;
    for (int period = 0; m_endPs <= nowPs && period < MOST_PERIODS; ++period)
    {
        EndPeriod();
        m_endPs += DrawPeriodPs();
    }
    if (m_endPs <= nowPs)
    {
        m_endPs = nowPs + DrawPeriodPs();
    }
}

void
UecCreditRate::EndPeriod()
{
    const uint32_t whole = m_frames - m_trimmed - m_trimmedAtEdge;
    const double marked = whole ? static_cast<double>(m_marked) / whole : 0;
    m_averageMarked += MARK_AVERAGE_GAIN * (marked - m_averageMarked);
    const double excess = std::max(0.0, m_averageMarked - MOST_MARKED);
    if (m_trimmed > 0 || excess > 0)
    {
        m_rate -= m_frames ? static_cast<double>(m_trimmed) / m_frames : 0;
        m_rate *= 1 - MARK_GAIN * excess;
        m_increases = 0;
    }
    else
    {
        m_rate += m_marked ? STEP : std::ldexp(STEP, m_increases);
        m_increases = std::min(m_increases + 1, MOST_DOUBLINGS);
    }
    m_rate = std::clamp(m_rate, m_least, 1.0);
    m_frames = m_marked = m_trimmed = m_trimmedAtEdge = 0;
}

} // namespace ns3
