/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAUSES_WRITER_H
#define PAUSES_WRITER_H

#include <string>

namespace ns3
{

class RdmaFabric;

/**
 * Write the pauses of PFC: a line for each queue that was ever paused, with the pausing port.
 *
 * Columns: node, port (from 1), priority, paused_by (a node), pauses, paused_ns (in all),
 * longest_ns (without a break), storms (pauses that lasted PFC_WATCHDOG).
 *
 * @throw InputError if the file cannot be written
 */
void WritePauses(const RdmaFabric& fabric, const std::string& path);

} // namespace ns3

#endif /* PAUSES_WRITER_H */
