/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reduced-collectives.h"

#include "collectives/model/graph/pair-bytes.h"
#include "rank-failure.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr uint32_t RANK_VALUES = 16; ///< small numbers: their sums over all ranks stay exact
constexpr uint64_t PLACE_VALUES = 61;

/// @return the request that is carried out in place of @p request
CollectiveRequest
Translate(const CommGroup& group, const CollectiveRequest& request)
{
    CollectiveRequest result = request;
    if (result.op == CollectiveOp::Barrier)
    {
        result.op = CollectiveOp::AllReduce;
        result.bytes = 4 * group.ranks.size();
    }
    return result;
}

float
ReadFloat(const std::byte* at)
{
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// @return the data that a message carries
Payload
PayloadOf(const FlowGraph& graph, uint32_t rank, uint32_t lane, uint64_t message)
{
    if (const auto payload = graph.GetPayload(rank, lane, message))
    {
        return *payload;
    }
    throw ns3::InputError("--reduce",
                          0,
                          "does not follow the data of PXN, NVLS and CollNet",
                          "Ring, Tree, PAT or direct: AS_PXN_ENABLE=0 NCCL_COLLNET_ENABLE=0");
}

/// @return the parts of an AllGather's or a ReduceScatter's data by their place: owners send their
/// blocks in the one and receive them in the other
std::map<uint64_t, Payload>
PartsOf(const FlowGraph& graph, CollectiveOp op)
{
    std::map<uint64_t, Payload> parts;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(rank, lane);
            for (uint64_t message = 0; message < out.messages; ++message)
            {
                const Payload part = PayloadOf(graph, rank, lane, message);
                if (part.bytes > 0 &&
                    part.owner == (op == CollectiveOp::AllGather ? rank : out.peer))
                {
                    parts.try_emplace(part.from, part);
                }
            }
        }
    }
    return parts;
}

/// One rank's part, with its data.
class ReducedRank : public RankCollective
{
  public:
    ReducedRank(const FlowGraph& graph,
                const CollectiveRequest& request,
                uint32_t rank,
                uint64_t number)
        : m_buffers(graph, request, rank, number)
    {
    }

    void SetInner(std::unique_ptr<RankCollective> inner)
    {
        m_inner = std::move(inner);
        m_inner->CarryData(m_buffers);
    }

    void Start() override
    {
        m_inner->Start();
    }

    std::string DescribeWait() const override
    {
        return m_inner->DescribeWait();
    }

    const RankBuffers& GetBuffers() const
    {
        return m_buffers;
    }

  private:
    RankBuffers m_buffers;
    std::unique_ptr<RankCollective> m_inner;
};

class ReducedPlan : public CollectivePlan
{
  public:
    ReducedPlan(std::shared_ptr<const CollectivePlan> inner,
                const CollectiveRequest& request,
                std::string name,
                std::shared_ptr<uint64_t> checked)
        : CollectivePlan(inner->GetChoice()),
          m_inner(std::move(inner)),
          m_request(request),
          m_name(std::move(name)),
          m_checked(std::move(checked))
    {
    }

    TimedGraph GetGraph() const override
    {
        return m_inner->GetGraph();
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        auto rank = std::make_unique<ReducedRank>(*m_inner->GetGraph().graph,
                                                  m_request,
                                                  rankIndex,
                                                  info.collectiveKey);
        const auto check = [this, self = rank.get(), done = std::move(done)] {
            if (const auto mistake = self->GetBuffers().FindMistake())
            {
                throw RankFailure(m_name + " has a wrong result: " + *mistake);
            }
            ++*m_checked;
            done();
        };
        rank->SetInner(m_inner->CreateRank(rankIndex, network, tagBase, info, check));
        return rank;
    }

  private:
    std::shared_ptr<const CollectivePlan> m_inner;
    CollectiveRequest m_request;
    std::string m_name;
    std::shared_ptr<uint64_t> m_checked;
};

} // namespace

RankBuffers::RankBuffers(const FlowGraph& graph,
                         const CollectiveRequest& request,
                         uint32_t rank,
                         uint64_t number)
    : m_graph(graph),
      m_request(request),
      m_rank(rank),
      m_number(number),
      m_isFloat(request.bytes % (sizeof(float) * graph.GetRanks()) == 0)
{
    MakeBuffers();
    if (m_request.op != CollectiveOp::AllGather)
    {
        Fill(m_buffer, 0, m_buffer.size(), rank);
        return;
    }
    for (const auto& [place, part] : PartsOf(graph, m_request.op))
    {
        if (part.owner == rank)
        {
            Fill(m_buffer, place, part.bytes, rank);
        }
    }
}

void
RankBuffers::MakeBuffers()
{
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t lane = 0; lane < m_graph.GetLaneCount(); ++lane)
    {
        if (const uint64_t messages = m_graph.GetOutbound(m_rank, lane).messages)
        {
            const Payload last = PayloadOf(m_graph, m_rank, lane, messages - 1);
            sent = std::max(sent, last.from + last.bytes);
        }
        if (const uint64_t messages = m_graph.GetInbound(m_rank, lane).messages)
        {
            const Payload last = PayloadInto(lane, messages - 1);
            received = std::max(received, last.to + last.bytes);
        }
    }
    m_buffer.resize(IsPairwise(m_request.op) ? sent : m_request.bytes);
    if (IsPairwise(m_request.op))
    {
        m_received.emplace(received);
        m_isFloat = m_isFloat && m_request.op != CollectiveOp::AllToAllV;
    }
}

uint32_t
RankBuffers::NumberOf(uint32_t from, uint64_t element) const
{
    return (from % RANK_VALUES + 1) *
           (static_cast<uint32_t>((element + 7 * m_number) % PLACE_VALUES) + 1);
}

