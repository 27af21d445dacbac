/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-channel.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/net-device.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbChannel");

NS_OBJECT_ENSURE_REGISTERED(QbbChannel);

TypeId
QbbChannel::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::QbbChannel")
            .SetParent<Channel>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<QbbChannel>()
            .AddAttribute("Delay",
                          "Propagation delay",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          TimeValue(NanoSeconds(500)),
                          MakeTimeAccessor(&QbbChannel::m_delay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ErrorRate",
                          "Probability that a frame is lost on the wire, in each direction",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          DoubleValue(0.0),
                          MakeDoubleAccessor(&QbbChannel::m_errorRate),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("LinkRetry",
                          "The link sends frames again that it loses, in order (link-level retry "
                          "of Ultra Ethernet)",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          BooleanValue(false),
                          MakeBooleanAccessor(&QbbChannel::m_retries),
                          MakeBooleanChecker())
            .AddAttribute("ReplayBuffer",
                          "Bytes of frames that an end keeps until the far end has them, at least "
                          "one of the longest frames; 0: enough for the line rate over this cable",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(0),
                          MakeUintegerAccessor(&QbbChannel::m_replayBuffer),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("CreditBytes",
                          "Buffer that each end has for each lossless priority, whose frames the "
                          "far end sends by credit instead of heeding pauses (credit-based flow "
                          "control of Ultra Ethernet), at least one of the longest frames; 0: no "
                          "credits",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(0),
                          MakeUintegerAccessor(&QbbChannel::m_creditBytes),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("CreditPriorities",
                          "Priorities that have credits: bit p for priority p",
                          UintegerValue(0xfe),
                          MakeUintegerAccessor(&QbbChannel::m_creditPriorities),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("ReplayTimeout",
                          "Time after which an end sends a frame again that has no answer, at "
                          "least as long as an answer may take; 0: twice that",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&QbbChannel::m_replayTimeout),
                          MakeTimeChecker(Time(0)));
    return tid;
}

QbbChannel::QbbChannel() = default;

QbbChannel::~QbbChannel() = default;

void
QbbChannel::Attach(Ptr<NetDevice> device, QbbChannelEnd& end)
{
    NS_LOG_FUNCTION(this << device);
    const std::size_t place = GetNDevices();
    NS_ABORT_MSG_IF(place == m_devices.size(), "a QbbChannel has two ends");
    m_devices[place] = device;
    m_ends[place] = &end;
}

std::size_t
QbbChannel::GetNDevices() const
{
    return m_devices[1] ? 2 : m_devices[0] ? 1 : 0;
}

Ptr<NetDevice>
QbbChannel::GetDevice(std::size_t i) const
{
    return m_devices.at(i);
}

int64_t
QbbChannel::GetReplayTimeoutPs() const
{
    return m_replayTimeout.GetTimeStep();
}

int64_t
QbbChannel::GetDelayPs() const
{
    return m_delay.GetTimeStep();
}

void
QbbChannel::SetUp(bool up)
{
    NS_LOG_FUNCTION(this << up);
    if (m_up == up)
    {
        return;
    }
    m_up = up;
    for (QbbChannelEnd* end : m_ends)
    {
        if (end)
        {
            end->OnLinkChange(up);
        }
    }
}

void
QbbChannel::SetRate(uint64_t rateBps)
{
    NS_LOG_FUNCTION(this << rateBps);
    for (QbbChannelEnd* end : m_ends)
    {
        if (end)
        {
            end->OnRateChange(rateBps);
        }
    }
}

void
QbbChannel::DoDispose()
{
    m_devices.fill(nullptr);
    m_ends.fill(nullptr);
    Channel::DoDispose();
}

} // namespace ns3
