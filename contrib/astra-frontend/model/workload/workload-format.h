/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_FORMAT_H
#define WORKLOAD_FORMAT_H

#include "layer-table.h"

#include <functional>
#include <string>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A format of workload files: a plug-in.
 *
 * Files of a format begin with its word. A static object makes it known:
 *
 * @code
 * LayerTable ReadSteps(const std::string& path); // throws ns3::InputError for a mistake
 * const WorkloadFormat steps("STEPS", ReadSteps);
 * @endcode
 */
class WorkloadFormat
{
  public:
    /// @param path of the file @return its contents
    using Reader = std::function<LayerTable(const std::string& path)>;

    /// @param word that no other format has
    WorkloadFormat(const std::string& word, Reader read);

    /// @return the reader of files that begin with @p word; empty if no object has made it known
    static Reader Find(const std::string& word);
};

} // namespace AstraSim

#endif /* WORKLOAD_FORMAT_H */
