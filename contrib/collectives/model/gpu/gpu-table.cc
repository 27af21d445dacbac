/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "gpu-table.h"

#include "built-in-gpus.h"

#include "ns3/input-file.h"
#include "ns3/nearest-name.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>
#include <functional>
#include <iterator>
#include <ranges>
#include <set>
#include <span>

namespace AstraSim
{

namespace
{

constexpr const char* GPUS_FORMAT =
    "rows of GPUs (YAML), such as MyGpu: {generation: Hopper, channel_gbps: 30, usable_gbps: 360}";
constexpr const char* MESSAGES_FORMAT =
    "up to 3 of {above: BYTES, us: MICROSECONDS, gbps: GB/s} by rising limits";
constexpr double MIN_GBPS = 1e-6;
constexpr double MAX_GBPS = 1e6;
constexpr double MAX_MESSAGE_US = 1e9;
/// Of GpuGeneration, in its order.
constexpr std::array<const char*, GPU_GENERATIONS> GENERATION_NAMES =
    {"Ampere", "Hopper", "Blackwell", "CDNA2", "CDNA3", "CDNA4", "DaVinci"};

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

/// Reads the row of a type.
class GpuReader
{
  public:
    /// @param foreign names of fields, those of other readers among them
    GpuReader(const ns3::YamlRows& rows, const std::vector<std::string>& foreign)
        : m_rows(rows),
          m_foreign(foreign)
    {
    }

    GpuProfile Read(const YAML::Node& key, const YAML::Node& entry)
    {
        m_gpu = GpuProfile();
        m_gpu.name = m_rows.Text(key, "a GPU's name");
        ns3::Rows fields(m_rows.GetSource(), MakeRows(entry));
        m_rows.ReadInto(entry, fields);
        for (const char* needed : {"generation", "channel_gbps", "usable_gbps"})
        {
            if (!fields.IsGiven(needed))
            {
                m_rows.Fail(entry,
                            "GPU " + m_gpu.name + " lacks " + needed,
                            fields.Get(needed, 0).value.expected);
            }
        }
        if (m_gpu.channelGBps > m_gpu.nvlinkGBps)
        {
            m_rows.Fail(entry,
                        "GPU " + m_gpu.name + " has channel_gbps above usable_gbps",
                        "a channel's part of all links");
        }
        return m_gpu;
    }

  private:
    std::vector<ns3::Row> MakeRows(const YAML::Node& entry)
    {
        const auto truth = [](bool& target) {
            return ns3::Word(target, {{"true", true}, {"false", false}});
        };
        const auto rate = [](double& target) {
            return ns3::Real(target, MIN_GBPS, MAX_GBPS, "GB/s");
        };
        const auto node = [this, &entry](const char* key, const char* expected, auto read) {
            return m_rows.FromNode(entry, key, expected, std::bind_front(read, this));
        };
        std::vector<ns3::Row> rows = {
            {"generation",
             ns3::Parsed(m_gpu.generation,
                         ParseGpuGeneration,
                         ListGpuGenerations(),
                         "",
                         ns3::RowValue::Kind::Text),
             ""},
            {"channel_gbps", rate(m_gpu.channelGBps), ""},
            {"usable_gbps", rate(m_gpu.nvlinkGBps), ""},
            {"meshed", node("meshed", "RATE of a link", &GpuReader::ReadDirect), ""},
            {"lanes", node("lanes", "rate and links", &GpuReader::ReadDirect), ""},
            {"nvswitch", ns3::Word(m_gpu.meshed, {{"true", false}, {"false", true}}), ""},
            {"grace", truth(m_gpu.onGrace), ""},
            {"pcie_gbps", rate(m_gpu.pcieGBps), ""},
            {"rings", ns3::Word(m_gpu.rings, {{"MI250X", &MI250X_RINGS}}), ""},
            {"messages", node("messages", MESSAGES_FORMAT, &GpuReader::ReadMessages), ""},
        };
        std::set<std::string> own;
        std::ranges::transform(rows, std::inserter(own, own.end()), &ns3::Row::name);
        for (const std::string& name : m_foreign)
        {
            if (!own.contains(name))
            {
                rows.push_back({name, ns3::YamlRows::ForPeople(), ""});
            }
        }
        return rows;
    }

    void ReadDirect(const YAML::Node&)
    {
        m_gpu.meshed = true;
    }

