/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINKS_WRITER_H
#define LINKS_WRITER_H

#include <string>

namespace ns3
{

class RdmaFabric;

/**
 * Write what every port of a fabric has done up to now:
 * `node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops`, a row per port, ports numbered from 1.
 * @throw InputError if the file cannot be written
 */
void WriteLinks(const RdmaFabric& fabric, const std::string& path);

} // namespace ns3

#endif /* LINKS_WRITER_H */
