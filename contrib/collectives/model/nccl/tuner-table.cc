/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tuner-table.h"

#include "nccl-algorithm.h"
#include "yaml-rows.h"

#include "ns3/input-file.h"
#include "ns3/input-lines.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <boost/geometry.hpp>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <map>
#include <ranges>

namespace AstraSim
{

namespace
{

constexpr const char* FORMAT = "a table of NCCL's example tuner plug-in (CSV)";
constexpr const char* HEADER = "collective_type"; ///< first word of a line of names
constexpr const char* COLUMNS =
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks, and "
    "numPipeOps,regBuff if needed";
constexpr std::size_t FIELDS = 8; ///< that every line has
constexpr std::size_t MOST_FIELDS = 10;
constexpr uint32_t MAX_CHANNELS = 128;
constexpr uint32_t MAX_RANKS = 1 << 24;
constexpr std::size_t LEAST_CORNERS = 3;
/// NCCL's numPipeOps and regBuff of a collective that is launched alone, with buffers that the
/// program has not registered.
constexpr uint32_t PIPE_OPS = 1;
constexpr uint32_t REGISTERED = 0;

const std::map<std::string, CollectiveOp> OPS = {{"broadcast", CollectiveOp::Broadcast},
                                                 {"reduce", CollectiveOp::Reduce},
                                                 {"allgather", CollectiveOp::AllGather},
                                                 {"reducescatter", CollectiveOp::ReduceScatter},
                                                 {"allreduce", CollectiveOp::AllReduce}};
const std::map<std::string, NcclProtocol> PROTOCOLS = {{"ll", NcclProtocol::Ll},
                                                       {"ll128", NcclProtocol::Ll128},
                                                       {"simple", NcclProtocol::Simple}};

/// @return the algorithms that tuners name
std::map<std::string, const NcclAlgorithm*>
TunersAlgorithms()
{
    std::map<std::string, const NcclAlgorithm*> named;
    for (const NcclAlgorithm* algorithm : NcclAlgorithm::GetAll())
    {
        named[algorithm->GetMethod().tunerName] = algorithm;
    }
    named.erase("");
    return named;
}

/// Says that the value of a column is wrong; throws.
using Refuse = std::function<
    void(const std::string& column, const std::string& value, const std::string& expected)>;

/// Sets the fields of a row by the names of its columns.
class RowFields
{
  public:
    RowFields(TunerRow& row, Refuse refuse)
        : m_row(row),
          m_refuse(std::move(refuse))
    {
    }

    void Set(const std::string& column, const std::string& value)
    {
        const std::map<std::string, std::optional<uint32_t>*> conditions = {
            {"nodes", &m_row.nodes},
            {"ranks", &m_row.ranks},
            {"pipe_ops", &m_row.pipeOps},
            {"registered", &m_row.registered},
            {"ranks_per_node", &m_row.ranksPerNode}};
        if (const auto condition = conditions.find(column); condition != conditions.end())
        {
            *condition->second = value == "-1" ? std::nullopt
                                 : column == "registered"
                                     ? Number<uint32_t>(column, value, 0, 1)
                                     : std::optional(Number<uint32_t>(column, value, 1, MAX_RANKS));
        }
        else if (column == "collective")
        {
            m_row.op = Named(column, value, OPS);
        }
        else if (column == "algorithm")
        {
            m_row.algorithm = Named(column, value, TunersAlgorithms());
        }
        else if (column == "protocol")
        {
            m_row.protocol = Named(column, value, PROTOCOLS);
        }
        else if (column == "channels")
        {
            m_row.channels = value == "-1" ? 0 : Number<uint32_t>(column, value, 0, MAX_CHANNELS);
        }
        else
        {
            uint64_t& bytes = column == "min_bytes" ? m_row.minBytes : m_row.maxBytes;
            const uint64_t most = std::numeric_limits<uint64_t>::max();
            bytes = column == "max_bytes" && value == "-1"
                        ? most
                        : Number<uint64_t>(column, value, 0, most);
        }
    }

  private:
    template <typename E>
    E Named(const std::string& column,
            const std::string& value,
            const std::map<std::string, E>& names) const
    {
        const auto name = names.find(value);
        if (name == names.end())
        {
            m_refuse(column, value, fmt::format("{}", fmt::join(names | std::views::keys, ", ")));
        }
        return name->second;
    }

    template <typename T>
    T Number(const std::string& column, const std::string& value, T low, T high) const
    {
        T number{};
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size() || number < low ||
            number > high)
        {
            m_refuse(column,
                     value,
                     column == "min_bytes"
                         ? "bytes"
                         : (column == "max_bytes" ? "bytes, or -1"
                                                  : fmt::format("{} to {}, or -1", low, high)));
        }
        return number;
    }

