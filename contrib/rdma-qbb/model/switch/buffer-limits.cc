/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-limits.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ns3
{

namespace
{

/// A PFC frame with preamble and gap.
constexpr uint32_t PFC_WIRE_BYTES = 84;

} // namespace

void
BufferLimits::ConfigurePort(uint32_t port,
                            uint64_t rateBps,
                            int64_t delayPs,
                            uint32_t mtuWireBytes,
                            double alphaScale)
{
    Port& configured = m_ports[port];
    configured.rateBps = rateBps;
    configured.delayPs = delayPs;
    configured.mtuWireBytes = mtuWireBytes;
    configured.alphaScale = static_cast<float>(alphaScale);
    Derive(configured);
}

void
BufferLimits::Derive(Port& port) const
{
    const double bytesPerPs = static_cast<double>(port.rateBps) / 8e12;
    // Partners act at once here, so their response time is room for the frame that crosses the
    // threshold and for PFC frames of other priorities, unless these take longer.
    const double response =
        std::max(static_cast<double>(settings.responseTime.GetTimeStep()) * bytesPerPs,
                 static_cast<double>(port.mtuWireBytes + PRIORITIES * PFC_WIRE_BYTES));
    const double onWire = 2.0 * port.delayPs * bytesPerPs + response;
    port.headroom = port.creditBytes ? port.creditBytes
                                     : static_cast<uint64_t>(onWire) + 1 + 2 * port.mtuWireBytes;
    port.alpha = settings.alpha * port.alphaScale;
    if (!port.hasOwnEcn)
    {
        port.ecn = EcnFor(port.rateBps);
    }
}

void
BufferLimits::SetCredits(uint32_t port, uint64_t bytes)
{
    m_ports[port].creditBytes = bytes;
    m_hasCredits = true;
}

void
BufferLimits::SetEcn(uint32_t port, const EcnThresholds& thresholds)
{
    m_ports[port].ecn = thresholds;
    m_ports[port].hasOwnEcn = true;
}

EcnThresholds
BufferLimits::EcnFor(uint64_t rateBps) const
{
    const double scale = static_cast<double>(rateBps) / 25e9;
    const auto bytes = [](double value) { return static_cast<uint64_t>(std::llround(value)); };
    return {bytes(settings.ecnKmin.At(rateBps).value_or(100e3 * scale)),
            bytes(settings.ecnKmax.At(rateBps).value_or(400e3 * scale)),
            settings.ecnPmax.At(rateBps).value_or(0.2)};
}

bool
BufferLimits::ListsEcnFor(uint64_t rateBps) const
{
    return settings.ecnKmin.Lists(rateBps) && settings.ecnKmax.Lists(rateBps) &&
           settings.ecnPmax.Lists(rateBps);
}

uint64_t
BufferLimits::GetAllHeadroom() const
{
    uint64_t bytes = 0;
    for (const Port& port : m_ports)
    {
        bytes += port.headroom;
    }
    return bytes * static_cast<uint64_t>(std::popcount(settings.losslessMask));
}

void
BufferLimits::Divide(bool isBuiltIn)
{
    for (Port& port : m_ports)
    {
        Derive(port);
    }
    const auto lossless = static_cast<uint64_t>(std::popcount(settings.losslessMask));
    const uint64_t taken =
        m_ports.size() * std::max<uint64_t>(lossless, 1) * settings.reserve + GetAllHeadroom();
    m_sharedBytes = taken < settings.bufferBytes ? settings.bufferBytes - taken : 0;
    m_commonBytes = lossless ? m_sharedBytes : settings.bufferBytes;
    m_staticThreshold = settings.staticThreshold
                            ? settings.staticThreshold
                            : m_sharedBytes / std::max<uint64_t>(m_ports.size(), 1);
    // With credits, each frame shall pass OnFrameDeparture(), which returns its credit.
    m_easyBytes = isBuiltIn && !m_hasCredits ? WorkOutEasyBytes() : 0;
}

uint64_t
BufferLimits::WorkOutEasyBytes() const
{
    // An ingress holds at most the switch's bytes. Thresholds fall as the switch fills, so where
    // the total meets the lowest of them is found by bisection.
    const double lossyAlpha = settings.lossyQueueAlpha > 0
                                  ? std::min(settings.lossyAlpha, settings.lossyQueueAlpha)
                                  : settings.lossyAlpha;
    const auto isEasy = [this, lossyAlpha](uint64_t total) {
        for (uint32_t port = 0; port < m_ports.size(); ++port)
        {
            if (total >= LosslessThreshold(port, total))
            {
                return false;
            }
        }
        return total <= m_sharedBytes &&
               total <= static_cast<uint64_t>(lossyAlpha * (m_sharedBytes - total));
    };
    uint64_t easy = 0;
    uint64_t beyond = m_sharedBytes + 1;
    while (beyond - easy > 1)
    {
        const uint64_t middle = easy + (beyond - easy) / 2;
        (isEasy(middle) ? easy : beyond) = middle;
    }
    return easy;
}

} // namespace ns3
