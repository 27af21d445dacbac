/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "network-table.h"

#include "builtin-tables.h"
#include "tuner-table.h"

#include "ns3/input-file.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <fmt/ranges.h>
#include <functional>
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
constexpr const char* WITHOUT = "a list of LL, LL128 and NVLS";
constexpr double MAX_US = 1e6;
constexpr double MIN_GBPS = 1e-6;
constexpr double MAX_GBPS = 1e6;
constexpr uint32_t MAX_PACKET_BYTES = 1 << 20;
constexpr uint32_t MAX_TRIPS = 1000;
constexpr uint64_t MAX_BYTES = uint64_t{1} << 50;

/// Reads the entry of a kind.
class KindReader
{
  public:
    KindReader(const ns3::YamlRows& rows, const NetworkTable& table)
        : m_rows(rows),
          m_table(table)
    {
    }

    NetworkKind Read(const YAML::Node& entry)
    {
        m_kind = entry.IsMap() && entry["like"] ? Other(entry["like"]) : NetworkKind();
        m_kind.name.clear();
        ns3::Rows keys(m_rows.GetSource(), MakeRows(entry));
        m_rows.ReadInto(entry, keys);
        if (m_kind.name.empty())
        {
            m_rows.Fail(entry, "this kind of network has no name", "name: NAME");
        }
        return m_kind;
    }

    std::string Describe()
    {
        m_kind.name.clear();
        return ns3::Rows("", MakeRows(YAML::Node())).ToCsv();
    }

  private:
    std::vector<ns3::Row> MakeRows(const YAML::Node& entry)
    {
        const auto truth = [](bool& target) {
            return ns3::Word(target, {{"true", true}, {"false", false}});
        };
        const auto node = [this, &entry](const char* key, const char* expected, auto read) {
            return m_rows.FromNode(entry, key, expected, std::bind_front(read, this));
        };
        const ns3::RowValue forPeople = ns3::YamlRows::ForPeople();
        return {
            {"name", ns3::Text(m_kind.name, "a name"), "with the version: ``EFA-p4d``"},
            {"like",
             forPeople,
             "the kind, built in or of an earlier row, whose figures hold where this row has none"},
            {"of", forPeople, "origin of the figures, for people"},
            {"efficiency",
             ns3::Real(m_kind.efficiency, 0.01, 1),
             "part of a NIC's line rate that long messages reach, headers and acknowledgements not "
             "counted"},
            {"packet_bytes",
             ns3::Whole(m_kind.packetBytes, 0, MAX_PACKET_BYTES),
             "payload of packets where the configuration has none; 0: any"},
            {"step_us",
             ns3::Real(m_kind.stepUs, 0, MAX_US),
             "microseconds of a step between nodes beyond NCCL's own"},
            {"told_us",
             ns3::Real(m_kind.toldUs, 0, MAX_US),
             "latency in microseconds that the plug-in tells NCCL, for its choices; messages of LL "
             "and LL128 keep their slots as long"},
            {"slot_trips",
             ns3::Whole(m_kind.slotTrips, 1, MAX_TRIPS),
             "one-way trips for which a message keeps its slot of the sender's buffer"},
            {"buffer_bytes",
             ns3::Whole(m_kind.bufferBytes, 0, MAX_BYTES),
             "``NCCL_BUFFSIZE`` as the plug-in sets it; 0: NCCL's"},
            {"pair_chunk_bytes",
             ns3::Whole(m_kind.pairChunk, 0, MAX_BYTES),
             "the same of ``NCCL_P2P_NET_CHUNKSIZE``"},
            {"nvls_chunk_bytes",
             ns3::Whole(m_kind.nvlsChunk, 0, MAX_BYTES),
             "the same of ``NCCL_NVLS_CHUNKSIZE``"},
            {"nvls_tree_chunk_bytes",
             ns3::Whole(m_kind.nvlsTreeChunk, 0, MAX_BYTES),
             "the same of ``NCCL_NVLSTREE_MAX_CHUNKSIZE``"},
            {"groups_nics",
             truth(m_kind.groupsNics),
             "whether the plug-in shows a GPU's NICs to NCCL as one device"},
            {"simple_from",
             ns3::Whole(m_kind.simpleFrom, 0, MAX_BYTES),
             "bytes of a rank from which on the vendor's tuner leaves LL128 to Simple; 0: NCCL "
             "chooses"},
            {"slow_starts",
             node("slow_starts",
                  "a list of {above: BYTES, us: MICROSECONDS, gbps: GB/s}",
                  &KindReader::ReadSlowStarts),
             "messages of more than ``above`` bytes take ``us`` microseconds more to start; "
             "``occupies: true``: the CPU of the NIC does nothing else meanwhile, nor while it "
             "moves the message at ``gbps``, if that is given"},
            {"without",
             node("without", WITHOUT, &KindReader::ReadWithout),
             "protocols that may not be used, and NVLS"},
            {"tuner",
             node("tuner", "a table, or none", &KindReader::ReadTuner),
             "choices of the plug-in's tuner (:ref:`tuners`), or ``none``"},
        };
    }

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

