/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Times whole packet-level runs: packet-hops per second of CPU time, events per packet-hop, peak
 * memory. Usage: bench-end-to-end -w WORKLOAD -n TOPOLOGY -c CONF [flags of SimAI_simulator]
 */
#include "programs/frame/huge-pages.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/run-record.h"
#include "simulator/options/run-options.h"
#include "simulator/programs/program-runs.h"

#include "ns3/input-error.h"
#include "ns3/nstime.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

int
main(int argc, char* argv[])
{
    try
    {
        ns3::Time::SetResolution(ns3::Time::PS);
        ns3::UseHugePages();
        ns3::UseFastSimulator();
        auto options =
            AstraSim::RunOptions::Parse({argv + 1, argv + argc}, [](const std::string& name) {
                const char* value = std::getenv(name.c_str());
                return value ? std::optional<std::string>(value) : std::nullopt;
            });
        if (options.output.empty())
        {
            options.output = (std::filesystem::temp_directory_path() / "bench-end-to-end").string();
        }
        options.quiet = true;
        options.progress = AstraSim::ProgressMode::Never;
        const std::clock_t begin = std::clock();
        const int status = AstraSim::RunSimulation(options);
        const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        const auto run = nlohmann::json::parse(std::ifstream(options.output + "/run.json"));
        const double hops = run["packet_hops"];
        const double events = run["events"];
        const double simulating = run["simulation_wall_s"];
        fmt::print("packet-hops           {:.0f}\n"
                   "events                {:.0f}\n"
                   "events per packet-hop {:.3f}\n"
                   "flows                 {}\n"
                   "CPU seconds           {:.3f} (set-up included)\n"
                   "packet-hops per CPU s {:.2f} million\n"
                   "packet-hops per s     {:.2f} million (wall time, from first event to last)\n"
                   "peak memory           {} MB\n",
                   hops,
                   events,
                   events / hops,
                   run["flows"].dump(),
                   cpu,
                   hops / cpu / 1e6,
                   hops / simulating / 1e6,
                   AstraSim::PeakMemoryBytes() >> 20);
        return status;
    }
    catch (const ns3::InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
