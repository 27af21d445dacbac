/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TSHARK_H
#define TSHARK_H

#include <map>
#include <string>
#include <vector>

/// Asks Wireshark's command-line program what it sees in a pcap file.
class Tshark
{
  public:
    /// @return whether the program can be run
    static bool IsInstalled();

    /**
     * @param path of a pcap file
     * @param fields names as in Wireshark's display filters
     * @return per field its value in each packet, in order; empty text where a packet has no such
     * field
     */
    static std::map<std::string, std::vector<std::string>> Columns(
        const std::string& path,
        const std::vector<std::string>& fields);
};

#endif /* TSHARK_H */
