/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANA_CHECK_H
#define ANA_CHECK_H

#include "message-paths.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Checks invariants of the messages of an AnaSim.
 *
 * Keeps books of its own: a port serves no more than the time there is, each message gets all of
 * its time at both of its ports, none arrives earlier than it would alone, and all that leave
 * arrive.
 */
class AnaCheck
{
  public:
    /// Receives violations, with the time.
    using Report = std::function<void(const std::string& what)>;

    /// When a message is through at its ports, and at its destination.
    struct Times
    {
        TimePs egressEnd;
        TimePs ingressEnd;
        TimePs delivered;
    };

    /// @param ports number of ports
    AnaCheck(uint32_t ports, Report report);

    /// A message, or a part of one, has got its places at its ports.
    void Placed(TimePs now, const MessagePath& path, const Times& times);

    /// A message, or a part of one, is at its destination.
    void Arrived(TimePs now);

    /// The simulation is over. @param drained whether nothing was left to simulate
    void Finish(TimePs now, bool drained);

  private:
    /// Counts of a port.
    struct Port
    {
        TimePs served{0}; ///< time that its messages took
        TimePs end{0};    ///< of the last of them
    };

    void Serve(TimePs now, const char* kind, uint32_t port, TimePs time, TimePs end);
    void Fail(TimePs now, const std::string& what) const;

    std::vector<Port> m_ports;
    uint64_t m_underWay{0};
    Report m_report;
};

} // namespace AstraSim

#endif /* ANA_CHECK_H */
