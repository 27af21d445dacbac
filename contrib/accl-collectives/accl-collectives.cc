/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "accl-collectives.h"

#include "accl-data-check.h"

#include "ns3/boolean.h"
#include "ns3/cclo-helper.h"
#include "ns3/input-error.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

namespace AstraSim
{

namespace
{

constexpr uint32_t ELEMENT_BYTES = 4;

/// @return the engine's operation; Nop if it has none
ns3::CcloOperation
OperationOf(CollectiveOp op)
{
    switch (op)
    {
    case CollectiveOp::AllReduce:
        return ns3::CcloOperation::AllReduce;
    case CollectiveOp::AllGather:
        return ns3::CcloOperation::AllGather;
    case CollectiveOp::ReduceScatter:
        return ns3::CcloOperation::ReduceScatter;
    case CollectiveOp::AllToAll:
        return ns3::CcloOperation::AllToAll;
    case CollectiveOp::Broadcast:
        return ns3::CcloOperation::Bcast;
    case CollectiveOp::Reduce:
        return ns3::CcloOperation::Reduce;
    case CollectiveOp::Gather:
        return ns3::CcloOperation::Gather;
    case CollectiveOp::Scatter:
        return ns3::CcloOperation::Scatter;
    case CollectiveOp::Barrier:
        return ns3::CcloOperation::Barrier;
    default:
        return ns3::CcloOperation::Nop;
    }
}

/// @return a rank's part of a collective
AcclCollectives::Part
PartOf(const CollectiveRequest& request, uint32_t ranks)
{
    using Op = CollectiveOp;
    AcclCollectives::Part part{};
    part.ranks = ranks;
    part.request.operation = OperationOf(request.op);
    part.request.peer = static_cast<uint32_t>(request.root);
    if (part.request.operation == ns3::CcloOperation::Nop)
    {
        throw ns3::InputError("system configuration",
                              0,
                              std::string(ToString(request.op)) + " is left to ACCL's engines",
                              "AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce, "
                              "Gather, Scatter or Barrier");
    }
    const bool wholeOperand =
        request.op == Op::ReduceScatter || request.op == Op::AllToAll || request.op == Op::Scatter;
    const bool wholeResult =
        request.op == Op::AllGather || request.op == Op::AllToAll || request.op == Op::Gather;
    part.operandParts = wholeOperand ? ranks : 1;
    part.resultParts = wholeResult ? ranks : 1;
    const uint32_t parts = std::max(part.operandParts, part.resultParts);
    const uint64_t unit = uint64_t{ELEMENT_BYTES} * parts;
    part.count = std::max<uint64_t>((request.bytes + unit - 1) / unit, 1);
    part.maxCount = AcclCollectives::CALL_BYTES / unit;
    return part;
}

/// One rank's part of a collective in its engine.
class AcclRank : public RankCollective
{
  public:
    AcclRank(AcclCollectives& engines,
             int rank,
             uint32_t member,
             const AcclCollectives::Part& part,
             std::function<void()> done)
        : m_engines(engines),
          m_rank(rank),
          m_member(member),
          m_part(part),
          m_done(std::move(done))
    {
    }

    void Start() override
    {
        m_engines.Start(m_rank, m_member, m_part, m_done);
    }

    std::string DescribeWait() const override
    {
        return m_engines.DescribeWait(m_rank);
    }

  private:
    AcclCollectives& m_engines;
    int m_rank;
    uint32_t m_member;
    const AcclCollectives::Part& m_part;
    std::function<void()> m_done;
};

/// A collective on a group of hosts with engines.
class AcclPlan : public CollectivePlan
{
  public:
    AcclPlan(AcclCollectives& engines, const CommGroup& group, const AcclCollectives::Part& part)
        : CollectivePlan(CollectiveChoice{.algorithm = "ACCL", .protocol = "-"}),
          m_engines(engines),
          m_ranks(group.ranks),
          m_part(part)
    {
    }

    bool ChecksItself() const override
    {
        return true; // engines have frames of their own
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        return std::make_unique<AcclRank>(m_engines,
                                          m_ranks[rankIndex],
                                          rankIndex,
                                          m_part,
                                          std::move(done));
    }

