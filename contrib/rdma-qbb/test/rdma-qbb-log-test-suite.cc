/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-test-support.h"
#include "rdma-qbb/model/attribute/collective-offload.h"

#include "ns3/header.h"
#include "ns3/log.h"
#include "ns3/object.h"
#include "ns3/rdma-transport.h"
#include "ns3/test.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// Whether NS_LOG=<class> or that of a class it inherits from tells what objects of a type do.
bool
HasLog(TypeId tid)
{
    const auto* components = LogComponent::GetComponentList();
    for (; tid != Object::GetTypeId(); tid = tid.GetParent())
    {
        const std::string name = tid.GetName().substr(std::string("ns3::").size());
        if (std::any_of(components->begin(), components->end(), [&name](const auto& component) {
                return name.starts_with(component.first);
            }))
        {
            return true;
        }
        if (tid == tid.GetParent())
        {
            return false;
        }
    }
    return false;
}

/// Every class of the module whose objects a program can make logs what they do, but for headers,
/// which print themselves, and for a store of parameters and the transport that adds nothing to
/// RoCE, which do nothing.
class ModelsLogTestCase : public TestCase
{
  public:
    ModelsLogTestCase()
        : TestCase("every model has a log component of its name, or of its base's")
    {
    }

  private:
    void DoRun() override
    {
        uint32_t models = 0;
        for (uint16_t i = 0; i < TypeId::GetRegisteredN(); ++i)
        {
            const TypeId tid = TypeId::GetRegistered(i);
            if (tid.GetGroupName() != "RdmaQbb" || !tid.HasConstructor() ||
                tid.IsChildOf(Header::GetTypeId()) || tid == CollectiveOffload::GetTypeId() ||
                tid == RdmaTransport::GetTypeId())
            {
                continue;
            }
            ++models;
            NS_TEST_EXPECT_MSG_EQ(HasLog(tid), true, tid.GetName() << " has no log component");
        }
        NS_TEST_EXPECT_MSG_GT(models, 20, "there are as many models");
    }
};

#ifdef NS3_LOG_ENABLE

/// Lines that a component must log in a run.
struct LoggedStory
{
    std::string component;
    std::string conf;
    std::vector<std::string> words;
    std::string errorRate{"0"}; ///< of the link to the receiver
    std::string failure{};      ///< further lines of the configuration
};

/// Collects what is logged.
class LogCapture
{
  public:
    explicit LogCapture(const std::string& component, bool withTime = false)
        : m_component(component),
          m_before(std::clog.rdbuf(m_text.rdbuf()))
    {
        LogComponentEnable(m_component.c_str(), LOG_LEVEL_ALL);
        if (withTime)
        {
            LogComponentEnable(m_component.c_str(), LOG_PREFIX_TIME);
        }
    }

    ~LogCapture()
    {
        LogComponentDisable(m_component.c_str(), LOG_LEVEL_ALL);
        LogComponentDisable(m_component.c_str(), LOG_PREFIX_TIME);
        std::clog.rdbuf(m_before);
    }

    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    std::string Text() const
    {
        return m_text.str();
    }

  private:
    std::string m_component;
    std::ostringstream m_text;
    std::streambuf* m_before;
};

/// An incast, told by one component after the other.
class RunsLogStoriesTestCase : public TestCase
{
  public:
    RunsLogStoriesTestCase()
        : TestCase("each component tells its part of an incast, of losses and of a failed link")
    {
    }

