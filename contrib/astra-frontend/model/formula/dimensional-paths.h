/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIMENSIONAL_PATHS_H
#define DIMENSIONAL_PATHS_H

#include "message-paths.h"

#include <vector>

namespace AstraSim
{

/// One dimension of a network of ASTRA-sim's analytical back ends.
struct NetworkDimension
{
    /// Links of its NPUs.
    enum class Shape : uint8_t
    {
        Ring,           ///< both ways around
        FullyConnected, ///< a link to each
        Switch,         ///< a link to a switch in their middle
    };

    Shape shape{Shape::Ring};
    uint32_t npus{1};
    double bytesPerNs{1}; ///< of an NPU in one direction
    TimePs latency{0};    ///< of a link
};

/**
 * @ingroup astra-frontend
 * @brief Message times of ASTRA-sim's analytical networks, which multiply one-dimensional shapes.
 *
 * A message takes links x latency + bytes / bandwidth, as its congestion-unaware back end has it;
 * the links of a ring are those of the shorter way, a switch has two. Messages that leave an NPU
 * into one dimension, or enter it from one, share its bandwidth there (in a ring: each direction
 * has it). Where NPUs differ in several dimensions the message crosses all of these.
 */
class DimensionalPaths : public MessagePaths
{
  public:
    explicit DimensionalPaths(std::vector<NetworkDimension> dimensions)
        : m_dimensions(std::move(dimensions))
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
    std::vector<NetworkDimension> m_dimensions;
};

} // namespace AstraSim

#endif /* DIMENSIONAL_PATHS_H */
