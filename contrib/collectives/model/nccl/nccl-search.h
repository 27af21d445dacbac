/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_SEARCH_H
#define NCCL_SEARCH_H

#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/graph/nccl-protocol.h"
#include "nccl-options.h"
#include "nccl-traits.h"
#include "nccl-tuning.h"

#include <cstdint>

namespace AstraSim
{

class NcclAlgorithm;

/**
 * @ingroup collectives
 * @brief NCCL's search of the topology: how many channels it opens, and how fast each is.
 *
 * NCCL 2.30 src/graph/search.cc, connect.cc and paths.cc.
 */
class NcclSearch
{
  public:
    /// The machine, the options and the traits outlive the object.
    NcclSearch(const MachineModel& machine, const NcclOptions& options, const NcclTraits& traits)
        : m_machine(machine),
          m_options(options),
          m_traits(traits),
          m_tuning(NcclTuning::Of(options.release))
    {
    }

    /// Result of NCCL's search for an algorithm.
    struct Channels
    {
        uint32_t channels{1}; ///< before they are doubled; of NVLS: heads
        double intraGBps{0};  ///< of a channel within a node
        double interGBps{0};  ///< of a channel between nodes

        /// @return GB/s of all channels together
        double Bandwidth(uint32_t nodes) const
        {
            return channels * (nodes <= 2 ? intraGBps : interGBps);
        }
    };

    /// NCCL's settings of NVLS in a node, or of NVLS-Tree between nodes.
    struct NvlsTuning
    {
        uint32_t channels{0};
        uint64_t chunk{0}; ///< of a channel, at most
    };

    /// @param closes whether a channel comes back to where it starts: a ring, not a tree
    Channels SearchChannels(const GroupShape& shape, bool closes) const;
    Channels SearchWithinNode(const GroupShape& shape) const;
    /// The same where PCIe alone joins the GPUs.
    Channels SearchOverPcie(const GroupShape& shape) const;
    Channels SearchNvls(const GroupShape& shape) const;
    NvlsTuning TuneNvls(const GroupShape& shape) const;

    /// @return channels a communicator of this shape has
    uint32_t GetChannels(const NcclAlgorithm& algorithm, const GroupShape& shape) const;
    /// @return channels that sends and receives between pairs have together
    uint32_t GetPairChannels(const GroupShape& shape) const;
    /// @return how many of them a pair has at most
    uint32_t GetChannelsPerPair(const GroupShape& shape) const;
    /// @return how many of so many channels are worth their threads
    uint32_t ChannelsForSize(uint32_t channels,
                             NcclProtocol protocol,
                             uint32_t ranks,
                             uint64_t bytes) const;

    /// @return whether NVSwitches of every node may reduce
    bool HasNvls(const GroupShape& shape) const;
    /// @return whether the GPUs of a node reach each other over PCIe, not over NVLinks
    bool IsOverPcie() const;
    /// @return GB/s of a GPU's links to the others of its node that are in the group
    double NvlinkGBps(const GroupShape& shape) const;
    /// @return the factor by which channels get more of a GPU's NVLinks if they do not close
    /// @param closes see SearchChannels()
    double PassingOf(const GroupShape& shape, bool closes) const;

  private:
    /// @return NICs of a GPU that NCCL sees
    uint32_t SeenNics() const
    {
        return m_options.networkKind.groupsNics ? 1 : m_machine.nicsPerGpu;
    }

    /// @return channels and chunks of NVLS-Tree that 2.30 has for Blackwell; no chunk: the common
    /// one
    NvlsTuning TuneNvlsTree(const GroupShape& shape) const;
    /// @return channels that rings and trees of a group have
    uint32_t CommonChannels(const GroupShape& shape) const;
    /// @return whether rings leave a node by links between its CPUs
    bool RingsReturnOverCpus(const GroupShape& shape) const;
    /// @return GPUs of a node with NICs of their own
    static uint32_t NicUsers(const GroupShape& shape);
    /// @return the links' limit for each of so many channels between nodes, GB/s
    double LimitBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const;
    /// @return GB/s of a channel between nodes with links of @p limit
    double SpeedBetweenNodes(double limit) const;
    /// @return so many channels between nodes, at most, and the speed of each
    Channels ChannelsBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const;
    /// @return the channels between nodes that carry the most
    Channels BestChannelsBetweenNodes(const GroupShape& shape, bool closes) const;
    /// @return GB/s of a tree's channel within a node
    double RaiseForTrees(double interGBps, double nvlinkGBps) const;

    const MachineModel& m_machine;
    const NcclOptions& m_options;
    const NcclTraits& m_traits;
    const NcclTuning& m_tuning;
};

} // namespace AstraSim

#endif /* NCCL_SEARCH_H */
