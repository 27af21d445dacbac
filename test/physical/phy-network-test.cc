/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "programs/frame/ended-process.h"
#include "simulator/physical/phy-network.h"
#include "simulator/physical/rank-failure.h"
#include "simulator/physical/rank-watch.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <gmock/gmock.h>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace AstraSim
{

namespace
{

/// Ranks in this process, joined by a real fabric.
class Ranks
{
  public:
    Ranks(const std::string& provider, uint32_t count, bool verify)
    {
        std::vector<std::string> addresses;
        for (uint32_t rank = 0; rank < count; ++rank)
        {
            endpoints.push_back(FabricEndpoint::Open(FabricChoice::Make(provider, {}, rank, true)));
            addresses.push_back(endpoints.back()->GetAddress());
        }
        for (uint32_t rank = 0; rank < count; ++rank)
        {
            endpoints[rank]->Connect(addresses);
            networks.push_back(std::make_unique<PhyNetwork>(static_cast<int>(rank),
                                                            static_cast<int>(count),
                                                            loop,
                                                            *endpoints[rank],
                                                            verify));
        }
    }

    void RunUntil(const std::function<bool()>& done)
    {
        const int64_t end = PhysicalLoop::MonotonicNs() + 60'000'000'000;
        while (!done())
        {
            ASSERT_LT(PhysicalLoop::MonotonicNs(), end) << "messages do not arrive";
            for (const auto& network : networks)
            {
                network->Progress();
            }
        }
    }

    PhysicalLoop loop{ComputeMode::Sleep};
    std::vector<std::unique_ptr<PhyNetwork>> networks; ///< whose memory endpoints write to
    std::vector<std::unique_ptr<FabricEndpoint>> endpoints;
};

void
Count(void* counter)
{
    ++*static_cast<uint64_t*>(counter);
}

class PhyNetworkOver : public testing::TestWithParam<const char*>
{
};

} // namespace

TEST_P(PhyNetworkOver, MessagesArriveAlsoIfTheyAreSentBeforeTheyAreExpected)
{
    Ranks ranks(GetParam(), 2, true);
    uint64_t sent = 0;
    uint64_t received = 0;
    for (const uint64_t bytes : {0UL, 1UL, 63UL, 64UL, 4096UL, 100000UL, 3000000UL})
    {
        ranks.networks[0]->Send({1, 5, bytes, nullptr, &Count, &sent});
        for (int i = 0; i < 100; ++i)
        {
            ranks.networks[1]->Progress();
        }
        ranks.networks[1]->Receive({0, 5, bytes, nullptr, &Count, &received});
    }
    ranks.RunUntil([&] { return sent == 7 && received == 7; });
    EXPECT_EQ(ranks.networks[1]->GetBytesReceived(), 0U + 1 + 63 + 64 + 4096 + 100000 + 3000000);
    EXPECT_EQ(ranks.networks[0]->GetOpen() + ranks.networks[1]->GetOpen(), 0U);
}

TEST_P(PhyNetworkOver, DataArriveAsTheyAre)
{
    Ranks ranks(GetParam(), 2, true);
    std::vector<uint32_t> data(50000);
    std::iota(data.begin(), data.end(), 17U);
    std::vector<uint32_t> copy(data.size());
    uint64_t received = 0;
    const uint64_t bytes = data.size() * sizeof(uint32_t);
    ranks.networks[1]->Receive({0, 1, bytes, nullptr, &Count, &received, copy.data()});
    ranks.networks[0]->Send({1, 1, bytes, nullptr, nullptr, nullptr, data.data()});
    ranks.RunUntil([&] { return received == 1; });
    EXPECT_EQ(copy, data);
}

TEST_P(PhyNetworkOver, AMessageOfAnotherSizeIsRefused)
{
    Ranks ranks(GetParam(), 2, false);
    ranks.networks[1]->Receive({0, 1, 200});
    ranks.networks[0]->Send({1, 1, 100});
    EXPECT_THAT([&] { ranks.RunUntil([] { return false; }); },
                testing::ThrowsMessage<RankFailure>(
                    "rank 1 receives 200 bytes from rank 0, which sent 100"));
}

TEST_P(PhyNetworkOver, ALongerMessageThanExpectedIsRefused)
{
    Ranks ranks(GetParam(), 2, false);
    ranks.networks[1]->Receive({0, 1, 100});
    ranks.networks[0]->Send({1, 1, 150});
    EXPECT_THROW(ranks.RunUntil([] { return false; }), RankFailure);
}

TEST_P(PhyNetworkOver, ControlMessagesComeBesideTheOthers)
{
    Ranks ranks(GetParam(), 3, false);
    std::vector<std::string> heard;
    ranks.networks[2]->SetControlHandler([&](uint32_t src, const std::string& text) {
        heard.push_back(std::to_string(src) + " " + text);
    });
    ranks.networks[0]->SendControl(2, "one");
    ranks.networks[1]->SendControl(2, "two");
    ranks.RunUntil([&] { return heard.size() == 2; });
    EXPECT_THAT(heard, testing::UnorderedElementsAre("0 one", "1 two"));
}

/// Random sizes, tags and pairs; the receives of a rank are posted in an order of their own.
TEST_P(PhyNetworkOver, OfManyRandomMessagesNoneIsLostOrTakenForAnother)
{
    constexpr uint32_t RANKS = 4;
    constexpr int TAGS = 32;
#ifdef __SANITIZE_ADDRESS__
    constexpr uint64_t ROUNDS = 100;
#else
    constexpr uint64_t ROUNDS = 1000;
#endif
    constexpr uint64_t PER_ROUND = 1000;
    Ranks ranks(GetParam(), RANKS, true);
    std::mt19937_64 random(1);
    uint64_t sent = 0;
    uint64_t received = 0;

    struct Message
    {
        uint32_t src;
        uint32_t dst;
        int tag;
        uint64_t bytes;
    };

    uint64_t bytes = 0;
    for (uint64_t round = 1; round <= ROUNDS; ++round)
    {
        std::vector<Message> messages;
        for (uint64_t i = 0; i < PER_ROUND; ++i)
        {
            const auto src = static_cast<uint32_t>(random() % RANKS);
            const auto dst = static_cast<uint32_t>((src + 1 + random() % (RANKS - 1)) % RANKS);
            const uint64_t size = random() % (random() % 64 == 0 ? 40000 : 200);
            messages.push_back({src, dst, static_cast<int>(random() % TAGS), size});
            bytes += size;
        }
        // Those of one pair and tag keep their order; all else is mixed.
        std::vector<Message> receives = messages;
        std::stable_sort(receives.begin(), receives.end(), [](const auto& a, const auto& b) {
            return a.tag * 7 % TAGS < b.tag * 7 % TAGS;
        });
        for (std::size_t i = 0; i < messages.size(); ++i)
        {
            const Message& out = messages[i];
            ranks.networks[out.src]->Send(
                {static_cast<int>(out.dst), out.tag, out.bytes, nullptr, &Count, &sent});
            const Message& in = receives[i];
            ranks.networks[in.dst]->Receive(
                {static_cast<int>(in.src), in.tag, in.bytes, nullptr, &Count, &received});
        }
        ranks.RunUntil([&] { return sent == round * PER_ROUND && received == round * PER_ROUND; });
    }
    uint64_t arrived = 0;
    for (const auto& network : ranks.networks)
    {
        arrived += network->GetBytesReceived();
    }
    EXPECT_EQ(arrived, bytes);
}

TEST_P(PhyNetworkOver, OneRankSpeaksOfAMistakeThatAllFind)
{
    Ranks ranks(GetParam(), 2, false);
    uint64_t received = 0;
    for (int rank = 0; rank < 2; ++rank) // connects both ways
    {
        ranks.networks[1 - rank]->Receive({rank, 1, 64, nullptr, &Count, &received});
        ranks.networks[rank]->Send({1 - rank, 1, 64});
    }
    ranks.RunUntil([&] { return received == 2; });
    const std::vector<RankProcess> processes(2, RankProcess{"here", getpid()});
    RankWatch lower(*ranks.networks[0], processes, 60);
    RankWatch upper(*ranks.networks[1], processes, 60);
    const RankFailure mistake("wrong");
    EXPECT_TRUE(upper.TellAll(mistake)) << "it has waited, and heard of nobody";
    EXPECT_FALSE(lower.TellAll(mistake)) << "the other has spoken already";
}

/// Rank 0's message about a rank 1 that is not there. @param isOpen whether its address still
/// exists
std::string
SayOfAbsentRank(bool isOpen)
{
    PhysicalLoop loop{ComputeMode::Sleep};
    std::unique_ptr<PhyNetwork> network; // whose memory the endpoint writes to
    const auto here = FabricEndpoint::Open(FabricChoice::Make("tcp", {}, 0, true));
    auto there = FabricEndpoint::Open(FabricChoice::Make("tcp", {}, 1, true));
    here->Connect({here->GetAddress(), there->GetAddress()});
    if (!isOpen)
    {
        there.reset();
    }
    network = std::make_unique<PhyNetwork>(0, 2, loop, *here, false);
    RankWatch watch(*network, {{"here", getpid()}, {"there", getpid()}}, 60);
    const int64_t begin = PhysicalLoop::MonotonicNs();
    std::string said;
    try
    {
        said = watch.Greet(2);
    }
    catch (const RankFailure& failure)
    {
        said = failure.what();
    }
    EXPECT_LT(PhysicalLoop::MonotonicNs() - begin, 10'000'000'000);
    network->Abandon();
    return said;
}

TEST(RankWatch, AHostThatDoesNotAnswerIsNamed)
{
    EXPECT_EQ(SayOfAbsentRank(true), "rank 1 (host there) does not reach it: no message in 2 s");
}

TEST(RankWatch, AHostThatRefusesConnectionsIsNamed)
{
    EXPECT_THAT(SayOfAbsentRank(false), testing::HasSubstr("rank 1"));
}

// A peer sees a connection break while the process at its other end still closes its files.
TEST(RankWatch, AProcessHasEndedAsSoonAsItsConnectionsBreak)
{
    constexpr int MANY = 500; // files, so that closing those after the connection takes a while
    for (int attempt = 0; attempt < 50; ++attempt)
    {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0)
        {
            close(ends[0]);
            for (int file = 0; file < MANY; ++file)
            {
                socket(AF_INET, SOCK_STREAM, 0);
            }
            raise(SIGKILL);
        }
        close(ends[1]);
        char nothing = 0;
        EXPECT_EQ(read(ends[0], &nothing, 1), 0);
        EXPECT_TRUE(HasProcessEnded(child));
        close(ends[0]);
        waitpid(child, nullptr, 0);
    }
    EXPECT_FALSE(HasProcessEnded(getpid()));
}

INSTANTIATE_TEST_SUITE_P(Providers, PhyNetworkOver, testing::Values("shm", "tcp"));

TEST(FabricEndpoint, NamesTheProvidersThereAreIfOneIsNot)
{
    EXPECT_THAT(
        [] { FabricEndpoint::Open(FabricChoice::Make("psm9", {}, 0, true)); },
        testing::ThrowsMessage<RankFailure>(testing::AllOf(testing::HasSubstr("no provider psm9"),
                                                           testing::HasSubstr("tcp;ofi_rxm"))));
}

TEST(FabricEndpoint, NamesTheDevicesThereAreIfOneIsNot)
{
    EXPECT_THAT(
        [] { FabricEndpoint::Open(FabricChoice::Make("tcp", {"eth77"}, 0, true)); },
        testing::ThrowsMessage<RankFailure>(
            testing::AllOf(testing::HasSubstr("no device eth77"), testing::HasSubstr("lo"))));
}

TEST(FabricChoice, ARankTakesTheDeviceOfItsRail)
{
    EXPECT_EQ(FabricChoice::Make("verbs", {"a", "b"}, 3, false).device, "b");
    EXPECT_EQ(FabricChoice::Make("verbs", {"a", "b"}, 4, false).device, "a");
    EXPECT_EQ(FabricChoice::Make("tcp", {}, 4, false).provider, "tcp;ofi_rxm");
    EXPECT_THROW(FabricChoice::Make("shm", {}, 0, false), RankFailure);
}

TEST(RegisteredBuffers, MemoryIsRegisteredOnceAndUsedAgain)
{
    uint64_t registrations = 0;
    RegisteredBuffers buffers(
        [&](void*, std::size_t) -> void* {
            ++registrations;
            return nullptr;
        },
        64);
    for (int i = 0; i < 1000; ++i)
    {
        const auto first = buffers.Take(5000);
        const auto second = buffers.Take(8192);
        EXPECT_EQ(first.sizeClass, second.sizeClass);
        EXPECT_NE(first.data, second.data);
        buffers.GiveBack(first);
        buffers.GiveBack(second);
    }
    EXPECT_EQ(registrations, 1U);
}

TEST(RegisteredBuffers, SayWhatIsMissingIfThereIsNoMemory)
{
    RegisteredBuffers buffers([](void*, std::size_t) -> void* { return nullptr; }, 64);
    EXPECT_THAT([&] { buffers.Take(uint64_t{1} << 45); },
                testing::ThrowsMessage<RankFailure>(testing::HasSubstr("no memory for messages")));
}

} // namespace AstraSim
