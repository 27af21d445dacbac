/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-fixture.h"

#include "../support/csv-rows.h"
#include "programs/flows/flows-options.h"
#include "programs/flows/flows-run.h"
#include "programs/frame/ns3-flags.h"
#include "simulator/options/analytical-options.h"
#include "simulator/options/collective-perf-options.h"
#include "simulator/options/run-options.h"
#include "simulator/options/simccl-options.h"
#include "simulator/programs/program-runs.h"

#include "ns3/config.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

namespace AstraSim
{

RunTest::RunTest()
    : m_before(std::filesystem::current_path())
{
    std::string pattern = (std::filesystem::temp_directory_path() / "run-XXXXXX").string();
    m_directory = mkdtemp(pattern.data());
    std::filesystem::current_path(m_directory);
}

RunTest::~RunTest()
{
    std::filesystem::current_path(m_before);
    std::filesystem::remove_all(m_directory);
}

RunTest::Outcome
RunTest::Run(const std::function<int()>& program)
{
    // Set-up of a program before it reads its command line; a process has one command line.
    ns3::Config::Reset();
    if (ns3::Time::GetResolution() != ns3::Time::PS)
    {
        ns3::Time::SetResolution(ns3::Time::PS);
    }
    ns3::UseFastSimulator();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    std::string refusal;
    try
    {
        outcome.status = program();
    }
    catch (const ns3::InputError& error)
    {
        outcome.status = 2;
        refusal = std::string(error.what()) + "\n";
    }
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr() + refusal;
    return outcome;
}

RunTest::Outcome
RunTest::Simulator(const Words& words)
{
    return Run([&] {
        const auto options = RunOptions::Parse(words, [this](const std::string& name) {
            const auto found = m_variables.find(name);
            return found == m_variables.end() ? std::nullopt : std::optional(found->second);
        });
        return options.separatePasses ? RunIterations(options) : RunSimulation(options);
    });
}

RunTest::Outcome
RunTest::Flows(const Words& words)
{
    return Run([&] { return RunFlows(FlowsOptions::Parse(words)); });
}

RunTest::Outcome
RunTest::Analytical(const Words& words)
{
    return Run([&] {
        return RunAnalytical(AnalyticalOptions::Parse(words, [this](const std::string& name) {
            const auto found = m_variables.find(name);
            return found == m_variables.end() ? std::nullopt : std::optional(found->second);
        }));
    });
}

RunTest::Outcome
RunTest::SimCcl(const Words& words)
{
    return Run([&] { return RunSimCcl(SimCclOptions::Parse(words)); });
}

RunTest::Outcome
RunTest::Perf(const std::string& program, const Words& words)
{
    return Run([&] {
        return RunCollectivePerf(
            CollectivePerfOptions::Parse(program, words, [](const std::string&) {
                return std::optional<std::string>();
            }));
    });
}

void
RunTest::ExpectFinished(const Outcome& outcome)
{
    EXPECT_EQ(outcome.status, 0) << outcome.err;
}

void
RunTest::ExpectRefused(const Outcome& outcome, const std::string& what)
{
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(what));
    EXPECT_THAT(outcome.err, testing::HasSubstr("; expected "));
}

void
RunTest::SetVariable(const std::string& name, const std::string& value)
{
    m_variables[name] = value;
}

void
RunTest::Write(const std::string& name, const std::string& text) const
{
    std::ofstream(m_directory / name) << text;
}

std::string
RunTest::Read(const std::string& name) const
{
    std::ostringstream text;
    text << std::ifstream(m_directory / name).rdbuf();
    return text.str();
}

bool
RunTest::Exists(const std::string& name) const
{
    return std::filesystem::exists(m_directory / name);
}

nlohmann::json
RunTest::Record(const std::string& directory) const
{
    return nlohmann::json::parse(Read(directory + "/run.json"));
}

std::vector<RunTest::Row>
RunTest::Rows(const std::string& name) const
{
    return CsvRows(Read(name));
}

std::map<std::string, std::string>
RunTest::Results(const std::string& directory) const
{
    std::map<std::string, std::string> results;
    for (const auto& entry : std::filesystem::directory_iterator(m_directory / directory))
    {
        const std::string name = entry.path().filename();
        if (name != "run.json")
        {
            results[name] = Read(directory + "/" + name);
        }
    }
    return results;
}

std::string
RunTest::Star(uint32_t hosts)
{
    std::ostringstream text;
    text << hosts + 1 << " 1 " << hosts << "\n" << hosts << "\n";
    for (uint32_t host = 0; host < hosts; ++host)
    {
        text << hosts << " " << host << " 100Gbps 1us 0\n";
    }
    return text.str();
}

std::string
RunTest::TwoServers()
{
    return "7 2 2 1 8 H100\n4 5 6\n"
           "0 4 800Gbps 0.000025ms 0\n0 6 100Gbps 0.0005ms 0\n"
           "1 4 800Gbps 0.000025ms 0\n1 6 100Gbps 0.0005ms 0\n"
           "2 5 800Gbps 0.000025ms 0\n2 6 100Gbps 0.0005ms 0\n"
           "3 5 800Gbps 0.000025ms 0\n3 6 100Gbps 0.0005ms 0\n";
}

std::string
RunTest::Layer(uint32_t gpus,
               uint32_t tp,
               const std::string& forward,
               uint64_t forwardBytes,
               const std::string& gradient,
               uint64_t gradientBytes)
{
    std::ostringstream text;
    text << "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: " << tp
         << " ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: " << gpus
         << " checkpoints: 0 checkpoint_initiates: 0\n1\nlayer\t-1\t1000\t" << forward << "\t"
         << forwardBytes << "\t1\tNONE\t0\t1\t" << gradient << "\t" << gradientBytes << "\t1\n";
    return text.str();
}

} // namespace AstraSim
