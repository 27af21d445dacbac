/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "inference-workload.h"

#include "serving-engine.h"

#include <fmt/format.h>

namespace AstraSim
{

InferenceWorkload::InferenceWorkload(ServingConfig config)
    : Workload({.file = config.file, .layers = ServingEngine::NameLayers(config)}),
      m_config(std::move(config)),
      m_engine(std::make_unique<ServingEngine>(m_config))
{
}

InferenceWorkload::~InferenceWorkload() = default;

void
InferenceWorkload::Bind(const std::vector<int>& ranks)
{
    m_engine->Bind(ranks);
}

std::unique_ptr<RankWorkload>
InferenceWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return m_engine->CreateRank(rank, sys);
}

std::vector<std::string>
InferenceWorkload::GetWarnings() const
{
    std::vector<std::string> warnings;
    if (m_config.leftOut > 0)
    {
        warnings.push_back(m_config.whyLeftOut);
    }
    if (m_config.refused > 0)
    {
        warnings.push_back(
            fmt::format("{}: {} of {} requests do not fit and are refused; the first of them, {}",
                        m_config.file,
                        m_config.refused,
                        m_config.requests.size() + m_config.refused,
                        m_config.firstRefused));
    }
    return warnings;
}

uint64_t
InferenceWorkload::CountLeftOut() const
{
    return m_config.leftOut;
}

uint64_t
InferenceWorkload::GetRowLimit() const
{
    return 200'000; // 30 MB: some 1,200 steps of Llama 3 70B
}

std::string
InferenceWorkload::GetSummary() const
{
    return m_engine->GetSummary();
}

} // namespace AstraSim
