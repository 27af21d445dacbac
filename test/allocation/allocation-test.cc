/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Counts heap allocations: a packet must not cost any, whatever it meets on its way, nor a message
 * of a connection that is there.
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "astra-frontend/model/packet/astra-sim-network.h"
#include "programs/frame/ns3-flags.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <string>

namespace
{

uint64_t g_allocations = 0; // operator new has no other place to count in

} // namespace

// Not inlined: GCC 12 would see malloc() behind new and free() behind delete and call it a
// mismatch.
[[gnu::noinline]] void*
operator new(std::size_t size)
{
    ++g_allocations;
    if (void* memory = std::malloc(size))
    {
        return memory;
    }
    throw std::bad_alloc();
}

[[gnu::noinline]] void
operator delete(void* memory) noexcept
{
    std::free(memory);
}

[[gnu::noinline]] void
operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}

namespace ns3
{

namespace
{

/// Five hosts around a switch.
class Star : public BuiltFabric
{
  public:
    explicit Star(const std::string& conf)
        : BuiltFabric(Text(), conf)
    {
    }

  private:
    /// @return the topology, after what comes before a fabric
    static std::string Text()
    {
        UsePicoseconds();
        UseFastSimulator();
        return TextFabric::Star(5, "100Gbps", "1us");
    }
};

/// Allocations and frames of an incast of four senders with @p bytes each.
struct Cost
{
    uint64_t allocations;
    uint64_t packetHops;
};

Cost
RunIncast(uint64_t bytes, const std::string& conf)
{
    const Star star(conf);
    const Ptr<RdmaFabric> fabric = star.fabric;
    for (uint32_t host = 1; host < 5; ++host)
    {
        RdmaQueuePair* qp = fabric->GetDriver(host)->Connect(0, {});
        fabric->GetHw(host).PostMessage(*qp, bytes, nullptr, nullptr);
    }
    const uint64_t before = g_allocations;
    Simulator::Run();
    return {g_allocations - before, fabric->GetTotals().packetHops};
}

/// Messages between two ranks, each sent by who has received the one before.
class PingPong
{
  public:
    PingPong(AstraSim::AstraSimFabric& network, uint64_t rateCapBps)
        : m_network(network)
    {
        m_request.rateCapBps = rateCapBps;
        m_request.sendLatency = 1'000'000;
    }

    /// @return allocations of @p messages of 2,000 bytes
    uint64_t Run(uint64_t messages)
    {
        m_left = messages;
        const uint64_t before = g_allocations;
        Send();
        Simulator::Run();
        EXPECT_EQ(m_left, 0U);
        return g_allocations - before;
    }

  private:
    void Send()
    {
        const int sender = static_cast<int>(m_left % 2);
        m_network.GetNetwork(1 - sender)
            .Receive({sender,
                      7,
                      2000,
                      nullptr,
                      [](void* self) { static_cast<PingPong*>(self)->OnReceived(); },
                      this});
        m_network.GetNetwork(sender).Send({1 - sender, 7, 2000, &m_request, [](void*) {}, this});
    }

    void OnReceived()
    {
        if (--m_left > 0)
        {
            Send();
        }
    }

    AstraSim::AstraSimFabric& m_network;
    AstraSim::MessageInfo m_request;
    uint64_t m_left{0};
};

} // namespace

TEST(Allocation, MessagesOfAConnectionCostNone)
{
    const Star star("CC_MODE 1\n");
    AstraSim::AstraSimFabric network(*star.fabric);
    PingPong pingPong(network, 50'000'000'000);
    pingPong.Run(10); // lets what is made once be made
    EXPECT_EQ(pingPong.Run(1000), 0U);
}

TEST(Allocation, PacketsCostNone)
{
    for (const std::string mode : {"0", "1", "3", "7", "8", "10"})
    {
        const std::string conf = "CC_MODE " + mode + "\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n";
        RunIncast(1'000'000, conf); // lets what is made once be made
        const Cost few = RunIncast(4'000'000, conf);
        const Cost many = RunIncast(12'000'000, conf);
        const uint64_t morePackets = many.packetHops - few.packetHops;
        ASSERT_GT(morePackets, 100'000U);
        // Pools may grow to a new high-water mark; nothing may grow with the packets.
        EXPECT_LT(many.allocations, few.allocations + morePackets / 1000) << "CC_MODE " << mode;
    }
}

} // namespace ns3
