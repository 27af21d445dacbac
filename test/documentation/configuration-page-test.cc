/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// The documentation's tables of keys and flags are what the parsers' own tables say, and every
// configuration that we ship is one that the parser takes without a word.
//
// After a change to the keys or flags: UPDATE_DOCUMENTATION=1 test-documentation rewrites the
// tables.

#include "astra-frontend/model/inference/cache/cache-results.h"
#include "astra-frontend/model/inference/class-results.h"
#include "astra-frontend/model/inference/input/serving-config.h"
#include "astra-frontend/model/inference/instance-scaling.h"
#include "astra-frontend/model/inference/serving-results.h"
#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/workload/kv-cache-workload.h"
#include "collectives/model/nccl/network-table.h"
#include "programs/flows/flows-options.h"
#include "rdma-qbb/records/reordering-records.h"
#include "simulator/options/analytical-options.h"
#include "simulator/options/collective-perf-options.h"
#include "simulator/options/run-environment.h"
#include "simulator/options/run-options.h"
#include "simulator/options/simccl-options.h"
#include "simulator/programs/program-runs.h"
#include "simulator/records/collectives-writer.h"

#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/layer-table.h"
#include "ns3/links-writer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace
{

const std::filesystem::path FOLDER = std::filesystem::path(SOURCE_DIR) / "docs/source/reference";

/// Compare a file of the documentation with its text, or write it.
void
ExpectFile(const std::string& name, const std::string& expected)
{
    if (std::getenv("UPDATE_DOCUMENTATION"))
    {
        std::ofstream(FOLDER / name) << expected;
    }
    std::ifstream file(FOLDER / name);
    const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_EQ(page, expected) << name << ": run test-documentation with UPDATE_DOCUMENTATION=1";
}

std::string
Literal(const std::string& text)
{
    return text.empty() ? "" : "``" + text + "``";
}

std::string
Listed(const std::vector<std::string>& attributes)
{
    std::string text;
    for (const std::string& attribute : attributes)
    {
        text += (text.empty() ? "" : ", ") + Literal(attribute);
    }
    return text;
}

/// @return the table of all keys in reStructuredText
std::string
RenderPage()
{
    std::ostringstream page;
    page << ".. Made from the parser's own table: see test/documentation.\n\n"
         << ".. list-table::\n   :header-rows: 1\n   :widths: 20 12 22 10 22 14\n\n"
         << "   * - key\n     - type\n     - legal values\n     - default\n     - meaning\n"
         << "     - attributes\n";
    for (const ns3::FabricConfKey& key : ns3::FabricConfKeys())
    {
        page << "   * - " << Literal(key.name) << "\n     - " << key.type << "\n     - "
             << key.range << "\n     - " << Literal(key.defaultValue) << "\n     - "
             << key.description << (key.hasEffect ? "" : " *Accepted, no effect.*") << "\n     - "
             << Listed(key.attributes) << "\n";
    }
    std::string text = page.str();
    for (std::size_t blank = 0; (blank = text.find(" \n", blank)) != std::string::npos;)
    {
        text.erase(blank, 1);
    }
    return text;
}

TEST(ConfigurationPage, ListsExactlyTheKeysOfTheParser)
{
    ExpectFile("configuration-keys.rst", RenderPage());
}

TEST(TablesOfKeys, ListExactlyTheRowsOfTheReaders)
{
    ExpectFile("keys/environment.csv", AstraSim::RunEnvironment::Describe());
    ExpectFile("keys/inference.csv", AstraSim::DescribeServingKeys());
    ExpectFile("../../../python/clustersim/workload/inference/policies.csv",
               AstraSim::DescribeServingPolicies());
    ExpectFile("keys/kv-cache.csv", AstraSim::DescribeKvCacheKeys());
    ExpectFile("keys/network-kinds.csv", AstraSim::NetworkTable::DescribeKeys());
    ExpectFile("keys/remote-memory.csv", AstraSim::DescribeRemoteMemoryKeys());
    ExpectFile("keys/simai-text.csv", AstraSim::DescribeLayerTableKeys());
    ExpectFile("keys/system.csv", AstraSim::DescribeSystemKeys());
}

TEST(PageOfPrograms, HasTheHelpOfEachProgram)
{
    using namespace AstraSim;
    const std::vector<std::string> question{"--help"};
    const auto unset = [](const std::string&) -> std::optional<std::string> { return {}; };
    ExpectFile("keys/help-SimAI_simulator.txt", RunOptions::Parse(question, unset).answer);
    ExpectFile("keys/help-SimAI_analytical.txt", AnalyticalOptions::Parse(question, unset).answer);
    ExpectFile("keys/help-collective-perf.txt",
               CollectivePerfOptions::Parse("collective-perf", question, unset).run.answer);
    ExpectFile("keys/help-SimCCL.txt", SimCclOptions::Parse(question).answer);
    ExpectFile("keys/help-qbb-flows.txt", FlowsOptions::Parse(question).answer);
}

TEST(TablesOfColumns, ListExactlyTheColumnsOfTheWriters)
{
    const std::string folder = "../../../python/clustersim/results/reading/";
    ExpectFile(folder + "links-columns.csv", ns3::DescribeLinkColumns());
    ExpectFile(folder + "collectives-columns.csv", AstraSim::DescribeCollectiveColumns());
    ExpectFile(folder + "requests-columns.csv", AstraSim::DescribeRequestColumns());
    ExpectFile("columns/instances.csv", AstraSim::DescribeInstanceColumns());
    ExpectFile("columns/caches.csv", AstraSim::DescribeCacheColumns());
    ExpectFile("columns/classes.csv", AstraSim::DescribeClassColumns());
    ExpectFile("columns/scaling.csv", AstraSim::DescribeScalingColumns());
    ExpectFile("columns/passes.csv", AstraSim::DescribePassColumns());
    ExpectFile("columns/pauses.csv", ns3::DescribePauseColumns());
    ExpectFile("columns/reordering.csv", ns3::ReorderingRecords::DescribeColumns());
    ExpectFile("columns/transfers.csv", AstraSim::DescribeTransferColumns());
}

TEST(ShippedConfigurations, AreReadWithoutAWarning)
{
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(SOURCE_DIR "/conf"))
    {
        if (entry.path().extension() == ".conf")
        {
            ns3::FabricConf conf = ns3::FabricConf::Read(entry.path().string());
            conf.Check();
            EXPECT_TRUE(conf.warnings.empty()) << entry.path() << ": " << conf.warnings.front();
            ++files;
        }
    }
    EXPECT_GE(files, 8);
}

} // namespace
