/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several communicators under way at a time, each host at its own pace.
 */
#include "accl-cases.h"

#include "ns3/test.h"

#include <array>
#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::accl;

namespace
{

constexpr uint32_t HOSTS = 6;
constexpr uint32_t CALLS = 14;

/// The communicators of each kind, by their hosts. A host is another rank of each kind; hosts 0 to
/// 2 are the same ranks of the rows and of the world.
const std::array<std::vector<std::vector<uint32_t>>, 3> COMMUNICATORS = {
    {{{0, 1, 2, 3, 4, 5}}, {{0, 1, 2}, {3, 4, 5}}, {{3, 0}, {1, 4}, {5, 2}}}};

/// A host's part of a call, and what comes of it.
struct Part
{
    Case request;
    uint32_t call;
    uint32_t host;
    uint32_t member;
    uint32_t ranks;
    double salt; ///< what its communicator adds to each operand of this call
    CcloBuffer operand;
    CcloBuffer result;
};

/// @return what a part's result holds, if it has one
double
ExpectedOf(const Part& part, uint64_t i)
{
    const CcloOperation operation = part.request.operation;
    const bool sums = operation == CcloOperation::Reduce || operation == CcloOperation::AllReduce ||
                      operation == CcloOperation::ReduceScatter;
    return Expected(part.request, part.ranks, part.member, i) + part.salt * (sums ? part.ranks : 1);
}

} // namespace

/// A random sequence of calls, the same on all hosts, that each begins when it likes.
class MixTestCase : public TestCase
{
  public:
    explicit MixTestCase(uint32_t seed)
        : TestCase(fmt::format("Mix {} of all collectives on three kinds of communicators", seed)),
          m_random(seed)
    {
    }

  private:
    uint32_t Draw(uint32_t end)
    {
        return static_cast<uint32_t>(m_random() % end);
    }

    /// Add a call of every communicator of a kind.
    void AddCall(AcclStar& star, uint32_t call)
    {
        const uint32_t kind = Draw(COMMUNICATORS.size());
        const auto& groups = COMMUNICATORS[kind];
        const CcloOperation operation = COLLECTIVES[Draw(COLLECTIVES.size())];
        const uint32_t count = Draw(2) ? 5000 : 10; // by rendezvous, and eager
        const uint32_t root = Draw(static_cast<uint32_t>(groups.front().size()));
        for (uint32_t group = 0; group < groups.size(); ++group)
        {
            const auto ranks = static_cast<uint32_t>(groups[group].size());
            const auto [operandParts, resultParts] = Parts(operation, ranks);
            for (uint32_t member = 0; member < ranks; ++member)
            {
                Part part{.request = {.operation = operation, .count = count, .root = root},
                          .call = call,
                          .host = groups[group][member],
                          .member = member,
                          .ranks = ranks,
                          .salt = 100.0 * call + 10.0 * group,
                          .operand = {},
                          .result = {}};
                CcloDriver& driver = *star.drivers[part.host];
                part.operand = driver.Allocate(uint64_t{count} * operandParts, TYPE);
                part.result = operation == CcloOperation::Bcast
                                  ? part.operand
                                  : driver.Allocate(uint64_t{count} * resultParts, TYPE);
                star.Fill(part.host, part.operand, [&part](uint64_t i) {
                    return Operand(part.member, i) + part.salt;
                });
                CcloRequest request{.operation = operation,
                                    .count = count,
                                    .communicator = kind,
                                    .peer = root,
                                    .op0 = part.operand};
                if (operation != CcloOperation::Bcast)
                {
                    request.result = part.result;
                }
                m_times[part.host] += NanoSeconds(Draw(2) ? Draw(200'000) : Draw(2'000));
                Simulator::Schedule(m_times[part.host], [&star, host = part.host, request] {
                    star.Call(host, request);
                });
                m_parts.push_back(part);
            }
        }
    }

    void DoRun() override
    {
        AcclStar star(HOSTS, [](CcloHelper& helper) {
            helper.SetDriverAttribute("MaxRendezvousSize", UintegerValue(1 << 20));
        });
        m_times.resize(HOSTS);
        for (uint32_t kind = 1; kind < COMMUNICATORS.size(); ++kind)
        {
            for (const auto& hosts : COMMUNICATORS[kind])
            {
                std::vector<CcloRank> ranks;
                for (const uint32_t host : hosts)
                {
                    ranks.push_back(CcloHelper(star.fabric).MakeRank(host));
                }
                for (uint32_t member = 0; member < hosts.size(); ++member)
                {
                    star.drivers[hosts[member]]->AddCommunicator(ranks, member);
                }
            }
        }
        for (uint32_t call = 0; call < CALLS; ++call)
        {
            AddCall(star, call);
        }
        const bool ended = star.Run();
        NS_TEST_ASSERT_MSG_EQ(ended, true, star.Waits());
        NS_TEST_ASSERT_MSG_EQ(star.Waits(), "", "nothing is left over");
        for (const Part& part : m_parts)
        {
            const uint64_t differences =
                HasResult(part.request, part.member)
                    ? star.Differences(part.host,
                                       part.result,
                                       [&part](uint64_t i) { return ExpectedOf(part, i); })
                    : 0;
            NS_TEST_EXPECT_MSG_EQ(differences,
                                  0,
                                  "call " << part.call << ", "
                                          << CcloOperationName(part.request.operation) << " of "
                                          << part.request.count << " elements, host " << part.host);
        }
    }

    static constexpr CcloDataType TYPE = CcloDataType::Float32;

    std::mt19937 m_random;
    std::vector<Time> m_times; ///< of each host's last call
    std::vector<Part> m_parts;
};

/// Tests of communicators that are under way at a time.
class AcclCcloCommunicatorsTestSuite : public TestSuite
{
  public:
    AcclCcloCommunicatorsTestSuite()
        : TestSuite("accl-cclo-communicators", Type::UNIT)
    {
        for (uint32_t seed = 1; seed <= 40; ++seed)
        {
            AddTestCase(new MixTestCase(seed));
        }
    }
};

static AcclCcloCommunicatorsTestSuite g_acclCcloCommunicatorsTestSuite; //!< registers the suite
