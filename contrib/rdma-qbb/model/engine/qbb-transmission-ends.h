/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_TRANSMISSION_ENDS_H
#define QBB_TRANSMISSION_ENDS_H

#include "qbb-late-work.h"
#include "qbb-port-event.h"

#include "ns3/ptr.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @brief The ends of transmissions at a switch for which something waits.
 *
 * The next frame leaves the buffer and enters the wire: late work of all the switch's ports, in the
 * order of times.
 *
 * While a partner is paused that is not so: an end may resume it, at once. Then, and for ports
 * whose frames somebody looks at, ends are events.
 */
class QbbTransmissionEnds final : public QbbLateWork
{
  public:
    QbbTransmissionEnds();
    ~QbbTransmissionEnds();

    /// Add the next port; ports are known by their index.
    void AddPort(QbbNetDevice* device);

    void AddEnd(uint16_t port) override;
    void Await(const QbbNetDevice& device) override;

    /// The switch ends: nothing more is carried out.
    void Clear();

    /// From now on, all ends are (or only some need be) carried out at their times.
    void SetPunctual(bool punctual);

  private:
    /// The end of a port's transmission in one number: time in the high bits, port in the lowest.
    using Key = uint64_t;

    void OnAwaited(int64_t nowPs)
    {
        Settle(nowPs);
    }

    void SettleDue(int64_t nowPs) override;

    QbbNetDevice* PortOf(Key end) const
    {
        return m_ports[static_cast<uint16_t>(end)];
    }

    std::vector<Key> m_ends; ///< earliest first; most are added at the end
    std::size_t m_first{0};  ///< those before it are done
    std::vector<QbbNetDevice*> m_ports;
    bool m_punctual{false};
    bool m_settling{false};
    using Event = QbbPortEvent<QbbTransmissionEnds, &QbbTransmissionEnds::OnAwaited>;
    Ptr<Event> m_event;
};

} // namespace ns3

#endif /* QBB_TRANSMISSION_ENDS_H */
