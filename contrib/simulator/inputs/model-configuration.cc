/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "model-configuration.h"

#include "loaded-code.h"
#include "programs/frame/run-record.h"

#include "ns3/attribute-default.h"

#include <fmt/format.h>

namespace AstraSim
{

std::string
DescribeModels(const RunOptions& options, const RunInputs& inputs)
{
    std::string text = ProgramVersion() + "\n" + DescribeLoadedCode();
    text += fmt::format("network {}\n", ToString(options.network));
    text += options.threads ? "divided\n" : ""; // into how many parts makes no difference
    for (const std::string& flag : options.modelFlags)
    {
        text += "--" + flag + "\n";
    }
    for (const auto& [name, value] : options.environment)
    {
        text += name + "=" + value + "\n";
    }
    for (const std::string& file : {*inputs.conf.topologyFile,
                                    options.conf,
                                    options.nccl.gpuTable,
                                    options.nccl.networkTable,
                                    options.nccl.figuresFile,
                                    options.nccl.GetTunerFile()})
    {
        text += (file.empty() ? "none" : FileSha256(file)) + "\n";
    }
    return text + ns3::DescribeDefaults();
}

Sha256::Value
DigestOfModels(const RunOptions& options, const RunInputs& inputs)
{
    Sha256 sum;
    sum.Add(DescribeModels(options, inputs));
    return sum.Finish();
}

} // namespace AstraSim
