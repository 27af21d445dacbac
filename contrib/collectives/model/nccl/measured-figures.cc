/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "measured-figures.h"

#include "builtin-tables.h"

#include "ns3/input-file.h"
#include "ns3/rows.h"
#include "ns3/yaml-rows.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr const char* FIGURES_FORMAT = "a list of figures (YAML): name and is, each";
constexpr double LARGEST_FIGURE = 1e9;

using Member =
    std::variant<double MeasuredFigures::*, MeasuredFigures::ByGeneration MeasuredFigures::*>;

const std::vector<std::pair<std::string, Member>> MEMBERS = {
    {"ll_step_us", &MeasuredFigures::llStepUs},
    {"ll_step_direct_us", &MeasuredFigures::llStepDirectUs},
    {"ll_hidden_bytes", &MeasuredFigures::llHiddenBytes},
    {"pair_efficiency", &MeasuredFigures::pairEfficiency},
    {"pair_block_efficiency", &MeasuredFigures::pairBlockEfficiency},
    {"pair_chunk_us", &MeasuredFigures::pairChunkUs},
    {"pair_net_us", &MeasuredFigures::pairNetUs},
    {"pair_cpu_us", &MeasuredFigures::pairCpuUs},
    {"pair_again_us", &MeasuredFigures::pairAgainUs},
    {"msccl_block_gbps", &MeasuredFigures::mscclBlockGBps},
    {"pcie_block_gbps", &MeasuredFigures::pcieBlockGBps},
    {"host_memory_gbps", &MeasuredFigures::hostMemoryGBps},
    {"nvls_sync_us", &MeasuredFigures::nvlsSyncUs},
    {"nvls_link_efficiency", &MeasuredFigures::nvlsLinkEfficiency},
    {"nvls_hunk_us", &MeasuredFigures::nvlsHunkUs},
    {"nvls_tree_hunk_us", &MeasuredFigures::nvlsTreeHunkUs},
    {"nvls_alone_us", &MeasuredFigures::nvlsAloneUs},
    {"nvls_more_us", &MeasuredFigures::nvlsMoreUs},
};

void
TakeFigure(const ns3::YamlRows& rows, const YAML::Node& row, MeasuredFigures& figures)
{
    Member member;
    const ns3::RowValue apart = ns3::YamlRows::ForPeople();
    ns3::Rows keys(rows.GetSource(),
                   {{"name", ns3::Word(member, MEMBERS), ""},
                    {"of", apart, ""},
                    {"is", apart, ""},
                    {"by", apart, ""},
                    {"tables", apart, ""},
                    {"others", apart, ""}});
    rows.ReadInto(row, keys);
    if (!keys.IsGiven("name") || !keys.IsGiven("is"))
    {
        rows.Fail(row, "this figure lacks its name or its value", "{name: NAME, is: VALUE}");
    }
    const std::string name = row["name"].Scalar();
    const double value = rows.Number<double>(row["is"], name, 0, LARGEST_FIGURE);
    const YAML::Node of = row["of"];
    if (const auto* one = std::get_if<double MeasuredFigures::*>(&member))
    {
        if (of)
        {
            rows.Fail(of, name + " is the same for all GPUs", "no of");
        }
        figures.*(*one) = value;
        return;
    }
    if (!of)
    {
        rows.Fail(row, name + " is of generations of GPUs", "of, such as [Hopper, Blackwell]");
    }
    auto& all = figures.*std::get<MeasuredFigures::ByGeneration MeasuredFigures::*>(member);
    for (const GpuGeneration generation :
         rows.Words(of, "of", ParseGpuGeneration, ListGpuGenerations()))
    {
        all[static_cast<std::size_t>(generation)] = value;
    }
}

} // namespace

const MeasuredFigures&
MeasuredFigures::GetBuiltIn()
{
    static const MeasuredFigures BUILTIN = [] {
        MeasuredFigures figures;
        figures.Take(BUILTIN_MEASURED_FIGURES, "measured-figures.yaml");
        return figures;
    }();
    return BUILTIN;
}

MeasuredFigures
MeasuredFigures::Read(const std::string& path)
{
    MeasuredFigures figures = GetBuiltIn();
    figures.Take(ns3::ReadInputFile(path, FIGURES_FORMAT), path);
    return figures;
}

void
MeasuredFigures::Take(const std::string& text, const std::string& source)
{
    const ns3::YamlRows rows(text, source, FIGURES_FORMAT);
    for (const YAML::Node& row : rows.GetAll())
    {
        TakeFigure(rows, row, *this);
    }
}

} // namespace AstraSim