    void ReadMessages(const YAML::Node& value)
    {
        if (!value.IsSequence() || value.size() > GpuProfile::MOST_MESSAGE_COSTS)
        {
            m_rows.Fail(value, "messages is no list of at most 3", MESSAGES_FORMAT);
        }
        for (const YAML::Node& item : value)
        {
            const GpuProfile::MessageCost cost = MessageCostOf(item);
            auto& costs = m_gpu.messageCosts;
            if (!costs.empty() && cost.above <= costs.back().above)
            {
                m_rows.Fail(item,
                            fmt::format("messages above {} bytes follow those above {}",
                                        cost.above,
                                        costs.back().above),
                            "rising limits");
            }
            costs.push_back(cost);
        }
    }

    GpuProfile::MessageCost MessageCostOf(const YAML::Node& item) const
    {
        GpuProfile::MessageCost cost{0, 0, 0};
        ns3::Rows keys(m_rows.GetSource(),
                       {{"above", ns3::Whole(cost.above, 0, UINT64_MAX), ""},
                        {"us", ns3::Real(cost.us, 0, MAX_MESSAGE_US), ""},
                        {"gbps", ns3::Real(cost.GBps, MIN_GBPS, MAX_GBPS, "GB/s"), ""}});
        m_rows.ReadInto(item, keys);
        if (!keys.IsGiven("above") || !keys.IsGiven("us") || (cost.us == 0 && cost.GBps == 0))
        {
            m_rows.Fail(item, "messages lacks above or a time", MESSAGES_FORMAT);
        }
        return cost;
    }

    const ns3::YamlRows& m_rows;
    const std::vector<std::string>& m_foreign;
    GpuProfile m_gpu;
};

/// @return the names of the fields that rows have
std::vector<std::string>
FieldsOf(const ns3::YamlRows& rows)
{
    std::set<std::string> names;
    for (const auto& row : rows.GetAll())
    {
        for (const auto& field : row.second)
        {
            names.insert(field.first.Scalar());
        }
    }
    return {names.begin(), names.end()};
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

GpuTable::GpuTable()
    : GpuTable(GetBuiltIn())
{
}

const GpuTable&
GpuTable::GetBuiltIn()
{
    static const GpuTable BUILT_IN = [] {
        GpuTable table{Empty()};
        table.AddRows(BUILT_IN_GPUS, "gpus.yaml");
        table.m_added.clear();
        return table;
    }();
    return BUILT_IN;
}

GpuTable
GpuTable::Read(const std::string& path)
{
    GpuTable table;
    if (!path.empty())
    {
        table.AddRows(ns3::ReadInputFile(path, GPUS_FORMAT), path);
        table.m_file = path;
    }
    return table;
}

void
GpuTable::AddRows(const std::string& text, const std::string& source)
{
    const ns3::YamlRows rows(text, source, GPUS_FORMAT, true);
    m_fields = m_fields.empty() ? FieldsOf(rows) : m_fields;
    GpuReader reader(rows, m_fields);
    for (const auto& row : rows.GetAll())
    {
        const GpuProfile gpu = reader.Read(row.first, row.second);
        if (std::ranges::find(m_added, gpu.name) != m_added.end())
        {
            rows.Fail(row.first, "the key '" + gpu.name + "' occurs twice", "each GPU once");
        }
        m_added.push_back(gpu.name);
        const auto same = std::ranges::find(m_rows, gpu.name, &GpuProfile::name);
        if (same != m_rows.end())
        {
            *same = gpu;
        }
        else
        {
            m_rows.push_back(gpu);
        }
    }
}

const GpuProfile*
GpuTable::Find(const std::string& name) const
{
    const auto row = std::ranges::find(m_rows, name, &GpuProfile::name);
    return row != m_rows.end() ? &*row : nullptr;
}

std::vector<std::string>
GpuTable::DescribeIdle(const std::string& type) const
{
    if (m_file.empty() || std::ranges::find(m_added, type) != m_added.end())
    {
        return {};
    }
    return {m_file + " has no effect: " +
            (type.empty() ? "the topology names no GPU type" : "it has no row of " + type)};
}

std::string
GpuTable::Expected(const std::string& unknown) const
{
    std::vector<std::string> names;
    std::ranges::transform(m_rows, std::back_inserter(names), &GpuProfile::name);
    return fmt::format("one of {}, or a row of --gpu-table{}",
                       fmt::join(names, ", "),
                       ns3::NearestHint(unknown, names));
}

} // namespace AstraSim
