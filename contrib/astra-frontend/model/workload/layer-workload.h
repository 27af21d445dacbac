/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LAYER_WORKLOAD_H
#define LAYER_WORKLOAD_H

#include "astra-frontend/model/system/workload.h"
#include "layer-program.h"
#include "layer-table.h"
#include "rank-layout.h"

#include <memory>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A SimAI text workload or micro lines on a set of ranks.
 *
 * The ranks of a pipeline stage share one program; each keeps a position in it.
 */
class LayerWorkload : public Workload
{
  public:
    /**
     * @param table the file's contents
     * @param options group sizes for files that have none (micro lines); a file's own go first
     * @param passes how often the whole is done
     * @param waits whether the weight gradients' collectives come at the end of a pass, and ranks
     * wait for each
     */
    LayerWorkload(LayerTable table,
                  const ParallelSizes& options,
                  uint32_t passes,
                  bool waits = false);

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;
    uint64_t GetCollectiveCount() const override;

    const LayerTable& GetTable() const
    {
        return m_table;
    }

    /// @return whether ranks wait for each of the weight gradients' collectives
    bool WaitsForGradients() const
    {
        return m_waits;
    }

    const RankLayout& GetLayout() const
    {
        return *m_layout;
    }

    /// @return whether the groups of micro lines follow the servers: see GroupSizes()
    bool GroupsAreServers() const
    {
        return m_groupsAreServers;
    }

    /// @return the program of pipeline stage @p stage
    const std::vector<ProgramStep>& GetProgram(uint32_t stage) const
    {
        return m_programs[stage];
    }

  private:
    /// A collective of one rank measures nothing. @throw ns3::InputError
    void RefuseMicroLinesOfOneRank() const;
    /// @throw ns3::InputError for a SENDRECV of a group of neither one rank nor two
    void RefuseSendRecvOfMany() const;

    LayerTable m_table;
    ParallelSizes m_options;
    bool m_waits;
    bool m_groupsAreServers{false};
    std::unique_ptr<RankLayout> m_layout;
    std::vector<std::vector<ProgramStep>> m_programs; ///< per pipeline stage
};

} // namespace AstraSim

#endif /* LAYER_WORKLOAD_H */
