/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUFFER_COUNTS_H
#define BUFFER_COUNTS_H

#include "ns3/assert.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

// Hot path: Add and Remove run once per packet and switch.

/**
 * @ingroup rdma-qbb
 * @brief The bytes in a switch, by ingress and by egress.
 *
 * Every byte is counted twice: at its ingress (port, priority), for room and PFC, and at its egress
 * (port, priority), for ECN. Bytes of an ingress are in its headroom, or in its reserve and, beyond
 * that, in the shared pool. Priority 0 (control) is not counted at the ingress.
 */
class BufferCounts
{
  public:
    static constexpr uint8_t PRIORITIES = 8;

    struct Ingress
    {
        uint64_t bytes{0};         ///< in the reserve and the shared pool
        uint64_t headroomBytes{0}; ///< in the headroom
        bool paused{false};        ///< whether its partner has been paused

        /// Remove bytes, those in the headroom first.
        void Remove(uint64_t leaves)
        {
            const uint64_t fromHeadroom = std::min(headroomBytes, leaves);
            headroomBytes -= fromHeadroom;
            bytes -= leaves - fromHeadroom;
        }
    };

    /// Set the number of ports, of an empty switch.
    void SetPorts(std::size_t ports)
    {
        m_ports = ports;
        m_ingress.assign(ports * PRIORITIES, Ingress());
        m_egress.assign(ports * PRIORITIES, 0);
    }

    /// Set the bytes of an ingress that are not in the shared pool.
    void SetReserve(uint64_t bytes);

    /// Count a frame at its ingress, which is not to take it into the headroom.
    void AddShared(Ingress& in, uint64_t bytes)
    {
        const uint64_t before = SharedOf(in);
        in.bytes += bytes;
        m_sharedUsed += SharedOf(in) - before;
    }

    /// Count a frame in the switch and at its egress.
    void Add(uint32_t outPort, uint8_t priority, uint32_t bytes)
    {
        if (priority > 0)
        {
            m_totalBytes += bytes;
            m_peakBytes = std::max(m_peakBytes, m_totalBytes);
        }
        else
        {
            m_controlBytes += bytes;
        }
        m_egress[IndexOf(outPort, priority)] += bytes;
    }

    /// Count a frame that passes through the switch without a stay.
    void Pass(uint8_t priority, uint32_t bytes)
    {
        if (priority > 0)
        {
            m_peakBytes = std::max(m_peakBytes, m_totalBytes + bytes);
        }
    }

    /// A frame leaves.
    void Remove(uint32_t inPort, uint32_t outPort, uint8_t priority, uint32_t bytes)
    {
        NS_ASSERT(m_egress[IndexOf(outPort, priority)] >= bytes);
        m_egress[IndexOf(outPort, priority)] -= bytes;
        if (priority == 0)
        {
            m_controlBytes -= bytes;
            return;
        }
        Ingress& in = Of(inPort, priority);
        NS_ASSERT(in.bytes + in.headroomBytes >= bytes);
        const uint64_t before = SharedOf(in);
        in.Remove(bytes);
        m_sharedUsed -= before - SharedOf(in);
        m_totalBytes -= bytes;
    }

    Ingress& Of(uint32_t port, uint8_t priority)
    {
        return m_ingress[IndexOf(port, priority)];
    }

    const Ingress& Of(uint32_t port, uint8_t priority) const
    {
        return m_ingress[IndexOf(port, priority)];
    }

    /// @return bytes in the shared pool of an ingress with so many outside of its headroom
    uint64_t SharedOf(uint64_t bytes) const
    {
        return bytes > m_reserve ? bytes - m_reserve : 0;
    }

    /// @return bytes of an ingress in the shared pool
    uint64_t SharedOf(const Ingress& in) const
    {
        return SharedOf(in.bytes);
    }

    /// @return bytes outside the reserves and headroom of lossless priorities
    uint64_t CountCommonBytes(uint8_t losslessMask) const;

    /// @return bytes of an ingress in its reserve and in the shared pool
    uint64_t GetIngressBytes(uint32_t port, uint8_t priority) const
    {
        return Of(port, priority).bytes;
    }

    /// @return bytes of an ingress in its headroom
    uint64_t GetHeadroomBytes(uint32_t port, uint8_t priority) const
    {
        return Of(port, priority).headroomBytes;
    }

    /// @return bytes that wait for an egress
    uint64_t GetEgressBytes(uint32_t port, uint8_t priority) const
    {
        return m_egress[IndexOf(port, priority)];
    }

    /// @return bytes of the shared pool in use
    uint64_t GetSharedUsed() const
    {
        return m_sharedUsed;
    }

    /// @return bytes in the switch that are counted at an ingress
    uint64_t GetTotalBytes() const
    {
        return m_totalBytes;
    }

    /// @return bytes of control frames in the switch, which are counted at no ingress
    uint64_t GetControlBytes() const
    {
        return m_controlBytes;
    }

    /// @return the largest GetTotalBytes() so far
    uint64_t GetPeakBytes() const
    {
        return m_peakBytes;
    }

  private:
    /// @return where m_ingress and m_egress have a port's counters of a priority. Few priorities
    /// are in use, so those of one priority lie together.
    std::size_t IndexOf(uint32_t port, uint8_t priority) const
    {
        return priority * m_ports + port;
    }

    std::vector<Ingress> m_ingress;
    std::vector<uint64_t> m_egress;
    std::size_t m_ports{0};
    uint64_t m_reserve{0};
    uint64_t m_sharedUsed{0};
    uint64_t m_totalBytes{0};
    uint64_t m_controlBytes{0};
    uint64_t m_peakBytes{0};
};

} // namespace ns3

#endif /* BUFFER_COUNTS_H */
