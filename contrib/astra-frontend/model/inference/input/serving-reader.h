/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_READER_H
#define SERVING_READER_H

#include "request-source.h"
#include "serving-config.h"
#include "serving-values.h"

#include "ns3/input-lines.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace AstraSim
{

/// Reads one INFERENCE file; ReadServingConfig() uses it.
class ServingReader
{
  public:
    explicit ServingReader(ns3::InputLines& lines);

    /// @return the file's contents @throw ns3::InputError
    ServingConfig Read();

  private:
    /// Readers of values, by key.
    using Readers = std::map<std::string_view, std::function<void()>>;

    void ReadKey();
    /// @return whether the key is one of them; then its value is read
    bool ReadOneOf(const Readers& readers, std::string_view key);
    /// @return whether the line's key is one of requests, routers or limits, and is read
    bool ReadRequestKey(std::string_view key);
    bool ReadModelKey(std::string_view key);
    bool ReadPoolKey(std::string_view key);
    void ReadInstances();
    RouterPolicy ReadRouter() const;
    TimePs ReadNanoseconds() const;
    void ReadCaptureSizes();
    /// Refuse keys that change nothing without another one.
    void RefuseIdleKeys() const;
    void MakeRequests();

    ns3::InputLines& m_lines;
    ServingValues m_values;
    ServingConfig m_config;
    InstancePool m_defaults;
    InstancePool* m_pool; ///< that keys of instances belong to
    /// Lines of the keys so far, with the instances that they are of; null: of all.
    std::map<std::pair<const InstancePool*, std::string>, std::size_t> m_seen;
    PoissonRequests m_poisson;
    std::string m_trace;
    std::size_t m_traceLine{0};
    double m_timeScale{1};
};

} // namespace AstraSim

#endif /* SERVING_READER_H */
