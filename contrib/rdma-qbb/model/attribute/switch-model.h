/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SWITCH_MODEL_H
#define SWITCH_MODEL_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A switch as built: its ports, its buffer and the thresholds that its software sets.
 *
 * SWITCH_MODEL chooses one. Where each value comes from is in doc/pfc.rst.
 */
struct SwitchModel
{
    const char* name;
    uint32_t ports;         ///< most logical ports
    uint64_t portBps;       ///< fastest port
    uint64_t capacityBps;   ///< of all ports together, in one direction
    uint64_t bufferBytes;   ///< shared by all ports
    double alpha;           ///< of an ingress of a lossless priority
    double lossyAlpha;      ///< of an ingress of a lossy priority
    double lossyQueueAlpha; ///< of an egress queue of a lossy priority
    int64_t pfcResponsePs;  ///< for which headroom is kept; 0: not known

    /// @return the model of that name; null: there is none
    static const SwitchModel* Find(std::string_view name);

    /// @return all models, the ones of a family together
    static std::span<const SwitchModel> All();

    /// @return why a switch cannot have so many ports; empty: it can
    std::string DescribeMisfit(uint64_t count, uint64_t fastestBps, uint64_t sumBps) const;
};

} // namespace ns3

#endif /* SWITCH_MODEL_H */
