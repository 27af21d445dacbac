/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NVLink domains: servers of 8 to 72 GPUs with one NVSwitch or several.
 */
#include "fabric-test-support.h"

#include "ns3/test.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr int64_t BYTE_PS = 10;         ///< 800 Gb/s
constexpr int64_t DELAY_PS = 25'000;    ///< of an NVLink
constexpr int64_t FRAME_PAYLOAD = 1000; ///< NVLink adds nothing by default

/// @return one server: each GPU has a link of 800 Gb/s to each NVSwitch
std::string
Server(uint32_t gpus, uint32_t nvSwitches)
{
    std::string text = std::to_string(gpus + nvSwitches) + " " + std::to_string(gpus) + " " +
                       std::to_string(nvSwitches) + " 0 " + std::to_string(gpus * nvSwitches) +
                       " H100\n";
    for (uint32_t i = 0; i < nvSwitches; ++i)
    {
        text += std::to_string(gpus + i) + " ";
    }
    text += "\n";
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        for (uint32_t i = 0; i < nvSwitches; ++i)
        {
            text += std::to_string(gpu) + " " + std::to_string(gpus + i) + " 800Gbps 25ns 0\n";
        }
    }
    return text;
}

constexpr const char* CONF = "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n";

/// How large a server is.
struct Domain
{
    uint32_t gpus;
    uint32_t nvSwitches;
};

std::string
Describe(const Domain& domain)
{
    return std::to_string(domain.gpus) + " GPUs on " + std::to_string(domain.nvSwitches) +
           " NVSwitches";
}

} // namespace

/// Channels take the NVSwitches in turn: a step of a ring uses all links, to the byte.
class ChannelsAreStripedTestCase : public TestCase
{
  public:
    ChannelsAreStripedTestCase(const Domain& domain)
        : TestCase("A ring's channels use all links alike: " + Describe(domain)),
          m_domain(domain)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t CHANNELS_PER_SWITCH = 2;
        constexpr int64_t FRAMES = 20;
        FabricUnderTest test(Server(m_domain.gpus, m_domain.nvSwitches), CONF);
        test.Build();
        const uint32_t channels = CHANNELS_PER_SWITCH * m_domain.nvSwitches;
        for (uint32_t gpu = 0; gpu < m_domain.gpus; ++gpu)
        {
            for (uint32_t channel = 0; channel < channels; ++channel)
            {
                RdmaConnectionOptions options;
                options.channel = static_cast<int32_t>(channel);
                test.Send(gpu, (gpu + 1) % m_domain.gpus, FRAMES * FRAME_PAYLOAD, 0, options);
            }
        }
        Simulator::Run();
        for (uint32_t i = 0; i < m_domain.nvSwitches; ++i)
        {
            for (uint16_t port = 0; port < m_domain.gpus; ++port)
            {
                uint64_t data = test.fabric->GetDevice(m_domain.gpus + i, port).GetTxBytes();
                // Acknowledgements of message ends go back by the same links.
                data -= CHANNELS_PER_SWITCH * uint64_t{QbbNetDevice::MIN_WIRE_BYTES};
                NS_TEST_ASSERT_MSG_EQ(data,
                                      CHANNELS_PER_SWITCH * FRAMES * FRAME_PAYLOAD,
                                      "NVSwitch " << i << " port " << port);
            }
        }
        // A link carries the frames of two channels back to back; the last is stored once.
        const int64_t expected =
            (CHANNELS_PER_SWITCH * FRAMES + 1) * FRAME_PAYLOAD * BYTE_PS + 2 * DELAY_PS;
        int64_t last = 0;
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
            last = std::max(last, flow->deliveredPs);
        }
        // An acknowledgement of another flow may be in the way of the last frame at each hop.
        NS_TEST_ASSERT_MSG_GT_OR_EQ(last, expected, "no faster than the links");
        NS_TEST_ASSERT_MSG_LT_OR_EQ(last,
                                    expected + 4 * QbbNetDevice::MIN_WIRE_BYTES * BYTE_PS,
                                    "all links are busy all the time");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().drops, 0, "NVLink loses nothing");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().framesInUse, 0, "frames given back");
    }

    Domain m_domain;
};

