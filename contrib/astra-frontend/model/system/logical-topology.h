/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOGICAL_TOPOLOGY_H
#define LOGICAL_TOPOLOGY_H

#include "ns3/collective-types.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The dimensions in which collectives see the ranks of a job; dimension 0 varies fastest.
 *
 * It says nothing about the fabric: a dimension is a set of ranks among which one phase of a
 * collective runs.
 */
class LogicalTopology
{
  public:
    /**
     * @param dimensions ranks per dimension; their product is the number of ranks
     * @param ranks the network's rank of each rank of the job
     */
    LogicalTopology(std::vector<uint32_t> dimensions, const std::vector<int>& ranks);

    uint32_t GetDimensionCount() const
    {
        return static_cast<uint32_t>(m_dimensions.size());
    }

    /// @return number of ranks in @p dimension
    uint32_t GetSize(uint32_t dimension) const
    {
        return m_dimensions[dimension];
    }

    /// @return @p jobRank's place in @p dimension
    uint32_t GetCoordinate(uint32_t dimension, uint32_t jobRank) const
    {
        return jobRank / m_strides[dimension] % m_dimensions[dimension];
    }

    /// @return the index of the group of @p dimension that @p jobRank is in
    uint32_t GetGroupIndex(uint32_t dimension, uint32_t jobRank) const
    {
        const uint32_t stride = m_strides[dimension];
        return jobRank / (stride * m_dimensions[dimension]) * stride + jobRank % stride;
    }

    /// @return the ranks that differ from @p jobRank in @p dimension only
    const CommGroup& GetGroup(uint32_t dimension, uint32_t jobRank) const
    {
        return m_groups[dimension][GetGroupIndex(dimension, jobRank)];
    }

    /**
     * @param mask bit d is set for each dimension d in which the ranks may differ from @p jobRank
     * @return those ranks; all of the job if every bit is set
     */
    const CommGroup& GetSubspace(uint32_t mask, uint32_t jobRank) const;

    /// @return the mask of GetSubspace() that @p group came from; 0 for any other group
    uint32_t GetMask(const CommGroup& group) const;

    /// @return all ranks of the job
    const CommGroup& GetWorld() const
    {
        return m_world;
    }

    /// Group ids from this on belong to the topology's own groups.
    static constexpr uint32_t FIRST_GROUP_ID = 1U << 30;

  private:
    std::vector<uint32_t> m_dimensions;
    std::vector<uint32_t> m_strides;
    std::vector<std::vector<CommGroup>> m_groups; ///< [dimension][index]
    CommGroup m_world;
    /// Groups of several dimensions, but not all; [mask][first rank]. GetSubspace() makes them.
    mutable std::map<uint32_t, std::map<uint32_t, CommGroup>> m_subspaces;
    mutable uint32_t m_nextId{FIRST_GROUP_ID};
};

/**
 * @param path a logical topology file: {"logical-dims": ["8", "2"]}
 * @return the dimensions
 * @throw ns3::InputError
 */
std::vector<uint32_t> ReadLogicalDimensions(const std::string& path);

/**
 * @param path a communicator file: {"0": [0, 1, 2, 3], ...}
 * @param ranks the network's rank of each rank of the job
 * @return one group per entry, named by its key
 * @throw ns3::InputError
 */
std::vector<CommGroup> ReadCommunicators(const std::string& path, const std::vector<int>& ranks);

} // namespace AstraSim

#endif /* LOGICAL_TOPOLOGY_H */
