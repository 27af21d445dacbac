/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-algorithm.h"

#include <charconv>

namespace AstraSim
{

std::optional<NativeAlgorithm>
ParseNativeAlgorithm(std::string_view name)
{
    using Kind = NativeAlgorithm::Kind;
    if (name == "ring" || name == "oneRing")
    {
        return NativeAlgorithm{Kind::Ring, name == "oneRing"};
    }
    if (name == "halvingDoubling" || name == "oneHalvingDoubling")
    {
        return NativeAlgorithm{Kind::HalvingDoubling, name == "oneHalvingDoubling"};
    }
    if (name == "doubleBinaryTree")
    {
        return NativeAlgorithm{Kind::DoubleBinaryTree};
    }
    if (name == "nccl")
    {
        return NativeAlgorithm{};
    }
    if (const CollectiveEngine::Kind* engine = CollectiveEngine::Kind::Find(name))
    {
        return NativeAlgorithm{.kind = Kind::Engine, .acrossDimensions = true, .engine = engine};
    }
    for (const std::string_view prefix : {"direct", "oneDirect"})
    {
        if (!name.starts_with(prefix))
        {
            continue;
        }
        NativeAlgorithm algorithm{Kind::Direct, prefix == "oneDirect"};
        std::string_view window = name.substr(prefix.size());
        if (window.starts_with('[') && window.ends_with(']'))
        {
            window = window.substr(1, window.size() - 2);
        }
        if (!window.empty())
        {
            const auto [end, error] =
                std::from_chars(window.data(), window.data() + window.size(), algorithm.window);
            if (error != std::errc() || end != window.data() + window.size() ||
                algorithm.window < 1)
            {
                return std::nullopt;
            }
        }
        return algorithm;
    }
    return std::nullopt;
}

const char*
ToString(NativeAlgorithm::Kind kind)
{
    static constexpr const char* NAMES[] =
        {"NCCL", "Ring", "DoubleBinaryTree", "HalvingDoubling", "Direct", "Custom", "Engine"};
    return NAMES[static_cast<uint8_t>(kind)];
}

} // namespace AstraSim
