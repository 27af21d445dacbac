/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "msccl-algorithms.h"

#include "collectives/model/library/algorithm-library.h"
#include "msccl-estimate.h"
#include "msccl-graph.h"
#include "msccl-program.h"

#include "ns3/block-times.h"
#include "ns3/collective-algorithm.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <filesystem>
#include <map>
#include <memory>

namespace AstraSim
{

namespace
{

constexpr const char* MSCCL = "MSCCL";

/// @return whether a program carries out such a collective (RCCL src/misc/msccl/msccl_lifecycle.cc)
bool
Fits(const MscclProgram& program, const CollectiveTask& task)
{
    const uint64_t bytes = task.request.bytes;
    return task.request.op == program.op && task.servers.size() == program.gpus.size() &&
           bytes >= std::max<uint64_t>(1, program.minBytes) && bytes <= program.maxBytes &&
           bytes % program.chunks == 0;
}

CollectiveAlgorithm::Rules
RulesOf(const std::shared_ptr<const MscclProgram>& program)
{
    const auto protocol = static_cast<std::size_t>(program->protocol);
    return {
        .can = [program](const CollectiveTask& task) { return Fits(*program, task); },
        .cost = [program](const CollectiveTask& task) { return EstimateMscclTime(*program, task); },
        .graph = [program](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
            return std::make_shared<MscclGraph>(program, task);
        },
        .gpu = [protocol](const CollectiveTask& task) -> std::shared_ptr<const GpuModel> {
            return std::make_shared<BlockTimes>(task, task.blocks[protocol]);
        },
        .start = [protocol](const CollectiveTask& task) { return task.blocks[protocol].start; },
        .wireInflation = WireInflation(program->protocol),
        .choice = CollectiveAlgorithm::Choice::Always,
        .library = MSCCL};
}

const CollectiveLibrary::Kind MSCCL_LIBRARY(MSCCL, [](const CollectiveLibrary::Inputs& inputs) {
    return std::make_unique<AlgorithmLibrary>(MSCCL, inputs.options);
});

} // namespace

void
LoadMscclAlgorithm(const std::string& path)
{
    // A process may read its environment more than once.
    static std::map<std::string, std::unique_ptr<CollectiveAlgorithm>> loaded;
    const std::string file = std::filesystem::weakly_canonical(path).string();
    if (loaded.contains(file))
    {
        return;
    }
    const auto text = ns3::OpenInputFile(path, "a program of MSCCL's");
    const auto program = std::make_shared<const MscclProgram>(MscclProgram::Read(*text, path));
    const std::string name = std::filesystem::path(path).stem().string();
    if (CollectiveAlgorithm::Find(name))
    {
        throw ns3::InputError(path,
                              0,
                              "there is an algorithm of the name " + name + " already",
                              "another name of the file");
    }
    loaded.emplace(file, std::make_unique<CollectiveAlgorithm>(name, RulesOf(program)));
}

void
LoadMscclAlgorithms(const std::string& named, const std::string& directory)
{
    std::vector<std::string> files;
    if (!named.empty())
    {
        boost::algorithm::split(files, named, boost::algorithm::is_any_of(":"));
    }
    if (!directory.empty())
    {
        if (!std::filesystem::is_directory(directory))
        {
            throw ns3::InputError("environment",
                                  0,
                                  "MSCCL_ALGO_DIR is '" + directory + "'",
                                  "a directory of XML of MSCCL");
        }
        for (const auto& entry : std::filesystem::directory_iterator(directory))
        {
            if (entry.path().extension() == ".xml")
            {
                files.push_back(entry.path().string());
            }
        }
    }
    std::ranges::sort(files);
    std::ranges::for_each(files, LoadMscclAlgorithm);
}

} // namespace AstraSim
