/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_FIXTURE_H
#define SERVING_FIXTURE_H

#include "../system/job-fixture.h"
#include "astra-frontend/model/inference/inference-workload.h"
#include "astra-frontend/model/inference/input/serving-config.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace AstraSim
{

/// @return the configuration in @p text, which the word INFERENCE precedes
inline ServingConfig
ReadServing(const std::string& text)
{
    std::istringstream stream("INFERENCE\n" + text);
    return ReadServingConfig(stream, "serve.txt");
}

/// Requests are served on a loopback network; keeps the tables of results.
class ServingRun : public Recorder
{
  public:
    explicit ServingRun(const std::string& text,
                        int ranks = 1,
                        TimePs latency = 0,
                        double bytesPerSecond = 0)
        : workload(ReadServing(text)),
          network(ranks, latency, bytesPerSecond),
          job({&workload,
               AllRanks(ranks),
               NativeConfig("ring"),
               {},
               nullptr,
               [this](int rank) -> RankNetwork& { return network.At(rank); },
               this})
    {
        job.Start();
        network.Run();
        EXPECT_TRUE(job.Finished());
        EXPECT_EQ(network.Unreceived(), 0);
    }

    void WorkloadResult(std::string_view table, std::string_view line) override
    {
        std::vector<std::string> cells;
        std::stringstream stream{std::string(line)};
        for (std::string cell; std::getline(stream, cell, ',');)
        {
            cells.push_back(cell);
        }
        tables[std::string(table)].push_back(std::move(cells));
    }

    /// @return a cell of a table, by the first cell of its row
    std::string Cell(const std::string& table, const std::string& row, const std::string& column)
    {
        const auto& rows = tables.at(table);
        const auto& header = rows.front();
        const auto place = std::find(header.begin(), header.end(), column) - header.begin();
        for (const auto& cells : rows)
        {
            if (cells.front() == row)
            {
                return cells.at(static_cast<std::size_t>(place));
            }
        }
        ADD_FAILURE() << table << " has no row " << row;
        return "0";
    }

    double Of(const std::string& table, const std::string& row, const std::string& column)
    {
        return std::stod(Cell(table, row, column));
    }

    /// @return a time of a request in microseconds
    double Request(int id, const std::string& column)
    {
        return Of("requests", std::to_string(id), column);
    }

    InferenceWorkload workload;
    std::map<std::string, std::vector<std::vector<std::string>>> tables;
    LoopbackNetwork network;
    Job job;
};

/// @return keys for requests that all come at a time: Poisson arrivals at so high a rate that what
/// lies between them is less than a picosecond
inline std::string
AtOnce(int requests, int prompt, int output)
{
    return "requests " + std::to_string(requests) + "\nrate 1e15\nprompt_tokens " +
           std::to_string(prompt) + "\noutput_tokens " + std::to_string(output) + "\n";
}

/// @return the key for a trace of requests at a time, prompt and output, and more columns
inline std::string
WriteTrace(const std::string& name, const std::string& columns, const std::string& lines)
{
    const std::string path = ::testing::TempDir() + name;
    std::ofstream(path) << "arrival_s,prompt_tokens,output_tokens," << columns << "\n" << lines;
    return "trace " + path + "\n";
}

} // namespace AstraSim

#endif /* SERVING_FIXTURE_H */
