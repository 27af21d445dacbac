/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FluidCheck and AnaCheck: silent about what holds, and each thing that does not hold is named.
 */
#include "astra-frontend/model/flow/fluid-check.h"
#include "astra-frontend/model/formula/ana-check.h"

#include "ns3/event-loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace AstraSim;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace
{

constexpr uint64_t RATE_BPS = 100'000'000'000;
constexpr double BYTES_PER_PS = 100e9 / 8e12;

/// Two links of 100 Gb/s, and what is said about them.
struct Links
{
    EventLoop loop;
    FluidTransfers transfers{loop};
    std::vector<std::string> said;

    Links()
    {
        transfers.AddLink(RATE_BPS);
        transfers.AddLink(RATE_BPS);
    }

    FluidCheck::Report Report()
    {
        return [this](const std::string& what) { said.push_back(what); };
    }

    static std::string NameOf(uint32_t link)
    {
        return "link " + std::to_string(link);
    }

    FluidTransfer* Start(std::span<const MaxMinSolver::Use> uses,
                         double bytes,
                         double frameBytes = 0)
    {
        FluidTransfers::Request request;
        request.frameBytes = frameBytes;
        request.uses = uses;
        request.bytes = bytes;
        request.idleRate = BYTES_PER_PS;
        request.onReached = [](void*) {};
        request.onDrained = [](void*) {};
        return transfers.Start(request);
    }
};

constexpr MaxMinSolver::Use BOTH[] = {{0, 1}, {1, 1}};
constexpr MaxMinSolver::Use FIRST[] = {{0, 1}};
constexpr MaxMinSolver::Use SECOND[] = {{1, 1}};

} // namespace

TEST(FluidCheck, SaysNothingOfTransfersThatShareMoveAndWaitForACutLink)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    FluidTransfer* moving = links.Start(FIRST, 100'000);
    links.Start(BOTH, 50'000);
    links.Start(SECOND, 70'000);
    links.loop.Schedule(1'000'000, [&] { links.transfers.SetLinkRate(0, 0); });
    links.loop.Schedule(2'000'000,
                        [&] { links.transfers.Move(*moving, SECOND, MaxMinSolver::NO_CAP); });
    links.loop.Schedule(3'000'000, [&] { links.transfers.SetLinkRate(0, RATE_BPS); });
    links.loop.Run();
    check.Finish(true);
    EXPECT_THAT(links.said, IsEmpty());
    // 1 us at half of the rate on the first link, the rest on the second: 220,000 bytes in all,
    // and what crossed both counts twice.
    EXPECT_NEAR(links.transfers.GetCarried(0) + links.transfers.GetCarried(1), 270'000, 1);
}

TEST(FluidCheck, SaysNothingOfATransferThatWaitsForeverOnACutLink)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    links.transfers.SetLinkRate(1, 0);
    links.Start(BOTH, 1000);
    links.loop.Run();
    check.Finish(true);
    EXPECT_THAT(links.said, IsEmpty());
}

TEST(FluidCheck, NamesALinkThatHasNotCarriedItsTransfers)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    links.Start(BOTH, 1000);
    const FluidTransfer phantom;
    check.Started(phantom, SECOND, 500);
    links.loop.Run();
    check.Ended(phantom);
    links.said.clear();
    check.Finish(true);
    EXPECT_THAT(
        links.said,
        ElementsAre(HasSubstr("link 1 has carried 1000 bytes, and its transfers have 1500")));
}

TEST(FluidCheck, NamesWhatMovesOrEndsWithoutABeginning)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    const FluidTransfer phantom;
    check.Ended(phantom);
    check.Moved(phantom, FIRST, 10);
    check.Started(phantom, FIRST, 10);
    check.Started(phantom, FIRST, 10);
    EXPECT_THAT(links.said,
                ElementsAre(HasSubstr("ends that has not begun"),
                            HasSubstr("not under way"),
                            HasSubstr("begins before it has ended")));
}

