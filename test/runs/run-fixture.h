/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_FIXTURE_H
#define RUN_FIXTURE_H

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace AstraSim
{

/// A directory of inputs, and whole runs of the programs in it, in this process.
class RunTest : public testing::Test
{
  public:
    using Words = std::vector<std::string>;
    using Row = std::map<std::string, std::string>;

    /// Results of a program for its caller.
    struct Outcome
    {
        int status{0};
        std::string out;
        std::string err;
    };

  protected:
    RunTest();
    ~RunTest() override;

    /// Programs of those names, with their arguments. Inputs and results are named from the
    /// directory.
    Outcome Simulator(const Words& words);
    Outcome Flows(const Words& words);
    Outcome Analytical(const Words& words);
    Outcome SimCcl(const Words& words);
    Outcome Perf(const std::string& program, const Words& words);

    /// Such a run that is expected to finish, or to be refused in one line that says @p what.
    void ExpectFinished(const Outcome& outcome);
    void ExpectRefused(const Outcome& outcome, const std::string& what);

    /// Set an environment variable of the runs that follow.
    void SetVariable(const std::string& name, const std::string& value);

    void Write(const std::string& name, const std::string& text) const;
    std::string Read(const std::string& name) const;
    bool Exists(const std::string& name) const;
    nlohmann::json Record(const std::string& directory) const;
    std::vector<Row> Rows(const std::string& name) const;

    /// @return results of a run, by name, without run.json
    std::map<std::string, std::string> Results(const std::string& directory) const;

    /// @return @p hosts around a switch: 100 Gb/s, 1 us
    static std::string Star(uint32_t hosts);
    /// @return servers of two GPUs with an NVSwitch (0-3, 4 and 5), one switch (6) between them
    static std::string TwoServers();
    /// @return a SimAI workload of one layer: forward and weight gradient collectives, bytes of
    /// each
    static std::string Layer(uint32_t gpus,
                             uint32_t tp,
                             const std::string& forward,
                             uint64_t forwardBytes,
                             const std::string& gradient,
                             uint64_t gradientBytes);

  private:
    Outcome Run(const std::function<int()>& program);

    std::filesystem::path m_directory;
    std::filesystem::path m_before;
    std::map<std::string, std::string> m_variables;
};

} // namespace AstraSim

#endif /* RUN_FIXTURE_H */
