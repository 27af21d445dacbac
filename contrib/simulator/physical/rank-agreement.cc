/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-agreement.h"

#include "programs/frame/guarded-main.h"
#include "rank-failure.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace AstraSim
{

namespace
{

using Json = nlohmann::json;

std::string
Write(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// @return a failure, as JSON; empty if there is none
std::string
Describe(const std::exception_ptr& failure)
{
    const auto report = [](const std::string& text, int status) {
        return Write({{"host", HostName()}, {"text", text}, {"status", status}});
    };
    if (!failure)
    {
        return "";
    }
    try
    {
        std::rethrow_exception(failure);
    }
    catch (const Refusal& refusal) // of all ranks
    {
        return report(refusal.what(), refusal.GetExitStatus());
    }
    catch (const ns3::InputError& error)
    {
        return report(error.what(), 2);
    }
    catch (const RankFailure& failure)
    {
        return report(failure.what(), failure.GetExitStatus());
    }
    catch (const std::bad_alloc&)
    {
        return report(DescribeOutOfMemory(), 1);
    }
}

} // namespace

std::string
HostName()
{
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

void
Agree(const RankCommunicator& ranks, const std::exception_ptr& failure)
{
    const auto reports = ranks.GatherAll(Describe(failure));
    const auto first =
        std::ranges::find_if(reports, [](const auto& text) { return !text.empty(); });
    if (first == reports.end())
    {
        return;
    }
    const Json report = Json::parse(*first);
    const std::string text = report["text"];
    const bool isOfAll = std::ranges::all_of(reports, [&text](const auto& other) {
        return !other.empty() && Json::parse(other)["text"] == text;
    });
    throw Refusal(isOfAll ? text
                          : fmt::format("rank {} (host {}): {}",
                                        first - reports.begin(),
                                        report["host"].get<std::string>(),
                                        text),
                  report["status"]);
}

void
CompareFacts(const RankCommunicator& ranks,
             const std::vector<std::pair<std::string, std::string>>& facts)
{
    const auto all = ranks.GatherAll(Write({{"host", HostName()}, {"facts", facts}}));
    const Json first = Json::parse(all.front());
    for (std::size_t rank = 1; rank < all.size(); ++rank)
    {
        const Json other = Json::parse(all[rank]);
        const std::size_t count = std::min(first["facts"].size(), other["facts"].size());
        for (std::size_t i = 0; i < count; ++i)
        {
            const Json& mine = first["facts"][i];
            const Json& its = other["facts"][i];
            if (mine != its)
            {
                throw Refusal(fmt::format("rank {} (host {}): {} is {}; expected {}, as on rank 0",
                                          rank,
                                          other["host"].get<std::string>(),
                                          mine[0].get<std::string>(),
                                          its[1].get<std::string>(),
                                          mine[1].get<std::string>()),
                              2);
            }
        }
    }
}

} // namespace AstraSim
