/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_WORKLOAD_H
#define IDLE_WORKLOAD_H

#include "astra-frontend/model/system/workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A workload that does nothing by itself: tests drive the ranks' Sys.
class IdleWorkload : public Workload
{
  public:
    explicit IdleWorkload(std::string name = "idle")
        : Workload({std::move(name), std::vector<std::string>(100, "layer")})
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

    void Bind(const std::vector<int>& ranks) override
    {
        world = {0, GroupKind::Custom, "all", ranks};
    }

    std::unique_ptr<RankWorkload> CreateRank(uint32_t, Sys&) override
    {
        return std::make_unique<Rank>();
    }

    CommGroup world;
};

} // namespace AstraSim

#endif /* IDLE_WORKLOAD_H */
