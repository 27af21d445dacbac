/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "forwarded-collectives.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr std::size_t MOST_PLANS = 4096; ///< 3 kB each

/// One instance of a collective, and the ranks that wait for it.
struct Instance
{
    FastForward::Operation* operation{nullptr};
    std::vector<std::function<void()>> done; ///< by rank
    uint32_t left{0};                        ///< ranks that have not ended
};

/// One rank's part.
class ForwardedRank : public RankCollective
{
  public:
    ForwardedRank(FastForward& forward, std::shared_ptr<Instance> instance, uint32_t rank)
        : m_forward(forward),
          m_instance(std::move(instance)),
          m_rank(rank)
    {
    }

    void Start() override
    {
        m_forward.Begin(*m_instance->operation, m_rank);
    }

    std::string DescribeWait() const override
    {
        return "is fast-forwarded, and waits for its end or for other ranks to begin";
    }

  private:
    FastForward& m_forward;
    std::shared_ptr<Instance> m_instance;
    uint32_t m_rank;
};

class ForwardedPlan : public CollectivePlan, public std::enable_shared_from_this<ForwardedPlan>
{
  public:
    ForwardedPlan(std::shared_ptr<const CollectivePlan> inner,
                  const CommGroup& group,
                  const CollectiveRequest& request,
                  FastForward& forward,
                  ShapeFinder& shapes)
        : CollectivePlan(inner->GetChoice()),
          m_inner(std::move(inner)),
          m_what{false, group, request, {}},
          m_shape(FindShape(shapes)),
          m_forward(forward)
    {
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork&,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        auto& instance = m_instances[tagBase];
        if (!instance)
        {
            instance = std::make_shared<Instance>();
            instance->left = static_cast<uint32_t>(m_what.group.ranks.size());
            instance->done.resize(instance->left);
            PartOperation what = m_what;
            what.info = info;
            // The operation keeps its plan, and so its shape, for as long as its part of the
            // network knows it.
            instance->operation = &m_forward.Open(
                std::move(what),
                m_shape,
                [self = shared_from_this(), tagBase](uint32_t rank) { self->End(tagBase, rank); });
        }
        instance->done[rankIndex] = std::move(done);
        return std::make_unique<ForwardedRank>(m_forward, instance, rankIndex);
    }

    std::optional<CollectiveInStep> FindInStep() const override
    {
        if (!m_alone)
        {
            m_alone = m_forward.FindAlone(m_what, m_shape);
        }
        if (!m_alone || m_alone->first != m_alone->last)
        {
            return std::nullopt;
        }
        return CollectiveInStep{m_alone->last, m_shape.links};
    }

    void CountInStep(uint32_t times) const override
    {
        m_forward.CountAlone(*m_alone, times);
    }

    TimedGraph GetGraph() const override
    {
        return m_inner->GetGraph();
    }

  private:
    OperationShape FindShape(ShapeFinder& shapes) const
    {
        OperationShape shape = shapes.Find(m_what, m_inner->GetGraph());
        const CollectiveChoice& choice = GetChoice();
        shape.digest.Add(std::hash<std::string>()(choice.algorithm + "/" + choice.protocol));
        shape.digest.Add(uint64_t{choice.channels});
        return shape;
    }

    void End(int tagBase, uint32_t rank) const
    {
        const auto found = m_instances.find(tagBase);
        const auto done = std::move(found->second->done[rank]);
        if (--found->second->left == 0)
        {
            m_instances.erase(found);
        }
        done();
    }

    std::shared_ptr<const CollectivePlan> m_inner;
    PartOperation m_what;
    OperationShape m_shape;
    FastForward& m_forward;
    mutable std::map<int, std::shared_ptr<Instance>> m_instances; ///< by their first tags
    mutable std::optional<FastForward::Alone> m_alone;            ///< nothing: not asked for yet
};

} // namespace

std::shared_ptr<const CollectivePlan>
ForwardedCollectives::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    auto inner = m_inner.Plan(group, request);
    if (m_plans.size() >= MOST_PLANS && !m_plans.contains(inner.get()))
    {
        m_plans.clear(); // those in use live on
    }
    auto& plan = m_plans[inner.get()];
    if (!plan)
    {
        plan = std::make_shared<ForwardedPlan>(inner, group, request, m_forward, m_shapes);
    }
    return plan;
}

} // namespace AstraSim
