/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_IMPLEMENTATION_H
#define COLLECTIVE_IMPLEMENTATION_H

#include "collective-choice.h"
#include "collective-types.h"
#include "gpu-model.h"
#include "rank-network.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace AstraSim
{

class CollectiveData;

/// A collective whose ranks begin together, alone on its links, and end together.
struct CollectiveInStep
{
    TimePs duration;
    std::span<const uint32_t> links; ///< of the network, by its numbers; owned by the plan
};

/**
 * @ingroup collectives
 * @brief One rank's part of one collective while it runs.
 *
 * It talks to the network only, through the RankNetwork it was made with.
 */
class RankCollective
{
  public:
    virtual ~RankCollective() = default;

    /// Begin; called once. The done handler may run only from the network's event loop.
    virtual void Start() = 0;

    /// @return this rank's wait, in one line (for stuck runs)
    virtual std::string DescribeWait() const = 0;

    /// Send and receive real data; called before Start(). @param data outlives the object
    /// @return whether this kind of collective can
    virtual bool CarryData(CollectiveData& data)
    {
        return false;
    }
};

/**
 * @ingroup collectives
 * @brief One instance of a collective on a group, shared by all its ranks.
 *
 * Holds the plan (choice, flow graph) once; each rank's executor refers to it.
 */
class CollectivePlan
{
  public:
    virtual ~CollectivePlan() = default;

    /// @return the choice made for this collective
    const CollectiveChoice& GetChoice() const
    {
        return m_choice;
    }

    /// @return the flows, where they follow from a graph
    virtual TimedGraph GetGraph() const
    {
        return {};
    }

    /// @return whether its ranks send by other means than RankNetwork, and check their data
    /// themselves
    virtual bool ChecksItself() const
    {
        return false;
    }

    /// @return the course of this collective if all ranks begin together on links that nothing
    /// else uses; nothing if it is not known beforehand, or if some ranks end later than others
    virtual std::optional<CollectiveInStep> FindInStep() const
    {
        return std::nullopt;
    }

    /// The collective took FindInStep()'s course @p times times, without CreateRank().
    virtual void CountInStep(uint32_t times) const
    {
    }

    /**
     * @param rankIndex index in the group
     * @param network the rank's network
     * @param tagBase first of 256 message tags that belong to this instance alone
     * @param info copied into every message's request (layer, collective id)
     * @param done called once, from the event loop, when this rank has sent and received all
     * @return this rank's executor
     */
    virtual std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                                       RankNetwork& network,
                                                       int tagBase,
                                                       const MessageInfo& info,
                                                       std::function<void()> done) const = 0;

  protected:
    explicit CollectivePlan(CollectiveChoice choice)
        : m_choice(std::move(choice))
    {
    }

  private:
    CollectiveChoice m_choice;
};

/**
 * @ingroup collectives
 * @brief A way to carry out collectives: MockNcclGroup, or a native algorithm of ASTRA-sim.
 *
 * Plans are cached by the implementation where the same (group, op, bytes) comes again.
 */
class CollectiveImplementation
{
  public:
    virtual ~CollectiveImplementation() = default;

    /**
     * @return the plan for @p request on @p group; never null
     * @throw ns3::InputError if this combination cannot be carried out
     */
    virtual std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                                       const CollectiveRequest& request) = 0;
};

} // namespace AstraSim

#endif /* COLLECTIVE_IMPLEMENTATION_H */
