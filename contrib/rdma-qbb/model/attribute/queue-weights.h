/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUEUE_WEIGHTS_H
#define QUEUE_WEIGHTS_H

#include "ns3/attribute-helper.h"
#include "ns3/attribute.h"

#include <array>
#include <cstdint>
#include <iosfwd>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The shares in which priorities 1 to 7 of a port send while they all wait: an attribute's
 * type.
 *
 * As text: "3=4 4=1"; priorities that are not listed have weight 1.
 */
struct QueueWeights
{
    static constexpr uint32_t MAX_WEIGHT = 1000;

    /// By priority; that of 0, which is served first, is unused.
    std::array<uint32_t, 8> weights{1, 1, 1, 1, 1, 1, 1, 1};

    /// Set one weight. @return false if priority or weight is out of range
    bool Set(uint64_t priority, uint64_t weight);
};

std::ostream& operator<<(std::ostream& text, const QueueWeights& weights);
std::istream& operator>>(std::istream& text, QueueWeights& weights);

ATTRIBUTE_HELPER_HEADER(QueueWeights);

} // namespace ns3

#endif /* QUEUE_WEIGHTS_H */
