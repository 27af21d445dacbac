/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The front end on ns-3's packets, with closed forms of a star of hosts: what an ns-3 tree runs of
 * it. The front end's own layers have their tests in test/, without ns-3.
 */
#include "astra-frontend/model/native/native-algorithm.h"
#include "astra-frontend/model/packet/astra-sim-network.h"
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/workload/layer-workload.h"

#include "ns3/astra-network-api.h"
#include "ns3/attribute-default.h"
#include "ns3/fabric-conf.h"
#include "ns3/layer-table.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace AstraSim;

namespace
{

constexpr int64_t BYTE_PS = 80;         ///< 100 Gb/s
constexpr int64_t DELAY_PS = 1'000'000; ///< of a link
constexpr int64_t PAYLOAD = 1000;
constexpr int64_t FRAME_PS = (PAYLOAD + 82) * BYTE_PS;
constexpr int64_t ACK_PS = 84 * BYTE_PS;

/// Hosts around a switch, without congestion control.
class Star
{
  public:
    explicit Star(uint32_t hosts)
        : m_topology(MakeTopology(hosts)),
          m_conf(MakeConf()),
          m_fabric(CreateObject<RdmaFabric>())
    {
        m_fabric->Build(m_topology, m_conf);
        network = std::make_unique<AstraSimFabric>(*m_fabric);
    }

    ~Star()
    {
        network.reset();
        Simulator::Destroy();
        m_fabric->Dispose();
        std::for_each(m_replaced.rbegin(), m_replaced.rend(), SetDefault);
    }

    std::unique_ptr<AstraSimFabric> network;

  private:
    static ClusterTopology MakeTopology(uint32_t hosts)
    {
        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(Time::PS); // once in a process, before any time has been kept
        }
        std::string text = std::to_string(hosts + 1) + " 1 0 1 " + std::to_string(hosts) +
                           " H100\n" + std::to_string(hosts) + "\n";
        for (uint32_t host = 0; host < hosts; ++host)
        {
            text += std::to_string(host) + " " + std::to_string(hosts) + " 100Gbps 1000ns 0\n";
        }
        std::istringstream stream(text);
        return ClusterTopology::Read(stream, "star");
    }

    FabricConf MakeConf()
    {
        std::istringstream stream("CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
        FabricConf conf = FabricConf::Read(stream, "conf");
        m_replaced = conf.Apply();
        return conf;
    }

    std::vector<AttributeSetting> m_replaced;
    ClusterTopology m_topology;
    FabricConf m_conf;
    Ptr<RdmaFabric> m_fabric;
};

/// A message through ASTRA-sim's own interface takes its frames and its path.
class AstraMessageTestCase : public TestCase
{
  public:
    AstraMessageTestCase()
        : TestCase("a message of ASTRA-sim's network API")
    {
    }

  private:
    void DoRun() override
    {
        Star star(3);
        ASTRASimNetwork sender(star.network->GetNetwork(0));
        ASTRASimNetwork receiver(star.network->GetNetwork(2));
        sim_request request;
        int64_t sentPs = -1;
        int64_t receivedPs = -1;
        const auto note = [](void* time) {
            *static_cast<int64_t*>(time) = Simulator::Now().GetPicoSeconds();
        };
        constexpr uint64_t FRAMES = 5;
        const uint64_t bytes = FRAMES * PAYLOAD;
        receiver.sim_recv(nullptr, bytes, UINT8, 0, 7, &request, note, &receivedPs);
        sender.sim_send(nullptr, bytes, UINT8, 2, 7, &request, note, &sentPs);
        Simulator::Run();
        // Frames follow each other, the switch stores each; the last acknowledgement goes back.
        const int64_t expected = (FRAMES + 1) * FRAME_PS + 2 * DELAY_PS;
        NS_TEST_EXPECT_MSG_EQ(receivedPs, expected, "delivery");
        NS_TEST_EXPECT_MSG_EQ(sentPs, expected + 2 * (ACK_PS + DELAY_PS), "completion");
        NS_TEST_EXPECT_MSG_EQ(sender.sim_comm_get_size(), 3, "ranks");
    }
};

/// Keeps when the last rank has finished.
class Finish : public RunObserver
{
  public:
    void RankFinished(int, TimePs now) override
    {
        last = std::max(last, now);
        ++ranks;
    }

    TimePs last{0};
    uint32_t ranks{0};
};

/// A ring of ASTRA-sim's takes 2 (n - 1) steps, each a share of the buffer to the next rank.
class RingTestCase : public TestCase
{
  public:
    explicit RingTestCase(uint32_t ranks)
        : TestCase("a ring AllReduce of " + std::to_string(ranks) + " ranks"),
          m_ranks(ranks)
    {
    }

  private:
    void DoRun() override
    {
        Star star(m_ranks);
        constexpr int64_t FRAMES = 4; ///< of a share
        const int64_t bytes = m_ranks * FRAMES * PAYLOAD;
        std::istringstream text("DATA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE " +
                                std::to_string(bytes) + " 1\n");
        LayerWorkload workload(ReadLayerTable(text, "workload"), ParallelSizes{}, 1);
        SystemConfig config;
        config.allReduce = {*ParseNativeAlgorithm("ring")};
        config.preferredDatasetSplits = 1;
        config.memoryBus.endpointDelay = 0;
        Finish finish;
        std::vector<int> ranks(m_ranks);
        std::iota(ranks.begin(), ranks.end(), 0);
        const auto networkOf = [&star](int rank) -> RankNetwork& {
            return star.network->GetNetwork(rank);
        };
        Job job({&workload, ranks, config, {}, nullptr, networkOf, &finish});
        job.Start();
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(job.Finished(), true, "all ranks finish");
        NS_TEST_EXPECT_MSG_EQ(finish.ranks, m_ranks, "ranks");
        const int64_t step = (FRAMES + 1) * FRAME_PS + 2 * DELAY_PS;
        const int64_t steps = 2 * (m_ranks - 1);
        const int64_t compute = 3 * 1000; // 1 ns each of the layer's three passes
        // A rank acknowledges the last frame of a step before it sends the first of the next.
        NS_TEST_EXPECT_MSG_EQ(finish.last,
                              steps * step + (steps - 1) * ACK_PS + compute,
                              "duration");
    }

    uint32_t m_ranks;
};

class AstraFrontendTestSuite : public TestSuite
{
  public:
    AstraFrontendTestSuite()
        : TestSuite("astra-frontend", Type::UNIT)
    {
        AddTestCase(new AstraMessageTestCase);
        for (const uint32_t ranks : {2U, 3U, 8U})
        {
            AddTestCase(new RingTestCase(ranks));
        }
    }
};

AstraFrontendTestSuite g_astraFrontendTestSuite; ///< registers the suite

} // namespace
