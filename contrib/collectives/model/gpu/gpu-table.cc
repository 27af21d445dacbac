/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "gpu-table.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/input-lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/ranges.h>
#include <ranges>
#include <set>
#include <span>

namespace AstraSim
{

namespace
{

constexpr double MAX_GBPS = 1e6;
constexpr double MAX_MESSAGE_US = 1e9;
constexpr std::size_t FIELDS = 4; ///< that every row has
/// Of GpuGeneration, in its order.
constexpr std::array<const char*, GPU_GENERATIONS> GENERATION_NAMES =
    {"Ampere", "Hopper", "Blackwell", "CDNA2", "CDNA3", "CDNA4", "DaVinci"};

double
ParseGBps(const ns3::InputLines& lines, std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
        !(value <= MAX_GBPS))
    {
        lines.Fail("'" + std::string(text) + "' is not a valid bandwidth", "GB/s above 0");
    }
    return value;
}

/// Of 8 MI250X (dies) in a server, as in Frontier and LUMI: links of 4, 2 and 1 lanes join each to
/// three others (RCCL src/graph/rome_models.cc, models 73 and 74).
constexpr ServerRings MI250X_RINGS = {{{{0, 1, 3, 2, 4, 5, 7, 6},
                                        {6, 7, 5, 4, 2, 3, 1, 0},
                                        {0, 1, 5, 4, 6, 7, 3, 2},
                                        {2, 3, 7, 6, 4, 5, 1, 0}}},
                                      {{{0, 1, 5, 4, 6, 7, 3, 2},
                                        {2, 3, 7, 6, 4, 5, 1, 0},
                                        {7, 6, 0, 1, 3, 2, 4, 5},
                                        {5, 4, 2, 3, 1, 0, 6, 7}}}};

/// @return a field "BYTES:US[:GBPS]"
GpuProfile::MessageCost
ParseMessageCost(const ns3::InputLines& lines, std::string_view text)
{
    GpuProfile::MessageCost cost{0, 0, 0};
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto parse = [&at, end](auto& number) {
        const auto [rest, error] = std::from_chars(at, end, number);
        at = rest;
        return error == std::errc();
    };
    const auto passColon = [&at, end] { return at != end && *at++ == ':'; };
    bool valid = parse(cost.above) && passColon() && parse(cost.us);
    if (valid && at != end)
    {
        valid = passColon() && parse(cost.GBps) && cost.GBps > 0;
    }
    if (!valid || at != end || !(cost.us >= 0 && cost.us <= MAX_MESSAGE_US) ||
        !(cost.GBps <= MAX_GBPS) || (cost.us == 0 && cost.GBps == 0))
    {
        lines.Fail("'" + std::string(text) + "' is not a valid cost of messages",
                   "BYTES:US or BYTES:US:GBPS, such as 16384:5.5:1.2");
    }
    return cost;
}

} // namespace

std::optional<GpuGeneration>
ParseGpuGeneration(std::string_view text)
{
    const auto* const found = std::ranges::find(GENERATION_NAMES, text);
    return found == GENERATION_NAMES.end()
               ? std::nullopt
               : std::optional(static_cast<GpuGeneration>(found - GENERATION_NAMES.begin()));
}

const char*
ToString(GpuGeneration generation)
{
    return GENERATION_NAMES[static_cast<uint8_t>(generation)];
}