  private:
    AcclCollectives& m_engines;
    std::vector<int> m_ranks;
    AcclCollectives::Part m_part;
};

const CollectiveEngine::Kind ACCL("ACCL",
                                  [](ns3::RdmaFabric& fabric, CollectiveEngine::Report report) {
                                      return std::make_unique<AcclCollectives>(fabric,
                                                                               std::move(report));
                                  });

} // namespace

AcclCollectives::AcclCollectives(ns3::RdmaFabric& fabric, Report report)
    : m_fabric(fabric),
      m_report(std::move(report))
{
}

AcclCollectives::~AcclCollectives() = default;

void
AcclCollectives::Install()
{
    std::vector<uint32_t> hosts(m_fabric.GetTopology().hostCount);
    std::iota(hosts.begin(), hosts.end(), 0U);
    ns3::CcloHelper helper{ns3::Ptr<ns3::RdmaFabric>(&m_fabric)};
    helper.SetEngineAttribute("Contents", ns3::BooleanValue(static_cast<bool>(m_report)));
    // Room for the communicators of a few groups as large as the cluster, or many small ones.
    helper.SetEngineAttribute("ExchangeMemorySize",
                              ns3::UintegerValue(0x10000 + 0x80 * hosts.size()));
    helper.SetDriverAttribute("MaxRendezvousSize", ns3::UintegerValue(CALL_BYTES));
    try
    {
        m_drivers = helper.Install(hosts);
    }
    catch (const std::invalid_argument& error)
    {
        throw ns3::InputError(std::string("collective engine: ") + error.what());
    }
}

const std::vector<uint32_t>&
AcclCollectives::CommunicatorsOf(const CommGroup& group)
{
    std::vector<uint32_t>& numbers = m_communicators[group.ranks];
    if (!numbers.empty())
    {
        return numbers;
    }
    if (m_drivers.empty())
    {
        Install();
    }
    ns3::CcloHelper helper{ns3::Ptr<ns3::RdmaFabric>(&m_fabric)};
    std::vector<ns3::CcloRank> ranks;
    for (const int rank : group.ranks)
    {
        ranks.push_back(helper.MakeRank(static_cast<uint32_t>(rank)));
    }
    for (uint32_t member = 0; member < ranks.size(); ++member)
    {
        numbers.push_back(m_drivers[group.ranks[member]]->AddCommunicator(ranks, member));
    }
    return numbers;
}

std::shared_ptr<const CollectivePlan>
AcclCollectives::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    Part part = PartOf(request, static_cast<uint32_t>(group.ranks.size()));
    const uint64_t bytes =
        ELEMENT_BYTES * part.count * (part.operandParts + part.resultParts) * part.ranks;
    if (m_report && bytes > MAX_CHECKED_BYTES)
    {
        throw ns3::InputError("--check",
                              0,
                              fmt::format("{} of {} ranks in collective engines would need {} "
                                          "bytes of real data",
                                          ToString(request.op),
                                          part.ranks,
                                          bytes),
                              fmt::format("at most {}", MAX_CHECKED_BYTES));
    }
    part.communicators = &CommunicatorsOf(group);
    return std::make_shared<AcclPlan>(*this, group, part);
}

void
AcclCollectives::Start(int rank,
                       uint32_t member,
                       const Part& part,
                       const std::function<void()>& done)
{
    ns3::CcloDriver* driver = ns3::PeekPointer(m_drivers[rank]);
    for (uint64_t begin = 0; begin < part.count; begin += part.maxCount)
    {
        const uint64_t count = std::min(part.maxCount, part.count - begin);
        const Buffers buffers{
            driver->Allocate(count * part.operandParts, ns3::CcloDataType::Float32),
            driver->Allocate(count * part.resultParts, ns3::CcloDataType::Float32)};
        ns3::CcloRequest request = part.request;
        request.communicator = (*part.communicators)[member];
        request.count = static_cast<uint32_t>(count);
        request.op0 = buffers.operand;
        request.result = buffers.result;
        if (m_report)
        {
            AcclDataCheck(request, part.ranks).Fill(*driver, buffers.operand, member);
        }
        const bool last = begin + count == part.count;
        driver->Call(request, [=, this, &part](uint32_t value) {
            if (value != ns3::CcloError::NONE)
            {
                throw ns3::InputError("collective engine",
                                      0,
                                      fmt::format("{} ends with {}",
                                                  ns3::CcloOperationName(request.operation),
                                                  ns3::CcloErrorNames(value)),
                                      "an operation that its protocol and buffers allow");
            }
            Finish(*driver, request, buffers, member, part);
            if (last)
            {
                done();
            }
        });
    }
}

void
AcclCollectives::Finish(ns3::CcloDriver& driver,
                        const ns3::CcloRequest& request,
                        const Buffers& buffers,
                        uint32_t member,
                        const Part& part)
{
    if (m_report)
    {
        const AcclDataCheck check(request, part.ranks);
        const std::string wrong = check.Compare(driver, buffers.operand, buffers.result, member);
        if (!wrong.empty())
        {
            m_report(wrong);
        }
        else if (++part.ended == part.ranks)
        {
            part.ended = 0;
            ++m_checked;
        }
    }
    driver.GetEngine()->GetMemory().Free(buffers.operand.address);
    driver.GetEngine()->GetMemory().Free(buffers.result.address);
}

std::string
AcclCollectives::DescribeWait(int rank) const
{
    std::string text = "its collective engine";
    for (const std::string& line : m_drivers[rank]->GetEngine()->DescribeWaits())
    {
        text += ": " + line;
    }
    return text;
}

} // namespace AstraSim
