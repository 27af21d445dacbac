/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REDUCED_COLLECTIVES_H
#define REDUCED_COLLECTIVES_H

#include "collectives/model/collective/collective-data.h"

#include "ns3/collective-implementation.h"
#include "ns3/flow-graph.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The buffers of one rank in one collective, filled with numbers that say which rank and
 * place they come from, and reduced for real.
 *
 * Elements are 32-bit floats that hold small whole numbers, so that sums are exact in any order; or
 * bytes that add modulo 256, where blocks are not of whole floats.
 */
class RankBuffers : public CollectiveData
{
  public:
    /**
     * @param graph outlives the object
     * @param rank index in the group
     * @param number of the collective, for numbers of its own
     * @throw ns3::InputError if the graph does not tell its payload
     */
    RankBuffers(const FlowGraph& graph,
                const CollectiveRequest& request,
                uint32_t rank,
                uint64_t number);

    void* GetOutgoing(uint32_t lane, uint64_t message) override;
    void* GetIncoming(uint32_t lane, uint64_t message) override;
    void Arrived(uint32_t lane, uint64_t message) override;

    /// @return the first place at which the result is wrong, and how; nothing if all is right
    std::optional<std::string> FindMistake() const;

  private:
    Payload PayloadInto(uint32_t lane, uint64_t message) const;
    /// Make the buffers, of pairs as large as the data in their messages.
    void MakeBuffers();
    std::vector<std::byte>& Target();
    void Fill(std::vector<std::byte>& buffer, uint64_t offset, uint64_t bytes, uint32_t from) const;
    /// @param from rank that an element comes from @return its number
    uint32_t NumberOf(uint32_t from, uint64_t element) const;
    std::optional<std::string> FindMistakeIn(const std::vector<std::byte>& buffer,
                                             uint64_t offset,
                                             uint64_t bytes,
                                             std::optional<uint32_t> from) const;

    const FlowGraph& m_graph;
    CollectiveRequest m_request;
    uint32_t m_rank;
    uint64_t m_number;
    bool m_isFloat;
    std::vector<std::byte> m_buffer;
    std::optional<std::vector<std::byte>> m_received;     ///< if not in m_buffer
    std::map<uint32_t, std::vector<std::byte>> m_staging; ///< by inbound lane
};

/**
 * @ingroup simulator
 * @brief Carries collectives out as another implementation does, on real data, and checks that each
 * rank ends with the operation's result.
 */
class ReducedCollectives : public CollectiveImplementation
{
  public:
    /// @param inner decides; outlives the object
    explicit ReducedCollectives(CollectiveImplementation& inner)
        : m_inner(inner)
    {
    }

    std::shared_ptr<const CollectivePlan> Plan(const CommGroup& group,
                                               const CollectiveRequest& request) override;

    /// @return results that were right; one that is wrong throws RankFailure
    uint64_t GetChecked() const
    {
        return *m_checked;
    }

  private:
    CollectiveImplementation& m_inner;
    std::shared_ptr<uint64_t> m_checked{std::make_shared<uint64_t>(0)};
};

} // namespace AstraSim

#endif /* REDUCED_COLLECTIVES_H */