/// Reductions in the network take another NVSwitch each, and each its exact time.
class ReductionsAreStripedTestCase : public TestCase
{
  public:
    ReductionsAreStripedTestCase(const Domain& domain)
        : TestCase("Each NVSwitch reduces a stripe at its links' speed: " + Describe(domain)),
          m_domain(domain)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(Server(m_domain.gpus, m_domain.nvSwitches), CONF);
        test.Build();
        std::vector<uint32_t> hosts;
        for (uint32_t gpu = 0; gpu < m_domain.gpus; ++gpu)
        {
            hosts.push_back(gpu);
        }
        constexpr int64_t FRAMES = 30;
        InNetworkEngine& engine = test.fabric->GetInNetworkEngine();
        std::set<uint32_t> nodes;
        std::vector<int64_t> done;
        done.reserve(m_domain.nvSwitches * m_domain.gpus);
        for (uint32_t stripe = 0; stripe < m_domain.nvSwitches; ++stripe)
        {
            InNetworkSpec spec;
            NS_TEST_ASSERT_MSG_EQ(test.fabric->PlanInNetwork(hosts, stripe, spec),
                                  true,
                                  "one server");
            nodes.insert(spec.switches.front().node->GetId());
            spec.kind = InNetworkKind::ReduceMulticast;
            spec.bytes = FRAMES * FRAME_PAYLOAD;
            const uint32_t operation = engine.Open(spec);
            for (uint32_t i = 0; i < m_domain.gpus; ++i)
            {
                Simulator::ScheduleNow([&engine, &done, operation, i] {
                    engine.Join(operation, i, [&done] {
                        done.push_back(Simulator::Now().GetTimeStep());
                    });
                });
            }
        }
        NS_TEST_ASSERT_MSG_EQ(nodes.size(), m_domain.nvSwitches, "each has a stripe");
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(done.size(), m_domain.nvSwitches * m_domain.gpus, "all have it");
        // Up, and a frame later down; before the last frame goes the acknowledgement of what the
        // member contributed, but to the member whose contribution was the last to come.
        const int64_t last = (FRAMES + 1) * FRAME_PAYLOAD * BYTE_PS + 2 * DELAY_PS;
        const int64_t others = last + QbbNetDevice::MIN_WIRE_BYTES * BYTE_PS;
        NS_TEST_ASSERT_MSG_EQ(std::count(done.begin(), done.end(), last),
                              m_domain.nvSwitches,
                              "the last of each stripe");
        NS_TEST_ASSERT_MSG_EQ(std::count(done.begin(), done.end(), others),
                              m_domain.nvSwitches * (m_domain.gpus - 1),
                              "one pass up and one down");
        NS_TEST_ASSERT_MSG_EQ(engine.GetOpenCount(), 0, "the operations are over");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().framesInUse, 0, "frames given back");
    }

    Domain m_domain;
};

/// A member that joins a multicast after its data has come is told, but not before Join() returns.
class LateMemberTestCase : public TestCase
{
  public:
    LateMemberTestCase()
        : TestCase("A member that joins a multicast late is called back after it has joined")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(Server(2, 1), CONF);
        test.Build();
        InNetworkSpec spec;
        NS_TEST_ASSERT_MSG_EQ(test.fabric->PlanInNetwork({0, 1}, 0, spec), true, "one server");
        spec.kind = InNetworkKind::Multicast;
        spec.root = 0;
        spec.bytes = 5000;
        InNetworkEngine& engine = test.fabric->GetInNetworkEngine();
        const uint32_t operation = engine.Open(spec);
        engine.Join(operation, 0, nullptr);
        bool inside = false;
        int64_t donePs = -1;
        Simulator::Schedule(MicroSeconds(50), [&] {
            inside = true;
            engine.Join(operation, 1, [&] {
                NS_TEST_ASSERT_MSG_EQ(inside, false, "not from inside Join()");
                donePs = Simulator::Now().GetTimeStep();
            });
            inside = false;
        });
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(donePs, 50'000'000, "at once");
        NS_TEST_ASSERT_MSG_EQ(engine.GetOpenCount(), 0, "the operation is over");
    }
};

class NvlinkTestSuite : public TestSuite
{
  public:
    NvlinkTestSuite()
        : TestSuite("rdma-qbb-nvlink", Type::UNIT)
    {
        AddTestCase(new LateMemberTestCase);
        for (const Domain& domain :
             {Domain{8, 1}, Domain{8, 4}, Domain{16, 6}, Domain{36, 9}, Domain{72, 18}})
        {
            AddTestCase(new ChannelsAreStripedTestCase(domain));
            AddTestCase(new ReductionsAreStripedTestCase(domain));
        }
    }
};

static NvlinkTestSuite g_nvlinkTestSuite; //!< registers the suite
