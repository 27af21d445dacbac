/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-table.h"

#include "builtin-tables.h"
#include "tuner-table.h"
#include "yaml-rows.h"

#include "ns3/input-file.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <fmt/ranges.h>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr const char* KINDS_FORMAT = "a list of kinds of networks (YAML), each with a name";
constexpr double MAX_US = 1e6;
constexpr uint32_t MAX_PACKET_BYTES = 1 << 20;
constexpr uint32_t MAX_TRIPS = 1000;
constexpr uint64_t MAX_BYTES = uint64_t{1} << 50;

/// Reads rows into kinds.
class RowReader
{
  public:
    RowReader(const YamlRows& rows, const NetworkTable& table)
        : m_rows(rows),
          m_table(table)
    {
    }

    /// @return the row of a list's entry
    NetworkKind Read(const YAML::Node& row) const
    {
        std::vector<std::string> keys{"name", "like", "of", "tuner"};
        for (const auto& [name, _] : FIGURES)
        {
            keys.push_back(name);
        }
        m_rows.RequireKeys(row, keys);
        NetworkKind kind = row["like"] ? Other(row["like"]) : NetworkKind();
        kind.name = row["name"] ? m_rows.Text(row["name"], "name") : "";
        if (kind.name.empty())
        {
            m_rows.Fail(row, "this kind of network has no name", "name: NAME");
        }
        for (const auto& [name, read] : FIGURES)
        {
            if (const YAML::Node figure = row[name])
            {
                (this->*read)(kind, ValueOf(figure));
            }
        }
        if (const YAML::Node tuner = row["tuner"])
        {
            ReadTuner(kind, tuner);
        }
        return kind;
    }

  private:
    using Figure = void (RowReader::*)(NetworkKind&, const YAML::Node&) const;
    static const std::map<std::string, Figure> FIGURES;

    const NetworkKind& Other(const YAML::Node& like) const
    {
        const std::string name = m_rows.Text(like, "like");
        const NetworkKind* other = m_table.Find(name);
        if (!other)
        {
            m_rows.Fail(like,
                        "like is '" + name + "'",
                        "an earlier row, or one of " + m_table.GetNames());
        }
        return *other;
    }

    /// @return the value of a figure, which may be `{is: VALUE, by: SOURCE, tables: [NAME, ...]}`
    YAML::Node ValueOf(const YAML::Node& figure) const
    {
        if (!figure.IsMap())
        {
            return figure;
        }
        m_rows.RequireKeys(figure, {"is", "by", "tables"});
        if (!figure["is"])
        {
            m_rows.Fail(figure, "this figure has no value", "is: VALUE");
        }
        return figure["is"];
    }

    bool Truth(const YAML::Node& value, const std::string& key) const
    {
        const std::string word = m_rows.Text(value, key);
        if (word != "true" && word != "false")
        {
            m_rows.Fail(value, key + " is '" + word + "'", "true or false");
        }
        return word == "true";
    }

    void ReadEfficiency(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.efficiency = m_rows.Number<double>(value, "efficiency", 0.01, 1);
    }

    void ReadPacketBytes(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.packetBytes = m_rows.Number<uint32_t>(value, "packet_bytes", 0, MAX_PACKET_BYTES);
    }

    void ReadStepUs(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.stepUs = m_rows.Number<double>(value, "step_us", 0, MAX_US);
    }

    void ReadToldUs(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.toldUs = m_rows.Number<double>(value, "told_us", 0, MAX_US);
    }

    void ReadSlotTrips(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.slotTrips = m_rows.Number<uint32_t>(value, "slot_trips", 1, MAX_TRIPS);
    }

    void ReadBufferBytes(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.bufferBytes = m_rows.Number<uint64_t>(value, "buffer_bytes", 0, MAX_BYTES);
    }

    void ReadGroupsNics(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.groupsNics = Truth(value, "groups_nics");
    }

    void ReadSimpleFrom(NetworkKind& kind, const YAML::Node& value) const
    {
        kind.simpleFrom = m_rows.Number<uint64_t>(value, "simple_from", 0, MAX_BYTES);
    }

    void ReadTuner(NetworkKind& kind, const YAML::Node& value) const
    {
        const bool none = value.IsScalar() && value.Scalar() == "none";
        kind.tuner =
            none ? nullptr : std::make_shared<const TunerTable>(TunerTable::Read(m_rows, value));
    }

    void ReadWithout(NetworkKind& kind, const YAML::Node& value) const
    {
        const std::map<std::string, bool NetworkKind::*> names = {
            {"LL", &NetworkKind::allowsLl},
            {"LL128", &NetworkKind::allowsLl128},
            {"NVLS", &NetworkKind::allowsNvls}};
        const std::string expected = "a list of LL, LL128 and NVLS";
        if (!value.IsSequence())
        {
            m_rows.Fail(value, "without is not a list", expected);
        }
        for (const auto& [_, allows] : names)
        {
            kind.*allows = true; // forget the entries "without" of the kind that this one is like
        }
        for (const YAML::Node& item : value)
        {
            const auto name = names.find(m_rows.Text(item, "without"));
            if (name == names.end())
            {
                m_rows.Fail(item, "without has '" + item.Scalar() + "'", expected);
            }
            kind.*name->second = false;
        }
    }

