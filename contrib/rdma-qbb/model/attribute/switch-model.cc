/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "switch-model.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace ns3
{

namespace
{

constexpr uint64_t G = 1'000'000'000;
constexpr uint64_t MIB = 1 << 20;
constexpr uint64_t CELL = 254; // bytes of a cell of Tomahawk 4 and 5
constexpr double WHOLE = 1024; // an ingress may take all that is free

constexpr std::array<SwitchModel, 6> MODELS{{
    {"Tomahawk3", 160, 400 * G, 12'800 * G, 64 * MIB, 1, WHOLE, 1, 0},
    {"Tomahawk4", 272, 400 * G, 25'600 * G, 2 * 234'606 * CELL, 1, WHOLE, 1, 0},
    {"Tomahawk5", 341, 800 * G, 51'200 * G, 2 * 341'080 * CELL, 1, WHOLE, 2, 10'400'000},
    {"Trident4", 128, 400 * G, 12'800 * G, 132'000'000, 1, 1. / 16, 1. / 16, 2'680'000},
    {"Spectrum3", 128, 400 * G, 12'800 * G, 60'817'392, 1, 8, 8, 0},
    {"Spectrum4", 256, 800 * G, 51'200 * G, 158'229'504, 1, WHOLE, 1, 0},
}};

} // namespace

const SwitchModel*
SwitchModel::Find(std::string_view name)
{
    const auto found = std::ranges::find(MODELS, name, &SwitchModel::name);
    return found == MODELS.end() ? nullptr : &*found;
}

std::span<const SwitchModel>
SwitchModel::All()
{
    return MODELS;
}

std::string
SwitchModel::DescribeMisfit(uint64_t count, uint64_t fastestBps, uint64_t sumBps) const
{
    if (count > ports)
    {
        return fmt::format("has at most {} ports, not {}", ports, count);
    }
    if (fastestBps > portBps)
    {
        return fmt::format("has ports of at most {:g} Gb/s, not {:g}",
                           portBps / 1e9,
                           fastestBps / 1e9);
    }
    if (sumBps > capacityBps)
    {
        return fmt::format("has {:g} Tb/s for all ports together, not {:g}",
                           capacityBps / 1e12,
                           sumBps / 1e12);
    }
    return "";
}

} // namespace ns3
