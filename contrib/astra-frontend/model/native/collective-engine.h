/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_ENGINE_H
#define COLLECTIVE_ENGINE_H

#include "ns3/collective-implementation.h"
#include "ns3/named-kind.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace ns3
{
class RdmaFabric;
} // namespace ns3

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Engines beside the GPUs, such as those of NICs, that carry out collectives on a fabric: a
 * plug-in.
 *
 * A static object makes an engine known, from any file of a program:
 *
 * @code
 * const CollectiveEngine::Kind mine("MINE", [](ns3::RdmaFabric& fabric, auto report) {
 *     return std::make_unique<MyEngine>(fabric, std::move(report));
 * });
 * @endcode
 *
 * COLLECTIVE_ENGINE names it, or a system file does, in small letters. A run makes no engine that
 * its inputs do not name.
 */
class CollectiveEngine : public CollectiveImplementation
{
  public:
    using Report = std::function<void(const std::string& what)>;

    /// An engine by its name.
    class Kind : public ns3::NamedKind<Kind>
    {
      public:
        /// @param fabric built; outlives the engine
        /// @param report receives wrong results; empty: nothing is checked
        using Make = std::function<std::unique_ptr<CollectiveEngine>(ns3::RdmaFabric& fabric,
                                                                     Report report)>;

        /// @param name in capital letters; no other engine has it
        Kind(std::string name, Make make)
            : NamedKind(std::move(name)),
              m_make(std::move(make))
        {
        }

        std::unique_ptr<CollectiveEngine> MakeOn(ns3::RdmaFabric& fabric, Report report) const
        {
            return m_make(fabric, std::move(report));
        }

      private:
        Make m_make;
    };

    /// @return the engine of a network
    using Lookup = std::function<CollectiveEngine&(const Kind& kind)>;

    /// @return collectives with results compared on all ranks
    virtual uint64_t GetChecked() const = 0;
};

} // namespace AstraSim

#endif /* COLLECTIVE_ENGINE_H */
