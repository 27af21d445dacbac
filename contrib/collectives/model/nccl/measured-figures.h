/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MEASURED_FIGURES_H
#define MEASURED_FIGURES_H

#include "collectives/model/gpu/gpu-table.h"

#include <array>
#include <string>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Measurements of GPUs' blocks and of the CPUs that serve their NICs: the figures of
 * measured-figures.yaml, a part of the library that has the meaning and the source of each.
 *
 * A file of a user's, a list in YAML, replaces some of them:
 *
 * @code
 * - {name: pair_cpu_us, is: 2.5}
 * - {name: nvls_hunk_us, of: [Blackwell], is: 1.2}
 * @endcode
 */
struct MeasuredFigures
{
    /// A figure of each generation of GPUs.
    using ByGeneration = std::array<double, GPU_GENERATIONS>;

    ByGeneration llStepUs{};
    double llStepDirectUs{};
    double llHiddenBytes{};
    ByGeneration pairEfficiency{};
    ByGeneration pairBlockEfficiency{};
    ByGeneration pairChunkUs{};
    double pairNetUs{};
    double pairCpuUs{};
    double pairAgainUs{};
    double mscclBlockGBps{};
    double pcieBlockGBps{};
    double hostMemoryGBps{};
    double nvlsSyncUs{};
    double nvlsLinkEfficiency{};
    ByGeneration nvlsHunkUs{};
    ByGeneration nvlsTreeHunkUs{};
    ByGeneration nvlsAloneUs{};
    ByGeneration nvlsMoreUs{};

    /// @return the built-in figures
    static const MeasuredFigures& GetBuiltIn();

    /// @return the built-in figures with those of a file in their places
    /// @throw ns3::InputError if it is wrong
    static MeasuredFigures Read(const std::string& path);

    /// Take figures. @param source the text's name in errors
    void Take(const std::string& text, const std::string& source);
};

} // namespace AstraSim

#endif /* MEASURED_FIGURES_H */
