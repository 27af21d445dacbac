/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PRIVATE_LINKS_H
#define PRIVATE_LINKS_H

#include "astra-frontend/model/inference/input/serving-config.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace AstraSim
{

class ServingInstance;
class Sys;

/**
 * @ingroup astra-frontend
 * @brief The links of a serving job that only one stage of one instance uses.
 *
 * On NVLink inside a server, a group of tensor parallelism has its links to itself, unless other
 * stages, other instances or caches on their way use them, too.
 */
class PrivateLinks
{
  public:
    /**
     * @param instances of all pools
     * @param sysOf the system layer of a rank of the job
     */
    PrivateLinks(const ServingConfig& config,
                 const std::vector<std::unique_ptr<ServingInstance>>& instances,
                 std::function<Sys&(uint32_t jobRank)> sysOf);

    /// @return whether a stage has all links between its ranks to itself
    bool IsAlone(uint32_t instance, uint32_t stage) const
    {
        return m_isKnown && !m_meeting.contains(OwnerOf(instance, stage));
    }

    /// @return whether nothing but that stage uses any of @p links
    bool Belong(std::span<const uint32_t> links, uint32_t instance, uint32_t stage) const;

  private:
    using SysOf = std::function<Sys&(uint32_t jobRank)>;

    static uint32_t OwnerOf(uint32_t instance, uint32_t stage)
    {
        return (instance << 16) | stage;
    }

    static constexpr uint32_t NOBODY = UINT32_MAX;
    static constexpr uint32_t SEVERAL = UINT32_MAX - 1;

    /// Note that a stage, or SEVERAL, sends messages from one rank of the job to another.
    void Claim(uint32_t from, uint32_t to, uint32_t channel, uint32_t owner);
    void ClaimGroups(const ServingInstance& instance);
    void ClaimPipelines(const ServingInstance& instance);
    void ClaimPool(const ServingConfig& config, const ServingInstance& instance);
    void ClaimCaches(const ServingInstance& from, const ServingInstance& to);

    SysOf m_sysOf;
    bool m_isKnown{true};           ///< the network knows its links
    std::vector<uint32_t> m_owners; ///< by link
    std::set<uint32_t> m_meeting;   ///< owners that share some of their links
};

} // namespace AstraSim

#endif /* PRIVATE_LINKS_H */
