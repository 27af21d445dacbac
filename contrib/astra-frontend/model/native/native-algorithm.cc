/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-algorithm.h"

#include "ns3/units.h"

#include <algorithm>
#include <cstdint>

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
    algorithm.schedule = NativeSchedule::Kind::Find(name);
    if (!algorithm.schedule && name.starts_with(FLAT))
    {
        algorithm.schedule = NativeSchedule::Kind::Find(name.substr(FLAT.size()));
        algorithm.acrossDimensions = true;
    }
    return algorithm.schedule ? std::optional(algorithm) : std::nullopt;
}

} // namespace

std::string
DescribeNativeAlgorithms()
{
    std::string names;
    for (const NativeSchedule::Kind* kind : NativeSchedule::Kind::GetAll())
    {
        names += kind->GetName() + (kind->TakesWindow() ? "[N], " : ", ");
    }
    return names + "one of these after \"one\" (oneRing), nccl, or the name of a collective engine";
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
    if (!steps || *steps < 1 || *steps > INT32_MAX || !algorithm->schedule->TakesWindow())
    {
        return std::nullopt;
    }
    algorithm->window = static_cast<int>(*steps);
    return algorithm;
}

} // namespace AstraSim
