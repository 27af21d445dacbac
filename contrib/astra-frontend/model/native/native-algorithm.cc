/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-algorithm.h"

#include "ns3/native-graph.h"
#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace AstraSim
{

namespace
{

/// The name of an algorithm before that of one flat group over all dimensions.
constexpr std::string_view FLAT = "one";

/// @return the algorithm of a name without a window
std::optional<NativeAlgorithm>
FindSchedule(std::string_view name)
{
    NativeAlgorithm algorithm{NativeAlgorithm::Kind::Native};
    algorithm.native = FindNative(name);
    if (!algorithm.native && name.starts_with(FLAT))
    {
        algorithm.native = FindNative(name.substr(FLAT.size()));
        algorithm.acrossDimensions = true;
    }
    return algorithm.native ? std::optional(algorithm) : std::nullopt;
}

/// @return ASTRA-sim's algorithms
std::vector<const CollectiveAlgorithm*>
AllNatives()
{
    std::vector<const CollectiveAlgorithm*> natives;
    std::ranges::copy_if(
        CollectiveAlgorithm::GetAll(),
        std::back_inserter(natives),
        [](const auto* each) { return each->GetName().starts_with(NATIVE_PREFIX); });
    return natives;
}

} // namespace

std::string
DescribeNativeAlgorithms()
{
    std::string names;
    for (const CollectiveAlgorithm* each : AllNatives())
    {
        names += each->GetName().substr(NATIVE_PREFIX.size());
        names += TakesWindow(*each) ? "[N], " : ", ";
    }
    return names + "one of these after \"one\" (oneRing), nccl, or the name of a collective engine";
}

std::string
HintForNative(std::string_view name)
{
    std::vector<std::string> names;
    for (const CollectiveAlgorithm* each : AllNatives())
    {
        names.push_back(each->GetName().substr(NATIVE_PREFIX.size()));
    }
    return ns3::NearestHint(name, names);
}

std::optional<NativeAlgorithm>
ParseNativeAlgorithm(std::string_view name)
{
    if (name == "nccl")
    {
        return NativeAlgorithm{};
    }
    if (const CollectiveEngine::Kind* engine = CollectiveEngine::Kind::Find(name))
    {
        return NativeAlgorithm{.kind = NativeAlgorithm::Kind::Engine,
                               .acrossDimensions = true,
                               .engine = engine};
    }
    const std::size_t letters = std::min(name.find_first_of("[0123456789"), name.size());
    std::optional<NativeAlgorithm> algorithm = FindSchedule(name.substr(0, letters));
    std::string_view window = name.substr(letters);
    if (!algorithm || window.empty())
    {
        return algorithm;
    }
    if (window.starts_with('[') && window.ends_with(']'))
    {
        window = window.substr(1, window.size() - 2);
    }
    const auto steps = ns3::ParseUnsigned(window);
    if (!steps || *steps < 1 || *steps > UINT32_MAX || !TakesWindow(*algorithm->native))
    {
        return std::nullopt;
    }
    algorithm->window = static_cast<uint32_t>(*steps);
    return algorithm;
}

} // namespace AstraSim
