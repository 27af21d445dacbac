/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NETWORK_TABLE_H
#define NETWORK_TABLE_H

#include "network-kind.h"

#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The kinds of networks: those of network-kinds.yaml, which is part of the library, and a
 * user's.
 *
 * A file is a list in YAML. Its rows add kinds, or replace those of the same name. A figure that a
 * row does not give is that of the row named by `like`, or else of "none".
 *
 * @code
 * - name: Slingshot-16K
 *   like: Slingshot
 *   slow_starts:
 *     - {above: 192, us: 1.3}
 *     - {above: 18433, us: 3.7, occupies: true}
 * - name: MyNetwork
 *   of: NIC and release that the figures are of
 *   efficiency: {is: 0.95, by: ib_write_bw of 380 Gb/s}
 *   step_us: 4.5
 *   without: [LL]
 *   groups_nics: true     # NCCL sees the NICs of a GPU as one
 *   buffer_bytes: 8388608 # NCCL_BUFFSIZE as the plug-in sets it
 *   pair_chunk_bytes: 524288 # NCCL_P2P_NET_CHUNKSIZE
 *   tuner: none           # or a table: see TunerTable
 * @endcode
 */
class NetworkTable
{
  public:
    /// @return the built-in kinds
    static const NetworkTable& GetBuiltIn();

    /// The built-in kinds and those of a file. @throw ns3::InputError if it is wrong
    static NetworkTable Read(const std::string& path);

    /// Add rows. @param source the text's name in errors
    void AddRows(const std::string& text, const std::string& source);

    /// @return a kind; capital letters do not count; null if there is none
    const NetworkKind* Find(const std::string& name) const;

    /// @return all kinds, "none" first
    const std::vector<NetworkKind>& GetAll() const
    {
        return m_rows;
    }

    /// @return the keys of a row, as Rows::ToCsv() has them
    static std::string DescribeKeys();

    /// @return the names of all kinds, separated by commas
    std::string GetNames() const;

    /// The same of the built-in kinds, without reading their figures, which takes longer than a
    /// program needs to start.
    static std::string GetBuiltInNames();

  private:
    NetworkTable() = default;

    std::vector<NetworkKind> m_rows{NetworkKind()};
};

} // namespace AstraSim

#endif /* NETWORK_TABLE_H */
