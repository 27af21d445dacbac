/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-offload.h"

#include "ns3/string.h"

#include <algorithm>
#include <cctype>
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
                          "NCCL, which carries out collectives on the GPUs, or the name of an "
                          "engine and classes of traffic, all if none",
                          StringValue("NCCL"),
                          MakeStringAccessor(&CollectiveOffload::m_engine),
                          MakeStringChecker());
    return tid;
}

std::optional<CollectiveOffload::Choice>
CollectiveOffload::Parse(std::string_view text)
{
    static const std::vector<std::string> CLASSES =
        {"TP", "DP", "EP", "DP_EP", "PP", "CP", "CUSTOM"};
    std::istringstream words{std::string(text)};
    Choice choice;
    words >> choice.engine;
    for (std::string word; words >> word;)
    {
        const bool isKnown = std::ranges::find(CLASSES, word) != CLASSES.end();
        if (!isKnown || std::ranges::find(choice.classes, word) != choice.classes.end())
        {
            return std::nullopt;
        }
        choice.classes.push_back(word);
    }
    if (choice.engine == "NCCL")
    {
        return choice.classes.empty() ? std::optional(Choice{}) : std::nullopt;
    }
    if (choice.engine.empty() || !std::ranges::all_of(choice.engine, [](unsigned char letter) {
            return std::isupper(letter);
        }))
    {
        return std::nullopt;
    }
    if (choice.classes.empty())
    {
        choice.classes = CLASSES;
    }
    return choice;
}

} // namespace ns3
