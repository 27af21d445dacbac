/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shares of a link between priorities.
 */
#include "fabric-test-support.h"

#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <numeric>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr int64_t FRAME_PS = 1082 * 80; ///< a full frame at 100 Gb/s
constexpr int64_t ROUND_BYTES = 9216;   ///< what a turn gives to a weight of 1

} // namespace

/// Equal flows of different priorities end when their weights say.
class WeightsTestCase : public TestCase
{
  public:
    /// @param atNic one host sends all of them; otherwise they meet at the switch
    WeightsTestCase(const std::vector<uint32_t>& weights, bool atNic)
        : TestCase(Name(weights, atNic)),
          m_weights(weights),
          m_atNic(atNic)
    {
    }

  private:
    static std::string Name(const std::vector<uint32_t>& weights, bool atNic)
    {
        std::string name = "Priorities with weights";
        for (const uint32_t weight : weights)
        {
            name += " " + std::to_string(weight);
        }
        return name + " share " + (atNic ? "a NIC" : "a switch port") + " by them";
    }

    /**
     * @return when each flow ends, in full frames sent by all: in each stage the flows that are
     * left share the link by their weights until the next one ends
     */
    std::vector<double> ExpectedEnds(double frames) const
    {
        std::vector<double> left(m_weights.size(), frames);
        std::vector<double> ends(m_weights.size(), 0);
        double now = 0;
        for (std::size_t stage = 0; stage < m_weights.size(); ++stage)
        {
            double sum = 0;
            for (std::size_t i = 0; i < left.size(); ++i)
            {
                sum += ends[i] > 0 ? 0 : m_weights[i];
            }
            std::size_t first = 0;
            double next = 1e18;
            for (std::size_t i = 0; i < left.size(); ++i)
            {
                const double end = left[i] * sum / m_weights[i];
                if (ends[i] == 0 && end < next)
                {
                    next = end;
                    first = i;
                }
            }
            for (std::size_t i = 0; i < left.size(); ++i)
            {
                left[i] -= next * m_weights[i] / sum;
            }
            now += next;
            ends[first] = now;
        }
        return ends;
    }

    void DoRun() override
    {
        const auto flows = static_cast<uint32_t>(m_weights.size());
        std::string conf = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n";
        uint8_t mask = 0;
        for (uint32_t i = 0; i < flows; ++i)
        {
            mask |= 1U << (i + 1);
            conf +=
                "QUEUE_WEIGHT " + std::to_string(i + 1) + " " + std::to_string(m_weights[i]) + "\n";
        }
        FabricUnderTest test(FabricUnderTest::Star(flows + 1, "100Gbps", "1us"), conf);
        test.Set("ns3::SwitchMmu::LosslessMask", UintegerValue(mask));
        test.Build();
        constexpr int64_t FRAMES = 4000;
        for (uint32_t i = 0; i < flows; ++i)
        {
            RdmaConnectionOptions options;
            options.priority = static_cast<uint8_t>(i + 1);
            test.Send(m_atNic ? 0 : i + 1, m_atNic ? i + 1 : 0, FRAMES * 1000, 0, options);
        }
        Simulator::Run();
        const auto ends = ExpectedEnds(FRAMES);
        const uint32_t sum = std::accumulate(m_weights.begin(), m_weights.end(), 0U);
        // A flow may end within a round of its turn; a stage may begin within one, too.
        const double slackPs = 2.0 * (flows + 1) * ROUND_BYTES * sum * 80;
        for (uint32_t i = 0; i < flows; ++i)
        {
            const double pathPs = 2e6 + FRAME_PS;
            NS_TEST_ASSERT_MSG_EQ_TOL(static_cast<double>(test.flows[i]->deliveredPs),
                                      ends[i] * FRAME_PS + pathPs,
                                      slackPs,
                                      "flow of weight " << m_weights[i]);
        }
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().bufferDrops, 0, "lossless");
    }

    std::vector<uint32_t> m_weights;
    bool m_atNic;
};

class QueueWeightsTestSuite : public TestSuite
{
  public:
    QueueWeightsTestSuite()
        : TestSuite("rdma-qbb-queue-weights", Type::UNIT)
    {
        for (const bool atNic : {false, true})
        {
            AddTestCase(new WeightsTestCase({1, 1}, atNic));
            AddTestCase(new WeightsTestCase({3, 1}, atNic));
            AddTestCase(new WeightsTestCase({1, 2, 5}, atNic));
        }
    }
};

static QueueWeightsTestSuite g_queueWeightsTestSuite; //!< registers the suite