std::string
ListGpuGenerations()
{
    const std::span names(GENERATION_NAMES);
    return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

// Channel speeds: 12 channels fill a node's NVLinks (A100 12 x 20, H100 12 x 30 GB/s), 16 those of
// Blackwell (16 x 45); A800, H800 and H20 have fewer or as many NVLinks of the same kind. A GH200
// is an H100 to NCCL, a B300 or GB300 a B200: the same NVLinks, the same tables (compute capability
// 10). AMD's GPUs have 7 links of xGMI, each of which takes 48 of 64 GB/s (AMD, Understanding RCCL
// Bandwidth and xGMI Performance on AMD Instinct MI300X, 2025), on MI350X and MI355X 61 of 76.8
// (all_reduce_perf on 8 MI355X of OCI, if rings reach the same part of it). RCCL has 28 channels in
// a node, from MI350X on 112 (its changes in 7.0); the search makes two of each it finds. An MI250X
// here is one of its two dies: 7 links of 36 of 50 GB/s (RCCL src/graph/topo.h) in three bundles.
// RCCL's four rings have the same data each, and the slowest of them has one link to itself.
// Ascend: a channel is a copy. HCCL counts 18.3 of the 28 GB/s of a link between two 910B
// (device_capacity.cc). A 910C here is one of its two dies, which have 196 GB/s of their 392 GB/s
// each (Zuo et al., Serving Large Language Models on Huawei CloudMatrix384, 2025).
GpuTable::GpuTable()
    : m_rows{{"A100", GpuGeneration::Ampere, 20, 240, false, false, 32},
             {"A800", GpuGeneration::Ampere, 20, 160, false, false, 32},
             {"H100", GpuGeneration::Hopper, 30, 360, false, false, 64},
             {"H200", GpuGeneration::Hopper, 30, 360, false, false, 64},
             {"H20", GpuGeneration::Hopper, 30, 360, false, false, 64},
             {"H800", GpuGeneration::Hopper, 20, 160, false, false, 64},
             {"GH200", GpuGeneration::Hopper, 30, 360, true, true},
             {"B200", GpuGeneration::Blackwell, 45, 720, false, false, 64},
             {"GB200", GpuGeneration::Blackwell, 45, 720, false, true},
             {"B300", GpuGeneration::Blackwell, 45, 720, false, false, 128},
             {"GB300", GpuGeneration::Blackwell, 45, 720, false, true},
             {"MI250X", GpuGeneration::Cdna2, 18, 144, true, false, 0, &MI250X_RINGS},
             {"MI300X", GpuGeneration::Cdna3, 24, 336, true, false, 64},
             {"MI325X", GpuGeneration::Cdna3, 24, 336, true, false, 64},
             {"MI350X", GpuGeneration::Cdna4, 7.625, 427, true, false, 64},
             {"MI355X", GpuGeneration::Cdna4, 7.625, 427, true, false, 64},
             {"Ascend910B", GpuGeneration::DaVinci, 18.3, 128.1, true},
             {"Ascend910C", GpuGeneration::DaVinci, 196, 196}}
{
}

GpuTable
GpuTable::Read(const std::string& path)
{
    const auto file = ns3::OpenInputFile(path, "a table of GPU types");
    GpuTable table;
    table.AddRows(*file, path);
    return table;
}

void
GpuTable::AddRows(std::istream& text, const std::string& source)
{
    ns3::InputLines lines(text, source);
    std::set<std::string> seen;
    while (lines.Next())
    {
        const auto& fields = lines.Fields();
        if (fields.size() < FIELDS || fields.size() > FIELDS + GpuProfile::MOST_MESSAGE_COSTS)
        {
            lines.Fail("this line has " + std::to_string(fields.size()) + " fields",
                       "4: name, generation, GB/s of a channel, GB/s of a GPU's NVLinks; and up "
                       "to 3 costs of messages");
        }
        GpuProfile row;
        row.name = fields[0];
        const auto generation = ParseGpuGeneration(fields[1]);
        if (!generation)
        {
            lines.Fail("unknown generation '" + std::string(fields[1]) + "'", ListGpuGenerations());
        }
        row.generation = *generation;
        row.channelGBps = ParseGBps(lines, fields[2]);
        row.nvlinkGBps = ParseGBps(lines, fields[3]);
        if (row.channelGBps > row.nvlinkGBps)
        {
            lines.Fail("a channel has more than all NVLinks of a GPU", "the channel's GB/s first");
        }
        for (std::size_t i = FIELDS; i < fields.size(); ++i)
        {
            const GpuProfile::MessageCost cost = ParseMessageCost(lines, fields[i]);
            if (!row.messageCosts.empty() && cost.above <= row.messageCosts.back().above)
            {
                lines.Fail("a cost of messages of more than " + std::to_string(cost.above) +
                               " bytes follows one of more than " +
                               std::to_string(row.messageCosts.back().above),
                           "rising limits");
            }
            row.messageCosts.push_back(cost);
        }
        if (!seen.insert(row.name).second)
        {
            lines.Fail("the table has " + row.name + " twice", "a line for each type of GPU");
        }
        const auto same = std::find_if(m_rows.begin(), m_rows.end(), [&](const GpuProfile& known) {
            return known.name == row.name;
        });
        if (same != m_rows.end())
        {
            *same = row;
        }
        else
        {
            m_rows.push_back(row);
        }
    }
}

const GpuProfile*
GpuTable::Find(const std::string& name) const
{
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const GpuProfile& known) {
        return known.name == name;
    });
    return row != m_rows.end() ? &*row : nullptr;
}

std::string
GpuTable::GetNames() const
{
    return fmt::format("{}", fmt::join(m_rows | std::views::transform(&GpuProfile::name), ", "));
}

} // namespace AstraSim
