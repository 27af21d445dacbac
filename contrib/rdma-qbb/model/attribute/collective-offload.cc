/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-offload.h"

#include "ns3/string.h"

#include <algorithm>
#include <sstream>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CollectiveOffload);

TypeId
CollectiveOffload::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CollectiveOffload")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<CollectiveOffload>()
            .AddAttribute("Engine",
                          "Who carries out collectives: NCCL (on the GPUs), or ACCL (engines in "
                          "the NICs) and classes of traffic, all if none",
                          StringValue("NCCL"),
                          MakeStringAccessor(&CollectiveOffload::m_engine),
                          MakeStringChecker());
    return tid;
}

std::optional<std::vector<std::string>>
CollectiveOffload::Parse(std::string_view text)
{
    static const std::vector<std::string> CLASSES =
        {"TP", "DP", "EP", "DP_EP", "PP", "CP", "CUSTOM"};
    std::istringstream words{std::string(text)};
    std::string engine;
    words >> engine;
    std::vector<std::string> classes;
    for (std::string word; words >> word;)
    {
        const bool isKnown = std::find(CLASSES.begin(), CLASSES.end(), word) != CLASSES.end();
        if (!isKnown || std::find(classes.begin(), classes.end(), word) != classes.end())
        {
            return std::nullopt;
        }
        classes.push_back(word);
    }
    if (engine == "NCCL" && classes.empty())
    {
        return classes;
    }
    if (engine != "ACCL")
    {
        return std::nullopt;
    }
    return classes.empty() ? CLASSES : classes;
}

} // namespace ns3
