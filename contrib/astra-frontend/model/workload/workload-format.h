/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_FORMAT_H
#define WORKLOAD_FORMAT_H

#include "layer-table.h"

#include "ns3/named-kind.h"

#include <functional>
#include <string>
#include <utility>

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
class WorkloadFormat : public ns3::NamedKind<WorkloadFormat>
{
  public:
    /// @param path of the file @return its contents
    using Reader = std::function<LayerTable(const std::string& path)>;

    /// @param word that no other format has
    WorkloadFormat(std::string word, Reader read)
        : NamedKind(std::move(word)),
          m_read(std::move(read))
    {
    }

    LayerTable Read(const std::string& path) const
    {
        return m_read(path);
    }

  private:
    Reader m_read;
};

} // namespace AstraSim

#endif /* WORKLOAD_FORMAT_H */
