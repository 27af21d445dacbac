/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-file.h"

#include "astra-frontend/model/inference/inference-workload.h"
#include "chakra-workload.h"
#include "kv-cache-workload.h"
#include "layer-workload.h"
#include "workload-format.h"

#include "ns3/input-file.h"
#include "ns3/input-lines.h"

#include <filesystem>

namespace AstraSim
{

namespace
{

constexpr const char* KV_CACHE = "KV_CACHE";
constexpr const char* INFERENCE = "INFERENCE";

/// @return what a file begins with
std::string
FirstWord(const std::string& path)
{
    ns3::InputLines lines(path);
    return std::string(lines.Next() ? lines.Fields()[0] : "");
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
    const std::string kind = ns3::InputExists(path) && !IsChakraPrefix(path) ? FirstWord(path) : "";
    return kind == KV_CACHE || kind == INFERENCE;
}

std::unique_ptr<Workload>
OpenWorkload(const std::string& path, const WorkloadOptions& options)
{
    if (IsChakraPrefix(path))
    {
        return std::make_unique<ChakraWorkload>(path, options.communicators, options.memory);
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
    const auto read = WorkloadFormat::Find(kind);
    return std::make_unique<LayerWorkload>(read ? read(path) : ReadLayerTable(path),
                                           options.sizes,
                                           options.passes,
                                           options.waitsForGradients);
}

} // namespace AstraSim
