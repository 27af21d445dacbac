/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUSBW_TABLE_H
#define BUSBW_TABLE_H

#include "ns3/collective-types.h"

#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief SimAI's busbw.yaml: the bus bandwidth of each collective in each kind of group.
 *
 * @code
 * TP:
 * allreduce,: 300
 * alltoall,: null
 * PP:
 * busbw: 47.5
 * @endcode
 *
 * Groups are TP, DP, EP, DP_EP and PP, collectives allreduce, allgather, reducescatter and
 * alltoall; PP has one value, busbw. GB/s (10^9). The comma, indentation and a first line with a
 * title may be there or not; null means not given.
 */
class BusbwTable
{
  public:
    /// @throw ns3::InputError naming file and line of a mistake
    static BusbwTable Read(const std::string& path);

    /// As Read(), from a stream. @param name the stream's name in errors
    static BusbwTable Read(std::istream& text, const std::string& name);

    /// @return GB/s, or nothing where the table says nothing; DP_EP without entries takes DP's
    std::optional<double> Find(GroupKind group, CollectiveOp op) const;

  private:
    std::map<std::pair<GroupKind, CollectiveOp>, double> m_GBps;
    bool m_hasDpEp{false};
};

} // namespace AstraSim

#endif /* BUSBW_TABLE_H */