    TunerRow& m_row;
    Refuse m_refuse;
};

/// Columns of a file, by the names that rows of kinds of networks have.
constexpr std::array<const char*, MOST_FIELDS> CSV_COLUMNS = {"collective",
                                                              "min_bytes",
                                                              "max_bytes",
                                                              "algorithm",
                                                              "protocol",
                                                              "channels",
                                                              "nodes",
                                                              "ranks",
                                                              "pipe_ops",
                                                              "registered"};

TunerRow
ReadLine(const ns3::InputLines& lines, const std::vector<std::string>& fields)
{
    if (fields.size() < FIELDS || fields.size() > MOST_FIELDS)
    {
        lines.Fail("this line has " + std::to_string(fields.size()) + " fields", COLUMNS);
    }
    TunerRow row;
    row.source = lines.Name() + ":" + std::to_string(lines.Line());
    RowFields target(
        row,
        [&](const std::string& column, const std::string& value, const std::string& expected) {
            lines.Fail(column + " is '" + value + "'", expected);
        });
    for (std::size_t i = 0; i < fields.size(); ++i)
    {
        target.Set(CSV_COLUMNS[i], fields[i]);
    }
    if (row.minBytes > row.maxBytes)
    {
        lines.Fail("min_bytes is above max_bytes", "the smaller first");
    }
    return row;
}

TunerRow
ReadEntry(const YamlRows& rows, const YAML::Node& entry)
{
    std::vector<std::string> keys(CSV_COLUMNS.begin(), CSV_COLUMNS.end());
    keys.insert(keys.end(), {"ranks_per_node", "region"});
    rows.RequireKeys(entry, keys);
    for (const char* needed : {"collective", "algorithm", "protocol"})
    {
        if (!entry[needed])
        {
            rows.Fail(entry, fmt::format("this row has no {}", needed), COLUMNS);
        }
    }
    TunerRow row;
    for (const auto& item : entry)
    {
        const auto key = item.first.as<std::string>();
        if (key != "region")
        {
            RowFields(row,
                      [&](const std::string& column,
                          const std::string& value,
                          const std::string& expected) {
                          rows.Fail(item.second, column + " is '" + value + "'", expected);
                      })
                .Set(key, rows.Text(item.second, key));
        }
    }
    const YAML::Node region = entry["region"];
    if (region && (!region.IsSequence() || region.size() < LEAST_CORNERS))
    {
        rows.Fail(region, "region is not a polygon", "three corners [BYTES, RANKS] or more");
    }
    for (const YAML::Node& corner : region)
    {
        if (!corner.IsSequence() || corner.size() != 2)
        {
            rows.Fail(corner, "this is no corner of a region", "[BYTES, RANKS]");
        }
        row.region.emplace_back(rows.Number<double>(corner[0], "bytes", 0, 1e15),
                                rows.Number<double>(corner[1], "ranks", 1, 1e9));
    }
    return row;
}

} // namespace

TunerTable
TunerTable::Read(const std::string& path)
{
    const auto file = ns3::OpenInputFile(path, FORMAT);
    return Read(*file, path);
}

TunerTable
TunerTable::Read(std::istream& text, const std::string& name)
{
    TunerTable table;
    table.m_name = name;
    ns3::InputLines lines(text, name);
    while (lines.Next())
    {
        std::vector<std::string> fields;
        boost::split(fields, lines.RestFrom(0), boost::is_any_of(","));
        std::ranges::for_each(fields, [](std::string& field) { boost::trim(field); });
        if (fields.front() != HEADER)
        {
            table.m_rows.push_back(ReadLine(lines, fields));
        }
    }
    return table;
}

TunerTable
TunerTable::Read(const YamlRows& rows, const YAML::Node& entry)
{
    rows.RequireKeys(entry, {"name", "by", "from_nodes", "scale", "rows"});
    if (!entry["name"] || !entry["rows"] || !entry["rows"].IsSequence())
    {
        rows.Fail(entry, "this tuner has no name or no list of rows", "name: NAME, rows: [...]");
    }
    TunerTable table;
    table.m_name = rows.Text(entry["name"], "name");
    if (const YAML::Node nodes = entry["from_nodes"])
    {
        table.m_fromNodes = rows.Number<uint32_t>(nodes, "from_nodes", 1, MAX_RANKS);
    }
    const std::string scale = entry["scale"] ? rows.Text(entry["scale"], "scale") : "linear";
    if (scale != "linear" && scale != "log")
    {
        rows.Fail(entry["scale"], "scale is '" + scale + "'", "linear or log");
    }
    table.m_logarithmic = scale == "log";
    for (const YAML::Node& row : entry["rows"])
    {
        table.m_rows.push_back(ReadEntry(rows, row));
        table.m_rows.back().source = fmt::format("{}, row {}", table.m_name, table.m_rows.size());
    }
    return table;
}

bool
TunerTable::Covers(const TunerRow& row, double bytes, double ranks) const
{
    using Point = boost::geometry::model::d2::point_xy<double>;
    const auto place = [this](double x, double y) {
        constexpr double LEAST = 1e-6; // logarithms need one; aws-ofi-nccl's
        return m_logarithmic ? Point(std::log2(std::max(x, LEAST)), std::log2(y)) : Point(x, y);
    };
    boost::geometry::model::ring<Point> ring;
    for (const auto& [x, y] : row.region)
    {
        boost::geometry::append(ring, place(x, y));
    }
    boost::geometry::correct(ring);
    return boost::geometry::covered_by(place(bytes, ranks), ring);
}

bool
TunerTable::Fits(const TunerRow& row, const TunerQuestion& question) const
{
    const auto fits = [](const std::optional<uint32_t>& wanted, uint32_t is) {
        return wanted.value_or(is) == is;
    };
    const uint32_t perNode = row.ranksPerNode.value_or(0) * question.nodes;
    return row.op == question.op && question.bytes >= row.minBytes &&
           question.bytes <= row.maxBytes && fits(row.nodes, question.nodes) &&
           fits(row.ranks, question.ranks) && fits(row.pipeOps, PIPE_OPS) &&
           fits(row.registered, REGISTERED) && (perNode == 0 || perNode == question.ranks) &&
           (row.region.empty() || Covers(row, static_cast<double>(question.bytes), question.ranks));
}

const TunerRow*
TunerTable::Find(const TunerQuestion& question, const Available& available) const
{
    if (question.nodes < m_fromNodes)
    {
        return nullptr;
    }
    const auto row = std::ranges::find_if(m_rows, [&](const TunerRow& candidate) {
        return Fits(candidate, question) && available(*candidate.algorithm, candidate.protocol);
    });
    return row == m_rows.end() ? nullptr : &*row;
}

} // namespace AstraSim
