/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FOREIGN_FILE_H
#define FOREIGN_FILE_H

#include <string>

namespace ns3
{

/**
 * @file
 * Files of other programs that users try as workloads or topologies. A reader that refuses one by
 * its name helps more than one that complains of its first word.
 *
 * @code
 * RefuseForeignFile("trace.json"); // trace.json:1: this is a Kineto trace ...; expected ...
 * @endcode
 */

/**
 * Recognise Kineto's and Chakra's JSON, GOAL schedules, and NCCL's topology and graph XML by their
 * first 4 KiB.
 * @param path of a file; nothing happens if it cannot be read
 * @throw InputError that names the kind of file and the input to give instead
 */
void RefuseForeignFile(const std::string& path);

} // namespace ns3

#endif /* FOREIGN_FILE_H */
