/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_CHANNEL_H
#define QBB_CHANNEL_H

#include "ns3/channel.h"
#include "ns3/data-rate.h"
#include "ns3/nstime.h"

#include <array>
#include <cstdint>

namespace ns3
{

class NetDevice;

/// A device as its cable sees it, which tells it of changes.
class QbbChannelEnd
{
  public:
    virtual void OnLinkChange(bool up) = 0;
    virtual void OnRateChange(uint64_t rateBps) = 0;

  protected:
    ~QbbChannelEnd() = default;
};

/**
 * @ingroup rdma-qbb
 * @brief A full-duplex cable between two QbbNetDevices: a delay, an error rate, and up or down.
 *
 * Frames on the wire are kept by the sending port; the channel only joins the two ends.
 */
class QbbChannel : public Channel
{
  public:
    static TypeId GetTypeId();

    QbbChannel();
    ~QbbChannel() override;

    /// For QbbNetDevice::Attach(): add an end. @param end the device's
    void Attach(Ptr<NetDevice> device, QbbChannelEnd& end);

    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

    /// @return propagation delay in picoseconds
    int64_t GetDelayPs() const;

    /// @return probability that a frame is lost on the wire
    double GetErrorRate() const
    {
        return m_errorRate;
    }

    /// @return whether the link sends frames again that it loses
    bool Retries() const
    {
        return m_retries;
    }

    /// @return whether frames may be lost for good
    bool IsLossy() const
    {
        return m_errorRate > 0 && !m_retries;
    }

    /// @return bytes that an end keeps for a retry; 0: as the cable needs
    uint64_t GetReplayBuffer() const
    {
        return m_replayBuffer;
    }

    /// @return time without an answer until a retry; 0: as the cable needs
    int64_t GetReplayTimeoutPs() const;

    /// @return bytes of each end's buffer for a priority with credits; 0: none has credits
    uint64_t GetCreditBytes() const
    {
        return m_creditBytes;
    }

    /// @return bit p set: priority p has credits
    uint8_t GetCreditPriorities() const
    {
        return m_creditPriorities;
    }

    /// Cut the cable or mend it; frames on the wire when it is cut are lost.
    void SetUp(bool up);

    /// Send at another rate, in both directions, from the next frames on.
    void SetRate(uint64_t rateBps);

    /// @return whether the cable carries frames
    bool IsUp() const
    {
        return m_up;
    }

  protected:
    void DoDispose() override;

  private:
    Time m_delay;
    double m_errorRate{0};
    bool m_retries{false};
    uint64_t m_replayBuffer{0};
    Time m_replayTimeout;
    uint64_t m_creditBytes{0};
    uint8_t m_creditPriorities{0xfe};
    bool m_up{true};
    std::array<Ptr<NetDevice>, 2> m_devices;
    std::array<QbbChannelEnd*, 2> m_ends{};
};

} // namespace ns3

#endif /* QBB_CHANNEL_H */
