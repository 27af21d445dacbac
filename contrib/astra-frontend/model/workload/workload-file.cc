/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-file.h"

#include "astra-frontend/model/inference/inference-workload.h"
#include "chakra-workload.h"
#include "goal-workload.h"
#include "kv-cache-workload.h"
#include "layer-workload.h"
#include "workload-format.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/input-lines.h"

#include <filesystem>

namespace AstraSim
{

namespace
{

constexpr const char* KV_CACHE = "KV_CACHE";
constexpr const char* INFERENCE = "INFERENCE";
constexpr const char* ALL_REDUCE = "all_reduce"; ///< a key of an INFERENCE file

/// @return the first word of a file
std::string
FirstWord(const std::string& path)
{
    ns3::InputLines lines(path);
    return std::string(lines.Next() ? lines.Fields()[0] : "");
}

/// Refuse files that are almost a Chakra trace: JSON, the file of one rank, or a prefix without
/// files.
void
RefuseOtherForms(const std::string& path)
{
    const std::string expected = "traces " + path + ".0.et, " + path + ".1.et, ...";
    if (!ns3::InputExists(path))
    {
        const std::string json = path + ".0.json";
        throw ns3::InputError(
            ns3::InputExists(json) ? json : path,
            0,
            ns3::InputExists(json) ? "this is a Chakra trace as JSON, which is not read"
                                   : "there is no such workload, and no trace " + path + ".0.et",
            ns3::InputExists(json) ? expected : "a file, or the prefix of Chakra traces");
    }
    const std::filesystem::path file(path);
    const std::filesystem::path ofRank = file.stem(); // PREFIX.N
    const std::string number = ofRank.extension().string();
    if (file.extension() == ".et" && number.size() > 1 &&
        number.find_first_not_of("0123456789", 1) == std::string::npos)
    {
        throw ns3::InputError(path,
                              0,
                              "this is the Chakra trace of one rank",
                              "the prefix of all: " +
                                  (file.parent_path() / ofRank.stem()).string());
    }
}

/// @return the first word of a text, which says of what kind it is; empty for Chakra traces, for
/// GOAL schedules, which may be binary, and for a file that is not there
std::string
FormatOf(const std::string& path)
{
    const bool isText =
        ns3::InputExists(path) && !IsChakraPrefix(path) && !GoalSchedule::IsIn(path);
    return isText ? FirstWord(path) : "";
}

} // namespace

std::vector<std::string>
WorkloadFiles(const std::string& path)
{
    const auto trace = [&path](std::size_t rank) {
        return path + "." + std::to_string(rank) + ".et";
    };
    std::vector<std::string> files;
    while (ns3::InputExists(trace(files.size())))
    {
        files.push_back(trace(files.size()));
    }
    if (files.empty() && ns3::InputExists(path))
    {
        files.push_back(path);
    }
    return files;
}

bool
IsChakraPrefix(const std::string& path)
{
    return ns3::InputExists(path + ".0.et");
}

bool
RanksShareScheduler(const std::string& path)
{
    const std::string kind = FormatOf(path);
    return kind == KV_CACHE || kind == INFERENCE;
}

NamedEngine
AllReduceOf(const std::string& path)
{
    NamedEngine found;
    if (FormatOf(path) != INFERENCE)
    {
        return found;
    }
    ns3::InputLines lines(path);
    while (lines.Next())
    {
        if (lines.Fields()[0] == ALL_REDUCE && lines.Fields().size() > 1)
        {
            found = {std::string(lines.Fields()[1]), lines.Line()};
        }
    }
    return found;
}

std::unique_ptr<Workload>
OpenWorkload(const std::string& path, const WorkloadOptions& options)
{
    if (IsChakraPrefix(path))
    {
        return std::make_unique<ChakraWorkload>(path, options.communicators, options.memory);
    }
    RefuseOtherForms(path);
    if (GoalSchedule::IsIn(path))
    {
        return std::make_unique<GoalWorkload>(GoalSchedule::Read(path));
    }
    const std::string kind = FirstWord(path);
    if (kind == KV_CACHE)
    {
        return std::make_unique<KvCacheWorkload>(ReadKvCacheConfig(path));
    }
    if (kind == INFERENCE)
    {
        return std::make_unique<InferenceWorkload>(ReadServingConfig(path));
    }
    const WorkloadFormat* format = WorkloadFormat::Find(kind);
    return std::make_unique<LayerWorkload>(format ? format->Read(path) : ReadLayerTable(path),
                                           options.sizes,
                                           options.passes,
                                           options.waitsForGradients);
}

} // namespace AstraSim
