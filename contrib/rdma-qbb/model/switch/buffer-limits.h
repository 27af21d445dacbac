/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUFFER_LIMITS_H
#define BUFFER_LIMITS_H

#include "ns3/nstime.h"
#include "ns3/rate-map.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// RED-style marking of one port: probability 0 at kmin, pmax at kmax, 1 above.
struct EcnThresholds
{
    uint64_t kminBytes{UINT64_MAX};
    uint64_t kmaxBytes{UINT64_MAX};
    double pmax{0};
};

/// The attributes of SwitchMmu.
struct BufferSettings
{
    uint64_t bufferBytes{0};
    uint64_t reserve{0};
    uint64_t resumeOffset{0};
    uint64_t staticThreshold{0}; ///< 0: the shared pool divided by the number of ports
    Time responseTime;
    uint8_t losslessMask{0};
    bool dynamic{true};
    double lossyAlpha{1};
    double lossyQueueAlpha{0}; ///< 0: no bound
    double alpha{0.125};
    RateMap ecnKmin;
    RateMap ecnKmax;
    RateMap ecnPmax;
};

/**
 * @ingroup rdma-qbb
 * @brief How a switch's buffer is divided, and how much of it an ingress may hold: functions of the
 * configuration and of the shared bytes in use.
 *
 * Headroom of a lossless priority is 2 * delay * rate + 2 MTU + response time * rate, so that a
 * pause never comes too late: the frame in flight in each direction, the bytes on the wire, and
 * those sent until the partner has acted (IEEE 802.1Qbb Annex O; DCQCN, SIGCOMM 2015, section 4).
 * The last is at least a full frame, the one that crosses the threshold, and a PFC frame of each
 * priority.
 */
class BufferLimits
{
  public:
    static constexpr uint8_t PRIORITIES = 8;

    BufferSettings settings; ///< Divide() follows a change

    /// Set the number of ports, none of which is configured.
    void SetPorts(uint32_t ports)
    {
        m_ports.assign(ports, Port());
    }

    /// See SwitchMmu.
    void ConfigurePort(uint32_t port,
                       uint64_t rateBps,
                       int64_t delayPs,
                       uint32_t mtuWireBytes,
                       double alphaScale);
    void SetCredits(uint32_t port, uint64_t bytes);
    void SetEcn(uint32_t port, const EcnThresholds& thresholds);

    /// Divide the buffer among reserves, headroom and the shared pool.
    /// @param isBuiltIn whether its thresholds are those of this class
    void Divide(bool isBuiltIn);

    /// @return the marking thresholds of ports of that rate, as the attributes say
    EcnThresholds EcnFor(uint64_t rateBps) const;

    /// @return whether the attributes list that rate, or hold for all
    bool ListsEcnFor(uint64_t rateBps) const;

    /// @return the marking thresholds of a port
    const EcnThresholds& GetEcn(uint32_t port) const
    {
        return m_ports[port].ecn;
    }

    /// @return DynamicThresholds' limit of an ingress while so many shared bytes are used
    uint64_t DynamicThreshold(uint32_t port, uint8_t priority, uint64_t sharedUsed) const
    {
        return PartOfFree(IsLossless(priority) ? m_ports[port].alpha : settings.lossyAlpha,
                          sharedUsed);
    }

    /// @return StaticThresholds' limit of an ingress
    uint64_t GetStaticThreshold() const
    {
        return m_staticThreshold;
    }

    /// @return the built-in policies' limit of an ingress at a lossless priority
    uint64_t LosslessThreshold(uint32_t port, uint64_t sharedUsed) const
    {
        return settings.dynamic ? PartOfFree(m_ports[port].alpha, sharedUsed) : m_staticThreshold;
    }

    /// @return the built-in policies' limit of an ingress
    uint64_t Threshold(uint32_t port, uint8_t priority, uint64_t sharedUsed) const
    {
        return IsLossless(priority) ? LosslessThreshold(port, sharedUsed)
                                    : DynamicThreshold(port, priority, sharedUsed);
    }

    /// @return alpha times the shared bytes that are free while so many are used
    uint64_t PartOfFree(double alpha, uint64_t sharedUsed) const
    {
        const uint64_t free = sharedUsed < m_sharedBytes ? m_sharedBytes - sharedUsed : 0;
        return static_cast<uint64_t>(alpha * static_cast<double>(free));
    }

    /// @return number of ports
    uint32_t GetPortCount() const
    {
        return static_cast<uint32_t>(m_ports.size());
    }

    /// @return the priorities that PFC protects (bit p: priority p)
    uint8_t GetLosslessMask() const
    {
        return settings.losslessMask;
    }

    /// @return whether PFC protects @p priority
    bool IsLossless(uint8_t priority) const
    {
        return settings.losslessMask >> priority & 1;
    }

    /// @return whether the far end of a port sends frames of lossless priorities by credit
    bool HasCredits(uint32_t port) const
    {
        return m_ports[port].creditBytes > 0;
    }

    /// @return headroom in bytes of each lossless priority of @p port
    uint64_t GetHeadroom(uint32_t port) const
    {
        return m_ports[port].headroom;
    }

    /// @return bytes of the headroom of all ports and lossless priorities
    uint64_t GetAllHeadroom() const;

    /// @return bytes of the packet buffer
    uint64_t GetBufferBytes() const
    {
        return settings.bufferBytes;
    }

    /// @return bytes of the shared pool
    uint64_t GetSharedBytes() const
    {
        return m_sharedBytes;
    }

    /// @return bytes of the buffer without reserves and headroom of lossless priorities
    uint64_t GetCommonBytes() const
    {
        return m_commonBytes;
    }

    /// @return bytes in the switch up to which every frame is admitted and no ingress pauses
    uint64_t GetEasyBytes() const
    {
        return m_easyBytes;
    }

  private:
    struct Port
    {
        double alpha{0.125};
        uint64_t headroom{0};
        EcnThresholds ecn;
        // facts of the link, from which Derive() computes the members above
        uint64_t rateBps{0};
        int64_t delayPs{0};
        uint32_t mtuWireBytes{0};
        float alphaScale{1};
        bool hasOwnEcn{false};
        uint64_t creditBytes{0}; ///< 0: PFC
    };

    /// Work out a port's limits from its facts and from the attributes.
    void Derive(Port& port) const;
    uint64_t WorkOutEasyBytes() const;

    std::vector<Port> m_ports;
    uint64_t m_sharedBytes{0};
    uint64_t m_commonBytes{0};
    uint64_t m_easyBytes{0};
    uint64_t m_staticThreshold{0};
    bool m_hasCredits{false}; ///< some port's far end sends by credit
};

} // namespace ns3

#endif /* BUFFER_LIMITS_H */