TEST(FluidCheck, SaysNothingOfTurnsAtALinkThatSlowerOnesFollow)
{
    // The second comes while the first is under way, and is through before, with and after it.
    for (double bytes = 500; bytes < 12'000; bytes += 499)
    {
        for (const TimePs start : {1, 30'000, 170'000, 500'000})
        {
            Links links;
            const uint32_t nic = links.transfers.AddLink(2 * RATE_BPS);
            const MaxMinSolver::Use paths[2][2] = {{{nic, 1}, {0, 1}}, {{nic, 1}, {1, 1}}};
            FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
            links.Start(paths[0], 9'778, 1'000);
            links.loop.Schedule(start, [&] { links.Start(paths[1], bytes, 1'000); });
            links.loop.Run();
            check.Finish(true);
            EXPECT_THAT(links.said, IsEmpty()) << bytes << " bytes from " << start << " ps on";
        }
    }
}

TEST(FluidCheck, NamesATransferThatIsFasterThanAlone)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    FluidTransfer quick;
    check.Started(quick, FIRST, 12'500); // 1 us
    links.loop.Schedule(900'000, [&] { check.Ended(quick); });
    links.loop.Run();
    ASSERT_THAT(links.said, testing::SizeIs(1));
    EXPECT_THAT(links.said.front(),
                HasSubstr("at 900000 ps: a transfer of 12500 bytes over link 0 takes 900000 ps; "
                          "alone it would take 1000000"));
}

TEST(FluidCheck, NamesRatesAboveACapacityOrALimitAndThoseThatNothingHoldsBack)
{
    Links links;
    FluidCheck check(links.loop, links.transfers, links.Report(), &Links::NameOf);
    FluidTransfer* transfer = links.Start(FIRST, 1e6);
    links.loop.Schedule(1000, [&] {
        const double fair = transfer->bundle->rate;
        transfer->bundle->rate = 1.5 * fair;
        check.RatesChanged();
        transfer->bundle->rate = 0.5 * fair;
        check.RatesChanged();
        transfer->bundle->cap = 0.25 * fair;
        check.RatesChanged();
        transfer->bundle->cap = MaxMinSolver::NO_CAP;
        transfer->bundle->rate = fair;
    });
    links.loop.Run();
    EXPECT_THAT(links.said,
                ElementsAre(HasSubstr("link 0 carries 1.5e+11 of 1e+11 bit/s"),
                            HasSubstr("none of its links is full"),
                            HasSubstr("has 5e+10 bit/s and a limit of 2.5e+10")));
}

TEST(AnaCheck, SaysNothingOfMessagesThatTakeTurns)
{
    std::vector<std::string> said;
    AnaCheck check(2, [&](const std::string& what) { said.push_back(what); });
    const MessagePath path{0, 1, 100, 50, 120, 120, 10};
    check.Placed(0, path, {100, 120, 120});
    check.Placed(0, path, {200, 220, 220});
    check.Arrived(120);
    check.Arrived(220);
    check.Finish(230, true);
    EXPECT_THAT(said, IsEmpty());
}

TEST(AnaCheck, NamesWhatIsTooSoonTooMuchOrMissing)
{
    std::vector<std::string> said;
    AnaCheck check(2, [&](const std::string& what) { said.push_back(what); });
    const MessagePath path{0, 1, 100, 50, 120, 120, 10};
    check.Placed(0, path, {100, 120, 119});
    check.Placed(0, path, {99, 120, 120});
    check.Arrived(120);
    check.Finish(130, true);
    EXPECT_THAT(said,
                ElementsAre(HasSubstr("a message arrives at 119 ps; it cannot before 120 ps"),
                            HasSubstr("egress port 0 is through at 99 ps with a message that takes "
                                      "it 100 ps"),
                            HasSubstr("port 0 has served messages for 200 ps, the last until 100"),
                            HasSubstr("1 messages are on their way")));
    said.clear();
    check.Arrived(140);
    check.Arrived(150);
    EXPECT_THAT(said, ElementsAre(HasSubstr("at 150 ps: a message arrives that has not left")));
}
