/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_TRANSMISSION_ENDS_H
#define QBB_TRANSMISSION_ENDS_H

#include "qbb-port-event.h"

#include "ns3/ptr.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class QbbNetDevice;

// Hot path: Settle runs twice per packet and hop.

/**
 * @brief The ends of transmissions at a switch for which something waits.
 *
 * When a port ends a frame and the next one waits, the next one leaves the buffer and enters the
 * wire. Nobody notices before something arrives at the switch, or the frame that ended arrives at
 * the far end; so an end is no event of its own. It is carried out late, with its own time and in
 * the order of times, before whatever may notice it: Settle().
 *
 * While a partner is paused that is not so: an end may resume it, at once. Then, and for ports
 * whose frames somebody looks at, ends are events.
 */
class QbbTransmissionEnds
{
  public:
    QbbTransmissionEnds();
    ~QbbTransmissionEnds();
    QbbTransmissionEnds(const QbbTransmissionEnds&) = delete;
    QbbTransmissionEnds& operator=(const QbbTransmissionEnds&) = delete;

    /// Add the next port; ports are known by their index.
    void AddPort(QbbNetDevice* device);

    /**
     * A port shall send its next frame when the one being sent ends.
     * @param port whose QbbNetDevice::PeekBusyUntilPs() is when that is; not yet added
     */
    void Add(uint16_t port);

    /// Carry out the end of this port's transmission at exactly its time.
    void Await(const QbbNetDevice& device);

    /// Carry out what is due. @param nowPs the time now; ends at this very time come first
    void Settle(int64_t nowPs)
    {
        if (m_earliestPs <= nowPs)
        {
            SettleDue(nowPs);
        }
    }

    /// The switch ends: nothing more is carried out.
    void Clear();

    /// From now on, all ends are (or only some need be) carried out at their times.
    void SetPunctual(bool punctual);

  private:
    /// The end of a port's transmission in one number: time in the high bits, port in the lowest.
    using Key = uint64_t;

    void SettleDue(int64_t nowPs);

    QbbNetDevice* PortOf(Key end) const
    {
        return m_ports[static_cast<uint16_t>(end)];
    }

    int64_t m_earliestPs{INT64_MAX};
    std::vector<Key> m_ends; ///< earliest first; most are added at the end
    std::size_t m_first{0};  ///< those before it are done
    std::vector<QbbNetDevice*> m_ports;
    bool m_punctual{false};
    bool m_settling{false};
    using Event = QbbPortEvent<QbbTransmissionEnds, &QbbTransmissionEnds::Settle>;
    Ptr<Event> m_event;
};

} // namespace ns3

#endif /* QBB_TRANSMISSION_ENDS_H */
