/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "accl-collectives.h"

#include "ns3/boolean.h"
#include "ns3/cclo-driver.h"
#include "ns3/cclo-helper.h"
#include "ns3/input-error.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>
#include <string>

namespace AstraSim
{

namespace
{

constexpr uint32_t RANK_VALUES = 64;
constexpr uint32_t EXACT_IN_FLOAT = 1U << 24;
constexpr uint32_t MAX_MODULUS = 1021;

/**
 * @ingroup accl-cclo
 * @brief Real data for a call of collective engines: each rank's operand has numbers of its own,
 * and each rank's final data follow from the operation.
 *
 * Element i of rank r is 64 (i mod m) + r mod 64, with m so small that sums over all ranks are
 * exact in float32 in any order.
 */
class AcclDataCheck
{
  public:
    /// @param request of all ranks, its count that of this call @param ranks of the group
    AcclDataCheck(const ns3::CcloRequest& request, uint32_t ranks)
        : m_operation(request.operation),
          m_count(request.count),
          m_root(request.peer),
          m_ranks(ranks),
          m_modulus(std::clamp(EXACT_IN_FLOAT / (RANK_VALUES * ranks), 1U, MAX_MODULUS))
    {
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            m_sumOfRanks += rank % RANK_VALUES;
        }
    }

    /// Give a rank its operand. @param member its place in the group
    void Fill(ns3::CcloDriver& driver, const ns3::CcloBuffer& operand, uint32_t member) const
    {
        if (m_operation == ns3::CcloOperation::Bcast && member != m_root)
        {
            return; // its result comes here
        }
        const auto bytes = driver.Access(operand);
        for (uint64_t i = 0; i < operand.count; ++i)
        {
            const auto value = static_cast<float>(Value(member, i));
            std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value));
        }
    }

    /// @return the first mistake in a rank's result; "" if there is none
    std::string Compare(ns3::CcloDriver& driver,
                        const ns3::CcloBuffer& operand,
                        const ns3::CcloBuffer& result,
                        uint32_t member) const
    {
        using Operation = ns3::CcloOperation;
        const bool atRoot = m_operation == Operation::Gather || m_operation == Operation::Reduce;
        if (m_operation == Operation::Barrier || (atRoot && member != m_root))
        {
            return "";
        }
        const ns3::CcloBuffer& buffer = m_operation == Operation::Bcast ? operand : result;
        const auto bytes = driver.Access(buffer);
        for (uint64_t i = 0; i < buffer.count; ++i)
        {
            const auto expected = static_cast<float>(Expected(member, i));
            float value = 0;
            std::memcpy(&value, &bytes[i * sizeof(value)], sizeof(value));
            if (value != expected)
            {
                return fmt::format("{} of {} ranks: element {} of rank {} of the group is {}, and "
                                   "should be {}",
                                   ns3::CcloOperationName(m_operation),
                                   m_ranks,
                                   i,
                                   member,
                                   value,
                                   expected);
            }
        }
        return "";
    }

  private:
    uint32_t Value(uint32_t member, uint64_t element) const
    {
        return RANK_VALUES * static_cast<uint32_t>(element % m_modulus) + member % RANK_VALUES;
    }

    /// @return the sum over all ranks
    uint64_t Sum(uint64_t element) const
    {
        return uint64_t{RANK_VALUES} * m_ranks * (element % m_modulus) + m_sumOfRanks;
    }

    uint64_t Expected(uint32_t member, uint64_t element) const
    {
        const auto part = static_cast<uint32_t>(element / m_count);
        const uint64_t within = element % m_count;
        switch (m_operation)
        {
        case ns3::CcloOperation::Bcast:
            return Value(m_root, element);
        case ns3::CcloOperation::Scatter:
            return Value(m_root, member * m_count + element);
        case ns3::CcloOperation::Gather:
        case ns3::CcloOperation::AllGather:
            return Value(part, within);
        case ns3::CcloOperation::AllToAll:
            return Value(part, member * m_count + within);
        case ns3::CcloOperation::ReduceScatter:
            return Sum(member * m_count + element);
        default:
            return Sum(element);
        }
    }

    ns3::CcloOperation m_operation;
    uint64_t m_count;
    uint32_t m_root;
    uint32_t m_ranks;
    uint32_t m_modulus;
    uint64_t m_sumOfRanks{0}; ///< of r mod 64
};

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
