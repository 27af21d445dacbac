/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MACHINE_PATHS_H
#define MACHINE_PATHS_H

#include "message-paths.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Message times of a machine that is given by a few numbers instead of a topology.
 *
 * Within a server messages take the GPU's NVLinks, between servers its NICs; bytes / bandwidth is
 * all they cost.
 */
class MachinePaths : public MessagePaths
{
  public:
    /// The machine; bandwidths of one GPU in one direction, GB/s (10^9).
    struct Machine
    {
        uint32_t ranks{1};
        uint32_t gpusPerServer{8};
        double nvlinkGBps{360};
        double nicGBps{50};
        double exposed{1}; ///< part of a message's time that counts; the rest is overlapped
    };

    explicit MachinePaths(const Machine& machine)
        : m_machine(machine)
    {
    }

    uint32_t GetRankCount() const override;
    uint32_t GetPortCount() const override;
    std::optional<MessagePath> Find(uint32_t src,
                                    uint32_t dst,
                                    uint32_t port,
                                    uint64_t wireBytes,
                                    uint64_t rateCapBps) override;
    bool ShareReducingSwitch(std::span<const int> ranks) const override;

  private:
    Machine m_machine;
};

} // namespace AstraSim

#endif /* MACHINE_PATHS_H */
