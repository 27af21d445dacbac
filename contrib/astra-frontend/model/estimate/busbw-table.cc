/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "busbw-table.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/nearest-name.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace AstraSim
{

namespace
{

using ns3::InputError;

const std::map<std::string, GroupKind> GROUPS = {
    {"TP", GroupKind::Tp},
    {"DP", GroupKind::Dp},
    {"EP", GroupKind::Ep},
    {"DP_EP", GroupKind::DpEp},
    {"PP", GroupKind::Pp},
    {"CP", GroupKind::Cp},
};

const std::map<std::string, CollectiveOp> COLLECTIVES = {
    {"allreduce", CollectiveOp::AllReduce},
    {"allgather", CollectiveOp::AllGather},
    {"reducescatter", CollectiveOp::ReduceScatter},
    {"alltoall", CollectiveOp::AllToAll},
    {"busbw", CollectiveOp::SendRecv},
};

template <typename T>
std::vector<std::string>
NamesOf(const std::map<std::string, T>& map)
{
    std::vector<std::string> names;
    for (const auto& [name, value] : map)
    {
        names.push_back(name);
    }
    return names;
}

double
ReadBandwidth(const std::string& text, const std::string& file, std::size_t line)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e9)
    {
        throw InputError(file,
                         line,
                         "'" + text + "' is not a valid bandwidth",
                         "GB/s above 0, or null");
    }
    return value;
}

} // namespace

BusbwTable
BusbwTable::Read(const std::string& path)
{
    std::istringstream text(ns3::ReadInputFile(path, "a table of bus bandwidths"));
    if (text.view().find(':') == std::string_view::npos)
    {
        // SimAI's files may begin with a line of any text; a file of nothing else is an error.
        throw InputError(path, 1, "names no group", "a line 'TP:', and 'allreduce: GB/s' below it");
    }
    return Read(text, path);
}

BusbwTable
BusbwTable::Read(std::istream& text, const std::string& name)
{
    // Line by line, as a YAML reader refuses SimAI's own files: they have a title before the first
    // key, and indentation, or colons without a space, that YAML does not allow.
    BusbwTable table;
    std::optional<GroupKind> group;
    std::set<std::pair<GroupKind, CollectiveOp>> seen;
    std::string line;
    for (std::size_t number = 1; std::getline(text, line); ++number)
    {
        if (constexpr std::string_view MARK = "\xEF\xBB\xBF"; number == 1 && line.starts_with(MARK))
        {
            line.erase(0, MARK.size()); // editors on Windows write it
        }
        line = line.substr(0, line.find('#'));
        boost::algorithm::trim(line);
        const auto colon = line.find(':');
        if (line.empty() || line == "---" || (colon == std::string::npos && number == 1))
        {
            continue;
        }
        if (colon == std::string::npos)
        {
            throw InputError(name, number, "'" + line + "' has no colon", "'collective: GB/s'");
        }
        std::string key = line.substr(0, colon);
        std::string value = line.substr(colon + 1);
        boost::algorithm::trim_if(key, boost::algorithm::is_any_of(" \t,\"'"));
        boost::algorithm::trim_if(value, boost::algorithm::is_any_of(" \t,"));
        if (value.empty())
        {
            const auto known = GROUPS.find(boost::algorithm::to_upper_copy(key));
            if (known == GROUPS.end())
            {
                throw InputError(name,
                                 number,
                                 "unknown group '" + key + "'",
                                 "TP, DP, EP, DP_EP, PP or CP" +
                                     ns3::NearestHint(key, NamesOf(GROUPS)));
            }
            group = known->second;
            continue;
        }
        const auto known = COLLECTIVES.find(boost::algorithm::to_lower_copy(key));
        if (known == COLLECTIVES.end() || !group ||
            (known->second == CollectiveOp::SendRecv) != (*group == GroupKind::Pp))
        {
            const bool unknown = known == COLLECTIVES.end();
            throw InputError(name,
                             number,
                             unknown ? "unknown collective '" + key + "'"
                             : !group
                                 ? "'" + key + "' stands before any group"
                                 : "'" + key + "' does not belong to group " + ToString(*group),
                             unknown ? "allreduce, allgather, reducescatter, alltoall or busbw" +
                                           ns3::NearestHint(key, NamesOf(COLLECTIVES))
                             : !group ? "a line 'TP:' first"
                                      : "collectives in TP, DP, EP, DP_EP and CP, 'busbw' in PP");
        }
        if (!seen.insert({*group, known->second}).second)
        {
            throw InputError(name,
                             number,
                             "'" + key + "' of group " + ToString(*group) + " occurs twice",
                             "each collective of a group once");
        }
        if (value == "null" || value == "~" || value == "None")
        {
            continue;
        }
        table.m_GBps[{*group, known->second}] = ReadBandwidth(value, name, number);
        table.m_hasDpEp = table.m_hasDpEp || *group == GroupKind::DpEp;
    }
    return table;
}

std::optional<double>
BusbwTable::Find(GroupKind group, CollectiveOp op) const
{
    if (group == GroupKind::DpEp && !m_hasDpEp)
    {
        group = GroupKind::Dp;
    }
    const auto it = m_GBps.find({group, op});
    return it == m_GBps.end() ? std::nullopt : std::optional<double>(it->second);
}

} // namespace AstraSim
