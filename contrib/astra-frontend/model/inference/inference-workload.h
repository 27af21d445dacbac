/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INFERENCE_WORKLOAD_H
#define INFERENCE_WORKLOAD_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "astra-frontend/model/system/workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

class ServingEngine;

/**
 * @ingroup astra-frontend
 * @brief A job that serves requests: an INFERENCE file as a Workload.
 *
 * Its results are the tables requests, inference and instances of RunObserver::WorkloadResult().
 */
class InferenceWorkload : public Workload
{
  public:
    explicit InferenceWorkload(ServingConfig config);
    ~InferenceWorkload() override;

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;
    std::vector<std::string> GetWarnings() const override;
    uint64_t CountLeftOut() const override;
    uint64_t GetRowLimit() const override;
    std::string GetSummary() const override;

  private:
    ServingConfig m_config;
    std::unique_ptr<ServingEngine> m_engine;
};

} // namespace AstraSim

#endif /* INFERENCE_WORKLOAD_H */
