/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tuner-table.h"

#include "nccl-algorithm.h"

#include "ns3/input-file.h"
#include "ns3/input-lines.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string.hpp>
#include <boost/geometry.hpp>
#include <cmath>
#include <fmt/format.h>
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

/// @return the algorithms that tuners name
std::vector<std::pair<std::string, const NcclAlgorithm*>>
TunersAlgorithms()
{
    std::map<std::string, const NcclAlgorithm*> named;
    for (const NcclAlgorithm* algorithm : NcclAlgorithm::GetAll())
    {
        named[algorithm->GetMethod().tunerName] = algorithm;
    }
    named.erase("");
    return {named.begin(), named.end()};
}

/// A whole number, or -1 for @p any.
template <typename T>
ns3::RowValue
OrMinusOne(T& target, uint64_t least, uint64_t most, T any)
{
    const auto parse = [=](std::string_view text) {
        std::optional<T> parsed;
        if (const auto value = ns3::WholeWithin(text, least, most))
        {
            parsed.emplace(static_cast<T>(*value));
        }
        else if (text == "-1")
        {
            parsed.emplace(any);
        }
        return parsed;
    };
    return ns3::Parsed(target,
                       parse,
                       most == UINT64_MAX ? "bytes, or -1"
                                          : fmt::format("{} to {}, or -1", least, most),
                       "",
                       ns3::RowValue::Kind::Number);
}

/// The fields of a row, by the names of its columns.
std::vector<ns3::Row>
FieldsOf(TunerRow& row)
{
    const auto condition = [](std::optional<uint32_t>& target) {
        return OrMinusOne(target, 1, MAX_RANKS, std::optional<uint32_t>());
    };
    return {
        {"collective",
         ns3::Word(row.op,
                   {{"allgather", CollectiveOp::AllGather},
                    {"allreduce", CollectiveOp::AllReduce},
                    {"broadcast", CollectiveOp::Broadcast},
                    {"reduce", CollectiveOp::Reduce},
                    {"reducescatter", CollectiveOp::ReduceScatter}}),
         ""},
        {"min_bytes", ns3::Whole(row.minBytes, 0, UINT64_MAX, "bytes"), ""},
        {"max_bytes", OrMinusOne<uint64_t>(row.maxBytes, 0, UINT64_MAX, UINT64_MAX), ""},
        {"algorithm", ns3::Word(row.algorithm, TunersAlgorithms()), ""},
        {"protocol",
         ns3::Word(row.protocol,
                   {{"ll", NcclProtocol::Ll},
                    {"ll128", NcclProtocol::Ll128},
                    {"simple", NcclProtocol::Simple}}),
         ""},
        {"channels", OrMinusOne<uint32_t>(row.channels, 0, MAX_CHANNELS, 0), ""},
        {"nodes", condition(row.nodes), ""},
        {"ranks", condition(row.ranks), ""},
        {"pipe_ops", condition(row.pipeOps), ""},
        {"registered", OrMinusOne(row.registered, 0, 1, std::optional<uint32_t>()), ""},
        {"ranks_per_node", condition(row.ranksPerNode), ""},
    };
}

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
    ns3::Rows columns(lines.Name(), FieldsOf(row));
    for (std::size_t i = 0; i < fields.size(); ++i)
    {
        columns.Read(CSV_COLUMNS[i], fields[i], lines.Line());
    }
    if (row.minBytes > row.maxBytes)
    {
        lines.Fail("min_bytes is above max_bytes", "the smaller first");
    }
    return row;
}

TunerRow
ReadEntry(const ns3::YamlRows& rows, const YAML::Node& entry)
{
    TunerRow row;
    std::vector<ns3::Row> fields = FieldsOf(row);
    fields.push_back({"region", ns3::YamlRows::ForPeople(), ""});
    ns3::Rows keys(rows.GetSource(), std::move(fields));
    rows.ReadInto(entry, keys);
    for (const char* needed : {"collective", "algorithm", "protocol"})
    {
        if (!keys.IsGiven(needed))
        {
            rows.Fail(entry, fmt::format("this row has no {}", needed), COLUMNS);
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
TunerTable::Read(const ns3::YamlRows& rows, const YAML::Node& entry)
{
    TunerTable table;
    const ns3::RowValue apart = ns3::YamlRows::ForPeople();
    ns3::Rows keys(
        rows.GetSource(),
        {{"name", ns3::Text(table.m_name, "a name"), ""},
         {"by", apart, ""},
         {"from_nodes", ns3::Whole(table.m_fromNodes, 1, MAX_RANKS), ""},
         {"scale", ns3::Word(table.m_logarithmic, {{"linear", false}, {"log", true}}), ""},
         {"rows", apart, ""}});
    rows.ReadInto(entry, keys);
    if (table.m_name.empty() || !entry["rows"] || !entry["rows"].IsSequence())
    {
        rows.Fail(entry, "this tuner has no name or no list of rows", "name: NAME, rows: [...]");
    }
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
