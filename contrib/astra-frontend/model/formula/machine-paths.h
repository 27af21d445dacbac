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
 * Within a server messages take the GPU's NVLinks, between servers its NICs or one that it shares;
 * they cost bytes / bandwidth, and between servers the network's delay.
 */
class MachinePaths : public MessagePaths
{
  public:
    /// The machine; bandwidths of one GPU in one direction, GB/s (10^9).
    struct Machine
    {
        uint32_t ranks{1};
        uint32_t gpusPerServer{8};
        bool isJoined{true}; ///< whether NVLinks join the GPUs of a server
        bool isMesh{false};  ///< whether each two of them have a link of their own
        double nvlinkGBps{360};
        double nicGBps{50};     ///< of all GPUs that share a NIC together
        uint32_t gpusPerNic{1}; ///< neighbours that share a NIC
        TimePs networkDelay{0}; ///< from NIC to NIC
        double exposed{1};      ///< part of a message's time that counts; the rest is overlapped
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
    /// @return the path of a message that occupies its ports for @p time
    static MessagePath MakePath(uint32_t egress,
                                uint32_t ingress,
                                TimePs time,
                                TimePs limited,
                                TimePs delay);

    Machine m_machine;
};

} // namespace AstraSim

#endif /* MACHINE_PATHS_H */