  private:
    static std::string LogOf(const LoggedStory& story)
    {
        LogCapture log(story.component);
        std::ostringstream topology;
        topology << "9 1 8\n8\n";
        for (int host = 0; host < 8; ++host)
        {
            topology << "8 " << host << " 100Gbps 1us " << (host ? "0" : story.errorRate) << "\n";
        }
        FabricUnderTest test(topology.str(),
                             "BUFFER_SIZE 1\nHAS_WIN 0\nKMIN 5000\nKMAX 50000\nPMAX 0.5\n" +
                                 story.conf + "\n" + story.failure);
        test.Build();
        test.fabric->AssignStreams(1);
        for (uint32_t host = 1; host < 8; ++host)
        {
            test.Send(host, 0, 200'000);
        }
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();
        return log.Text();
    }

    void DoRun() override
    {
        const std::vector<LoggedStory> stories{
            {"RdmaFabric",
             "CC_MODE 1",
             {"builds 9 nodes", "goes down", "routes"},
             "0",
             "LINK_DOWN 10 1 8\n"},
            {"RdmaDriver", "CC_MODE 1", {"host 1 connects to host 0"}},
            {"FabricRoutes", "CC_MODE 1", {"finds routes to 8 hosts in 1 groups"}},
            {"ConnectionPlanner", "CC_MODE 1", {"host 1 is to reach host 0 from UDP port"}},
            {"RdmaNic",
             "CC_MODE 1",
             {"has nothing that it may send", "waits for its rate until", "waits for its turn"}},
            {"RdmaHw",
             "CC_MODE 1",
             {"opens 1->0",
              "posts a message of 200000 bytes",
              "sends bytes 0 to 1000",
              "gets bytes 0 to 1000",
              "marked",
              "answers with ACK of byte",
              "gets ACK of byte",
              "answers a mark with CNP",
              "gets CNP",
              "changes its rate",
              "delivers a message of 200000 bytes",
              "completes a message of 200000 bytes",
              "closes 1->0"}},
            {"RdmaHw",
             "CC_MODE 0",
             {"expected byte", "answers with NACK", "gets NACK", "sends again", "timeout of"},
             "0.05"},
            {"QbbNetDevice",
             "CC_MODE 0",
             {"queues bytes",
              "begins to send bytes",
              "has its far end pause priority 3",
              "is paused for priority 3",
              "has its far end resume priority 3",
              "is resumed for priority 3"}},
            {"QbbNetDevice", "CC_MODE 0", {"loses bytes"}, "0.05"},
            {"QbbChannel", "CC_MODE 0", {"SetUp"}, "0", "LINK_DOWN 10 1 8\n"},
            {"SwitchNode",
             "CC_MODE 1",
             {"forwards bytes", "stores bytes", "marks bytes", "pauses priority", "resumes"}},
            {"SwitchMmu",
             "CC_MODE 1",
             {"shares", "admits", "marks", "pauses port", "resumes port"}},
            {"RdmaGoBackN", "CC_MODE 0", {"is asked for byte"}, "0.05"},
            {"RdmaIrn", "CC_MODE 0\nLOSS_RECOVERY irn", {"is asked for byte"}, "0.05"},
            {"RdmaNoCongestionControl", "CC_MODE 0", {"OnQpInit"}},
            {"RdmaDcqcn", "CC_MODE 1", {"gets its first CNP", "falls to", "rises to"}},
            {"RdmaHpcc", "CC_MODE 3", {"learns of", "busiest hop"}},
            {"RdmaHpccBase", "CC_MODE 3", {"ends a round", "takes"}},
            {"RdmaTimely", "CC_MODE 7", {"begins at", "gradient"}},
            {"RdmaDctcp", "CC_MODE 8", {"cuts once", "grows"}},
            {"RdmaHpccPint", "CC_MODE 10", {"decodes"}},
            {"PintEncoder", "CC_MODE 10", {"writes the power"}},
            {"RdmaSwift", "CC_MODE RdmaSwift", {"has a window of", "leaves"}}};
        for (const LoggedStory& story : stories)
        {
            const std::string text = LogOf(story);
            for (const std::string& word : story.words)
            {
                NS_TEST_EXPECT_MSG_NE(text.find(word),
                                      std::string::npos,
                                      story.component << " with " << story.conf
                                                      << " does not say \"" << word << "\"");
            }
        }
    }
};

/// Frames of a message follow each other without a gap, and ports put off what nobody notices.
class LogsTellTheirTimeTestCase : public TestCase
{
  public:
    LogsTellTheirTimeTestCase()
        : TestCase("the prefix of what is logged late is the time at which it happens")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int FRAMES = 20;
        LogCapture log("QbbNetDevice", true);
        FabricUnderTest test("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
        test.Build();
        test.Send(0, 1, FRAMES * 1000);
        Simulator::Run();
        std::vector<double> begins; // of the sender's frames, in seconds
        std::istringstream lines(log.Text());
        for (std::string line; std::getline(lines, line);)
        {
            if (line.find("node 0 port") != std::string::npos &&
                line.find("begins to send") != std::string::npos)
            {
                begins.push_back(std::stod(line));
            }
        }
        NS_TEST_ASSERT_MSG_EQ(begins.size(), FRAMES, "each frame is logged");
        const double frame = begins[1] - begins[0];
        NS_TEST_EXPECT_MSG_GT(frame, 80e-9, "payload at 100 Gb/s, and headers");
        NS_TEST_EXPECT_MSG_LT(frame, 88e-9, "payload at 100 Gb/s, and headers");
        for (int i = 0; i < FRAMES; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(begins[i], begins[0] + i * frame, 1e-12, "frame " << i);
        }
    }
};

#endif // NS3_LOG_ENABLE

class RdmaQbbLogTestSuite : public TestSuite
{
  public:
    RdmaQbbLogTestSuite()
        : TestSuite("rdma-qbb-log", Type::UNIT)
    {
        AddTestCase(new ModelsLogTestCase);
#ifdef NS3_LOG_ENABLE
        AddTestCase(new RunsLogStoriesTestCase);
        AddTestCase(new LogsTellTheirTimeTestCase);
#endif
    }
};

static RdmaQbbLogTestSuite g_rdmaQbbLogTestSuite; //!< registers the suite

} // namespace
