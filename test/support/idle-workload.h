/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_WORKLOAD_H
#define IDLE_WORKLOAD_H

#include "astra-frontend/model/system/workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A workload that does nothing by itself: tests drive the ranks' Sys.
class IdleWorkload : public Workload
{
  public:
    explicit IdleWorkload(std::string name = "idle")
        : m_name(std::move(name))
    {
    }

    class Rank : public RankWorkload
    {
      public:
        void Start() override
        {
        }

        bool Finished() const override
        {
            return true;
        }

        std::vector<std::string> DescribeWaits() const override
        {
            return {};
        }
    };

    uint32_t GetRankCount() const override
    {
        return 0;
    }

    void Bind(const std::vector<int>& ranks) override
    {
        world = {0, GroupKind::Custom, "all", ranks};
    }

    std::unique_ptr<RankWorkload> CreateRank(uint32_t, Sys&) override
    {
        return std::make_unique<Rank>();
    }

    uint64_t GetCollectiveCount() const override
    {
        return 0;
    }

    uint32_t GetPassCount() const override
    {
        return 1;
    }

    uint32_t GetLayerCount() const override
    {
        return 100;
    }

    std::string_view GetLayerName(uint32_t) const override
    {
        return "layer";
    }

    const std::string& GetFileName() const override
    {
        return m_name;
    }

    CommGroup world;

  private:
    std::string m_name;
};

} // namespace AstraSim

#endif /* IDLE_WORKLOAD_H */
