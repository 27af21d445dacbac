/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FCT_WRITER_H
#define FCT_WRITER_H

#include "ns3/cluster-topology.h"
#include "ns3/output-file.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/// A message that has been sent, for fct.txt.
struct FctRecord
{
    uint32_t src; ///< host number
    uint32_t dst; ///< host number
    uint16_t sport;
    uint16_t dport;
    uint64_t bytes;
    int64_t startPs; ///< when it was posted, or began to wait for a path
    int64_t fctPs;   ///< time from then to its end
    int64_t idealPs; ///< the time alone
};

/**
 * @ingroup rdma-qbb
 * @brief Writes fct.txt: `sip dip sport dport bytes start_ns fct_ns ideal_ns`, addresses in
 * hexadecimal, a line per message.
 */
class FctWriter
{
  public:
    /// @param topology of the hosts that send @param path file to write
    FctWriter(const ClusterTopology& topology, const std::string& path);

    /// Write a line.
    void Write(const FctRecord& record);

    /// Complete the file. @throw InputError if it cannot be written
    void Finish()
    {
        m_file.Finish();
    }

  private:
    /// Text of the numbers that most messages of a collective have in common.
    struct Repeated
    {
        uint64_t bytes{0};
        int64_t idealPs{-1}; ///< of no message
        uint16_t dport{0};
        TextPiece<32> middle; ///< " dport bytes "
        TextPiece<24> end;    ///< " ideal_ns" and the end of the line
    };

    static constexpr uint32_t REPEATED_BITS = 6;

    static void Spell(const FctRecord& record, Repeated& repeated);

    OutputFile m_file;
    std::vector<std::array<char, 8>> m_addresses;        ///< by host, in hexadecimal
    std::array<Repeated, 1 << REPEATED_BITS> m_repeated; ///< by a hash of their numbers
};

} // namespace ns3

#endif /* FCT_WRITER_H */
