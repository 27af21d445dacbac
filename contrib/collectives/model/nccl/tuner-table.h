/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TUNER_TABLE_H
#define TUNER_TABLE_H

#include "collectives/model/graph/nccl-protocol.h"

#include "ns3/collective-types.h"

#include <cstdint>
#include <functional>
#include <istream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace YAML
{
class Node;
}

namespace ns3
{
class YamlRows;
}

namespace AstraSim
{

class NcclAlgorithm;

/// A collective, as NCCL asks a tuner about it: alone, and with buffers that are not registered.
struct TunerQuestion
{
    CollectiveOp op;
    uint64_t bytes; ///< of the larger of a rank's buffers
    uint32_t nodes;
    uint32_t ranks;
};

/// A row of a tuner's table: a class of collectives, and the choice for them.
struct TunerRow
{
    CollectiveOp op{CollectiveOp::AllReduce};
    uint64_t minBytes{0};
    uint64_t maxBytes{std::numeric_limits<uint64_t>::max()};
    const NcclAlgorithm* algorithm{nullptr};
    NcclProtocol protocol{NcclProtocol::Simple};
    uint32_t channels{0};            ///< 0: NCCL's
    std::optional<uint32_t> nodes{}; ///< empty, here and below: any
    std::optional<uint32_t> ranks{};
    std::optional<uint32_t> pipeOps{};
    std::optional<uint32_t> registered{}; ///< whether buffers are: 0 or 1
    std::optional<uint32_t> ranksPerNode{};
    /// Corners of a polygon over bytes and ranks, edge included, that a collective lies in.
    std::vector<std::pair<double, double>> region{};
    std::string source{}; ///< "FILE:LINE", or the name of a plug-in and the row's number
};

/**
 * @ingroup collectives
 * @brief Choices of a tuner plug-in, which NCCL asks before its own cost model decides.
 *
 * The first row counts that fits and has an algorithm and protocol that the collective may use.
 * NCCL decides where there is none.
 *
 * A file has the format of NCCL's example plug-in (plugins/tuner/example of NCCL 2.28 and later):
 * @code
 * #
 * collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
 * allreduce,0,65536,tree,ll,-1,-1,-1
 * allreduce,65537,4294967295,ring,simple,8,4,32,1,0
 * @endcode
 * -1 stands for any number of nodes, ranks, operations and buffers, for NCCL's channels, and for no
 * largest size. Unlike the plug-in, which takes unknown names for AllReduce, Ring and Simple, the
 * reader refuses them.
 *
 * The table of a kind of network is an entry of its row (NetworkTable):
 * @code
 * tuner:
 *   name: aws-ofi-nccl 1.19
 *   from_nodes: 3
 *   scale: log
 *   rows:
 *     - {collective: allreduce, algorithm: ring, protocol: ll128, max_bytes: 65536}
 *     - {collective: allreduce, algorithm: tree, protocol: ll128, ranks_per_node: 8,
 *        region: [[0, 16], [31457280, 16], [37748736, 32]]}
 * @endcode Its rows have the same fields, and regions: polygons of bytes and ranks, with edges that
 * are straight in these (scale: linear) or in their logarithms (log).
 */
class TunerTable
{
  public:
    /// Answers whether a collective may use an algorithm and a protocol.
    using Available = std::function<bool(const NcclAlgorithm&, NcclProtocol)>;

    /// Read the format of NCCL's example plug-in. @throw ns3::InputError if a file is wrong
    static TunerTable Read(const std::string& path);

    /// The same. @param name the text's name in errors
    static TunerTable Read(std::istream& text, const std::string& name);

    /// Read the entry "tuner" of a kind of network. @throw ns3::InputError if it is wrong
    static TunerTable Read(const ns3::YamlRows& rows, const YAML::Node& entry);

    /// @return the row that decides; null: NCCL does
    const TunerRow* Find(const TunerQuestion& question, const Available& available) const;

    /// @return the file, or the plug-in and its release
    const std::string& GetName() const
    {
        return m_name;
    }

  private:
    bool Fits(const TunerRow& row, const TunerQuestion& question) const;
    /// @return whether a polygon has a point inside or on its edge
    bool Covers(const TunerRow& row, double bytes, double ranks) const;

    std::string m_name;
    uint32_t m_fromNodes{1};
    bool m_logarithmic{false}; ///< see "scale" above
    std::vector<TunerRow> m_rows;
};

} // namespace AstraSim

#endif /* TUNER_TABLE_H */