    void ReadTuner(const YAML::Node& value)
    {
        const bool none = value.IsScalar() && value.Scalar() == "none";
        m_kind.tuner =
            none ? nullptr : std::make_shared<const TunerTable>(TunerTable::Read(m_rows, value));
    }

    void ReadWithout(const YAML::Node& value)
    {
        const std::map<std::string, bool NetworkKind::*> names = {
            {"LL", &NetworkKind::allowsLl},
            {"LL128", &NetworkKind::allowsLl128},
            {"NVLS", &NetworkKind::allowsNvls}};
        if (!value.IsSequence())
        {
            m_rows.Fail(value, "without is not a list", WITHOUT);
        }
        for (const auto& [_, allows] : names)
        {
            m_kind.*allows = true; // forget the entries "without" of the kind that this one is like
        }
        for (const YAML::Node& item : value)
        {
            const auto name = names.find(m_rows.Text(item, "without"));
            if (name == names.end())
            {
                m_rows.Fail(item, "without has '" + item.Scalar() + "'", WITHOUT);
            }
            m_kind.*name->second = false;
        }
    }

    void ReadSlowStarts(const YAML::Node& value)
    {
        if (!value.IsSequence() || value.size() > NetworkKind::MOST_SLOW_STARTS)
        {
            m_rows.Fail(value,
                        "slow_starts is not a list of at most " +
                            std::to_string(NetworkKind::MOST_SLOW_STARTS),
                        "{above: BYTES, us: MICROSECONDS} each, by rising limit");
        }
        m_kind.slowStarts.clear();
        for (const YAML::Node& item : value)
        {
            const NetworkKind::SlowStart slow = ReadSlowStart(item);
            if (!m_kind.slowStarts.empty() && slow.above <= m_kind.slowStarts.back().above)
            {
                m_rows.Fail(item,
                            "a start above " + std::to_string(slow.above) +
                                " bytes follows one above " +
                                std::to_string(m_kind.slowStarts.back().above),
                            "rising limits");
            }
            m_kind.slowStarts.push_back(slow);
        }
    }

    NetworkKind::SlowStart ReadSlowStart(const YAML::Node& item) const
    {
        NetworkKind::SlowStart slow{0, 0, false};
        const ns3::RowValue forPeople = ns3::YamlRows::ForPeople();
        ns3::Rows keys(
            m_rows.GetSource(),
            {{"above", ns3::Whole(slow.above, 0, MAX_BYTES), ""},
             {"us", ns3::Real(slow.us, 0, MAX_US), ""},
             {"gbps", ns3::Real(slow.GBps, MIN_GBPS, MAX_GBPS, "GB/s"), ""},
             {"occupies", ns3::Word(slow.occupies, {{"true", true}, {"false", false}}), ""},
             {"by", forPeople, ""},
             {"tables", forPeople, ""}});
        m_rows.ReadInto(item, keys);
        if (!keys.IsGiven("above") || !keys.IsGiven("us"))
        {
            m_rows.Fail(item, "a slow start lacks above or us", "{above: BYTES, us: MICROSECONDS}");
        }
        return slow;
    }

    const ns3::YamlRows& m_rows;
    const NetworkTable& m_table;
    NetworkKind m_kind;
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
    const ns3::YamlRows rows(text, source, KINDS_FORMAT);
    KindReader reader(rows, *this);
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
NetworkTable::DescribeKeys()
{
    return KindReader(ns3::YamlRows("[]", "", KINDS_FORMAT), NetworkTable()).Describe();
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
