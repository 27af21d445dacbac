/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "ns3/collective-types.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace AstraSim
{

class Sys;

/// The work of one rank, step by step; drives its Sys.
class RankWorkload
{
  public:
    virtual ~RankWorkload() = default;

    /// Begin; called once, inside the event loop or before it.
    virtual void Start() = 0;

    /// @return whether nothing remains to be done
    virtual bool Finished() const = 0;

    /// @return a line per thing this rank waits for (used when a run is stuck)
    virtual std::vector<std::string> DescribeWaits() const = 0;
};

/**
 * @ingroup astra-frontend
 * @brief A job's workload: the part that is the same for all its ranks.
 *
 * The system layer knows workloads through this interface only.
 */
class Workload
{
  public:
    /// The same for every rank.
    struct Outline
    {
        std::string file; ///< it was read from
        std::vector<std::string> layers;
        uint32_t ranks{0};  ///< that it is made for, or 0 if any number will do
        uint32_t passes{1}; ///< how often the whole is done
    };

    explicit Workload(Outline outline)
        : m_outline(std::move(outline))
    {
    }

    virtual ~Workload() = default;

    uint32_t GetRankCount() const
    {
        return m_outline.ranks;
    }

    uint32_t GetPassCount() const
    {
        return m_outline.passes;
    }

    uint32_t GetLayerCount() const
    {
        return static_cast<uint32_t>(m_outline.layers.size());
    }

    std::string_view GetLayerName(uint32_t layer) const
    {
        return m_outline.layers[layer];
    }

    const std::string& GetFileName() const
    {
        return m_outline.file;
    }

    /**
     * Place the workload on the network; called once, before CreateRank().
     * @param ranks the network's rank of each rank of the job
     * @throw ns3::InputError if the workload does not fit that number of ranks
     */
    virtual void Bind(const std::vector<int>& ranks) = 0;

    /// @param rank rank of the job @param sys its system layer @return its workload
    virtual std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) = 0;

    /// @return how many collectives and messages all ranks will do in all; 0 if unknown
    virtual uint64_t GetCollectiveCount() const
    {
        return 0;
    }

    /// @return the parts of its inputs that it leaves out, a line each
    virtual std::vector<std::string> GetWarnings() const
    {
        return {};
    }

    /// @return number of inference requests in its inputs that it leaves out, since they could
    /// never be served
    virtual uint64_t CountLeftOut() const
    {
        return 0;
    }

    /// @return the rows of collectives.csv that suffice unless the user wants more
    virtual uint64_t GetRowLimit() const
    {
        return UINT64_MAX;
    }

    /// @return its own results as lines for people, once it has finished; empty if it has none
    virtual std::string GetSummary() const
    {
        return {};
    }

  private:
    Outline m_outline;
};

} // namespace AstraSim

#endif /* WORKLOAD_H */
