/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_PCIE_H
#define NCCL_PCIE_H

#include "collectives/model/gpu/machine-model.h"
#include "nccl-options.h"

#include <cstdint>
#include <span>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Servers whose GPUs PCIe alone joins, as NCCL sees them.
 *
 * A server of up to four GPUs has one CPU, a larger one two with half of the GPUs each. NCCL 2.30
 * src/graph/topo.h and topo.cc count what CPUs and the link between them carry, search.cc finds
 * rings on these, and paths.cc decides whether GPUs write to each other or to the host's memory.
 */
class NcclPcie
{
  public:
    /// The machine and the options outlive the object.
    NcclPcie(const MachineModel& machine, const NcclOptions& options)
        : m_machine(machine),
          m_options(options)
    {
    }

    /// Rings or trees that NCCL's search finds in a node.
    struct Found
    {
        uint32_t channels;
        double GBps; ///< that NCCL expects of each
    };

    /// @param slotGBps of a GPU's slot @param speeds of a channel, falling, that the search tries
    /// @param most channels
    Found Search(const GroupShape& shape,
                 double slotGBps,
                 std::span<const double> speeds,
                 uint32_t most) const;

    /// @return GB/s that a GPU sends to those of its node, at most, while all of them send
    double GpuGBps(const GroupShape& shape, double slotGBps) const;

    /// @return whether GPUs of a group write to each other's memory, not to the host's
    bool HasPeerAccess(const GroupShape& shape) const;

  private:
    /// @return the CPU of a rank's GPU in its server
    uint32_t CpuOf(const GroupShape& shape, uint32_t index) const;
    /// @return whether a node has GPUs of both CPUs
    bool Crosses(const GroupShape& shape) const;
    /// @return ranks of the CPU that has most
    uint32_t RanksPerCpu(const GroupShape& shape) const;
    /// @return what NCCL counts for the link between a server's CPUs
    double InterCpuGBps() const;

    const MachineModel& m_machine;
    const NcclOptions& m_options;
};

} // namespace AstraSim

#endif /* NCCL_PCIE_H */
