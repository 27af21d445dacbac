/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NATIVE_ALGORITHM_H
#define NATIVE_ALGORITHM_H

#include "collective-engine.h"

#include "ns3/collective-algorithm.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace AstraSim
{

/// A collective algorithm of one dimension, as a system file names it.
struct NativeAlgorithm
{
    enum class Kind : uint8_t
    {
        Nccl,   ///< MockNcclGroup chooses
        Native, ///< one of ASTRA-sim's own
        Custom, ///< a Chakra file per rank holds the algorithm
        Engine, ///< engines beside the GPUs carry it out
    };

    Kind kind{Kind::Nccl};
    bool acrossDimensions{false};     ///< the "one" forms: one flat group over all dimensions
    std::optional<uint32_t> window{}; ///< Native: steps under way at a time; none: all
    std::string customPath{};         ///< Custom: the files' prefix
    const CollectiveEngine::Kind* engine{nullptr}; ///< Engine: which
    const CollectiveAlgorithm* native{nullptr};    ///< Native: which

    bool operator==(const NativeAlgorithm&) const = default;
};

/// @return the names that ParseNativeAlgorithm() accepts, for documentation and messages
std::string DescribeNativeAlgorithms();

/// @return the nearest of these names to a wrong one, for messages; empty if none is near
std::string HintForNative(std::string_view name);

/// @param name "ring", "oneDirect4", ... @return the algorithm, or nullopt if there is none
std::optional<NativeAlgorithm> ParseNativeAlgorithm(std::string_view name);
} // namespace AstraSim

#endif /* NATIVE_ALGORITHM_H */
