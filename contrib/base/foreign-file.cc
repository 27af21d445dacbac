/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "foreign-file.h"

#include "input-error.h"
#include "input-file.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ns3
{

namespace
{

constexpr const char* CHAKRA_TRACES =
    "Chakra traces PREFIX.0.et, PREFIX.1.et, ... of all ranks, given as PREFIX";
constexpr const char* TOPOLOGY =
    "a topology file with servers, NICs and switches, as topologies/gen_Topo_Template.py writes";

/// A kind of file that belongs to another program, and the input to give instead.
struct ForeignKind
{
    char first;                            ///< character that is no blank
    std::array<std::string_view, 2> marks; ///< all stand near the beginning
    const char* name;
    std::string instead;
};

/// In the order in which they are tried. Many files of JSON have a "version" or a "schema".
const std::array<ForeignKind, 7>&
Kinds()
{
    static const std::array<ForeignKind, 7> KINDS = {{
        {'{',
         {"\"schemaVersion\"", "\"deviceProperties\""},
         "a Kineto trace of PyTorch's profiler",
         ""},
        {'{', {"\"traceEvents\""}, "a Kineto trace of PyTorch's profiler", ""},
        {'{',
         {"\"schema\"", "\"pid\""},
         "an execution trace of PyTorch, before Chakra's converter",
         ""},
        {'{', {"_NODE\""}, "a Chakra trace as JSON", ""},
        {'n', {"num_ranks"}, "a GOAL schedule", "a workload as SimAI text, or "},
        {'<', {"<system"}, "NCCL's topology (an XML file as in NCCL_TOPO_FILE)", TOPOLOGY},
        {'<', {"<graphs"}, "NCCL's graphs (an XML file as in NCCL_GRAPH_FILE)", TOPOLOGY},
    }};
    return KINDS;
}

std::string
BeginningOf(const std::string& path)
{
    constexpr std::streamsize MOST = 4096;
    std::string text(MOST, '\0');
    try
    {
        const auto file = OpenInputFile(path);
        file->read(text.data(), MOST);
        text.resize(static_cast<std::size_t>(file->gcount()));
    }
    catch (const InputError&)
    {
        return "";
    }
    return text;
}

} // namespace

void
RefuseForeignFile(const std::string& path)
{
    const std::string text = BeginningOf(path);
    const auto first = text.find_first_not_of(" \t\r\n");
    for (const ForeignKind& kind : Kinds())
    {
        const bool isKind = first != std::string::npos && text[first] == kind.first &&
                            std::ranges::all_of(kind.marks, [&text](std::string_view mark) {
                                return text.find(mark) != std::string::npos;
                            });
        if (isKind)
        {
            throw InputError(path,
                             1,
                             std::string("this is ") + kind.name + ", which is not read",
                             kind.first == '<' ? kind.instead : kind.instead + CHAKRA_TRACES);
        }
    }
}

} // namespace ns3