void
RankBuffers::Fill(std::vector<std::byte>& buffer,
                  uint64_t offset,
                  uint64_t bytes,
                  uint32_t from) const
{
    const uint64_t size = m_isFloat ? sizeof(float) : 1;
    for (uint64_t at = offset; at < offset + bytes; at += size)
    {
        const uint32_t number = NumberOf(from, at / size);
        if (m_isFloat)
        {
            const auto value = static_cast<float>(number);
            std::memcpy(&buffer[at], &value, sizeof value);
        }
        else
        {
            buffer[at] = static_cast<std::byte>(number);
        }
    }
}

Payload
RankBuffers::PayloadInto(uint32_t lane, uint64_t message) const
{
    return PayloadOf(m_graph,
                     m_graph.GetInbound(m_rank, lane).peer,
                     m_graph.GetPeerLane(m_rank, lane),
                     message);
}

std::vector<std::byte>&
RankBuffers::Target()
{
    return m_received ? *m_received : m_buffer;
}

void*
RankBuffers::GetOutgoing(uint32_t lane, uint64_t message)
{
    return m_buffer.data() + PayloadOf(m_graph, m_rank, lane, message).from;
}

void*
RankBuffers::GetIncoming(uint32_t lane, uint64_t message)
{
    auto& staging = m_staging[lane];
    staging.resize(std::max<std::size_t>(staging.size(), PayloadInto(lane, message).bytes));
    return staging.data();
}

void
RankBuffers::Arrived(uint32_t lane, uint64_t message)
{
    const Payload piece = PayloadInto(lane, message);
    const std::byte* from = m_staging[lane].data();
    std::byte* to = Target().data() + piece.to;
    if (!piece.adds)
    {
        std::memcpy(to, from, piece.bytes);
        return;
    }
    if (!m_isFloat)
    {
        std::transform(from, from + piece.bytes, to, to, [](std::byte a, std::byte b) {
            return static_cast<std::byte>(static_cast<uint8_t>(a) + static_cast<uint8_t>(b));
        });
        return;
    }
    for (uint64_t at = 0; at < piece.bytes; at += sizeof(float))
    {
        const float sum = ReadFloat(from + at) + ReadFloat(to + at);
        std::memcpy(to + at, &sum, sizeof sum);
    }
}

std::optional<std::string>
RankBuffers::FindMistakeIn(const std::vector<std::byte>& buffer,
                           uint64_t offset,
                           uint64_t bytes,
                           std::optional<uint32_t> from) const
{
    const uint64_t size = m_isFloat ? sizeof(float) : 1;
    uint32_t factor = 0; // sum over the source ranks of their factors of NumberOf(0, place)
    for (uint32_t rank = 0; rank < m_graph.GetRanks(); ++rank)
    {
        factor += !from || *from == rank ? rank % RANK_VALUES + 1 : 0;
    }
    for (uint64_t at = offset; at < offset + bytes; at += size)
    {
        const uint32_t expected = factor * NumberOf(0, at / size);
        const double value = m_isFloat ? ReadFloat(&buffer[at]) : static_cast<double>(buffer[at]);
        const double right = m_isFloat ? expected : expected % 256;
        if (value != right)
        {
            return fmt::format("{} at byte {} of {}; expected {}", value, at, buffer.size(), right);
        }
    }
    return std::nullopt;
}

std::optional<std::string>
RankBuffers::FindMistake() const
{
    const bool isRoot = static_cast<int>(m_rank) == m_request.root;
    switch (m_request.op)
    {
    case CollectiveOp::AllReduce:
        return FindMistakeIn(m_buffer, 0, m_buffer.size(), std::nullopt);
    case CollectiveOp::Reduce:
        return isRoot ? FindMistakeIn(m_buffer, 0, m_buffer.size(), std::nullopt) : std::nullopt;
    case CollectiveOp::Broadcast:
        return FindMistakeIn(m_buffer, 0, m_buffer.size(), m_request.root);
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
        for (const auto& [place, block] : PartsOf(m_graph, m_request.op))
        {
            const bool gathers = m_request.op == CollectiveOp::AllGather;
            if (!gathers && block.owner != m_rank)
            {
                continue;
            }
            const auto from = gathers ? std::optional(block.owner) : std::nullopt;
            if (auto mistake = FindMistakeIn(m_buffer, place, block.bytes, from))
            {
                return mistake;
            }
        }
        return std::nullopt;
    default:
        break;
    }
    // Pairs: the data from a rank are the piece for this rank in that rank's buffer.
    for (uint32_t lane = 0; lane < m_graph.GetLaneCount(); ++lane)
    {
        const Lane in = m_graph.GetInbound(m_rank, lane);
        for (uint64_t message = 0; message < in.messages; ++message)
        {
            const Payload piece = PayloadInto(lane, message);
            std::vector<std::byte> sent(piece.from + piece.bytes);
            Fill(sent, piece.from, piece.bytes, in.peer);
            if (std::memcmp(&sent[piece.from], m_received->data() + piece.to, piece.bytes) != 0)
            {
                return fmt::format("message {} from index {} of the group is another one's",
                                   message,
                                   in.peer);
            }
        }
    }
    return std::nullopt;
}

std::shared_ptr<const CollectivePlan>
ReducedCollectives::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    auto plan = m_inner.Plan(group, request);
    if (!plan->GetGraph().graph)
    {
        throw ns3::InputError("--reduce", 0, "needs collectives with a graph", "those of NCCL");
    }
    return std::make_shared<ReducedPlan>(std::move(plan),
                                         Translate(group, request),
                                         std::string(ToString(request.op)) + " of group " +
                                             group.name,
                                         m_checked);
}

} // namespace AstraSim