    void ReadSlowStarts(NetworkKind& kind, const YAML::Node& value) const
    {
        if (!value.IsSequence() || value.size() > NetworkKind::MOST_SLOW_STARTS)
        {
            m_rows.Fail(value,
                        "slow_starts is not a list of at most " +
                            std::to_string(NetworkKind::MOST_SLOW_STARTS),
                        "{above: BYTES, us: MICROSECONDS} each, by rising limit");
        }
        kind.slowStarts.clear();
        for (const YAML::Node& item : value)
        {
            const NetworkKind::SlowStart slow = ReadSlowStart(item);
            if (!kind.slowStarts.empty() && slow.above <= kind.slowStarts.back().above)
            {
                m_rows.Fail(item,
                            "a start above " + std::to_string(slow.above) +
                                " bytes follows one above " +
                                std::to_string(kind.slowStarts.back().above),
                            "rising limits");
            }
            kind.slowStarts.push_back(slow);
        }
    }

    NetworkKind::SlowStart ReadSlowStart(const YAML::Node& item) const
    {
        m_rows.RequireKeys(item, {"above", "us", "occupies", "by", "tables"});
        if (!item["above"] || !item["us"])
        {
            m_rows.Fail(item, "a slow start lacks above or us", "{above: BYTES, us: MICROSECONDS}");
        }
        NetworkKind::SlowStart slow{m_rows.Number<uint64_t>(item["above"], "above", 0, MAX_BYTES),
                                    m_rows.Number<double>(item["us"], "us", 0, MAX_US),
                                    false};
        if (const YAML::Node occupies = item["occupies"])
        {
            slow.occupies = Truth(occupies, "occupies");
        }
        return slow;
    }

    const YamlRows& m_rows;
    const NetworkTable& m_table;
};

const std::map<std::string, RowReader::Figure> RowReader::FIGURES = {
    {"efficiency", &RowReader::ReadEfficiency},
    {"packet_bytes", &RowReader::ReadPacketBytes},
    {"step_us", &RowReader::ReadStepUs},
    {"told_us", &RowReader::ReadToldUs},
    {"slot_trips", &RowReader::ReadSlotTrips},
    {"buffer_bytes", &RowReader::ReadBufferBytes},
    {"groups_nics", &RowReader::ReadGroupsNics},
    {"simple_from", &RowReader::ReadSimpleFrom},
    {"slow_starts", &RowReader::ReadSlowStarts},
    {"without", &RowReader::ReadWithout},
};

} // namespace

const NetworkTable&
NetworkTable::GetBuiltIn()
{
    static const NetworkTable BUILTIN = [] {
        NetworkTable table;
        table.AddRows(BUILTIN_NETWORK_KINDS, "network-kinds.yaml");
        return table;
    }();
    return BUILTIN;
}

NetworkTable
NetworkTable::Read(const std::string& path)
{
    NetworkTable table = GetBuiltIn();
    table.AddRows(ns3::ReadInputFile(path, KINDS_FORMAT), path);
    return table;
}

void
NetworkTable::AddRows(const std::string& text, const std::string& source)
{
    const YamlRows rows(text, source, KINDS_FORMAT);
    const RowReader reader(rows, *this);
    std::set<std::string> seen;
    for (const YAML::Node& row : rows.GetAll())
    {
        const NetworkKind kind = reader.Read(row);
        if (!seen.insert(boost::algorithm::to_lower_copy(kind.name)).second)
        {
            rows.Fail(row, "the table has " + kind.name + " twice", "a row for each kind");
        }
        const auto same = std::ranges::find_if(m_rows, [&](const NetworkKind& known) {
            return boost::algorithm::iequals(known.name, kind.name);
        });
        if (same != m_rows.end())
        {
            *same = kind;
        }
        else
        {
            m_rows.push_back(kind);
        }
    }
}

const NetworkKind*
NetworkTable::Find(const std::string& name) const
{
    const auto it = std::ranges::find_if(m_rows, [&](const NetworkKind& kind) {
        return boost::algorithm::iequals(kind.name, name);
    });
    return it != m_rows.end() ? &*it : nullptr;
}

std::string
NetworkTable::GetNames() const
{
    return fmt::format("{}", fmt::join(m_rows | std::views::transform(&NetworkKind::name), ", "));
}

std::string
NetworkTable::GetBuiltInNames()
{
    constexpr std::string_view BEGIN_OF_ROW = "- name: ";
    std::string names = NetworkKind().name;
    for (const auto line : std::views::split(std::string_view(BUILTIN_NETWORK_KINDS), '\n'))
    {
        const std::string_view text(line.begin(), line.end());
        if (text.starts_with(BEGIN_OF_ROW))
        {
            names.append(", ").append(text.substr(BEGIN_OF_ROW.size()));
        }
    }
    return names;
}

} // namespace AstraSim
