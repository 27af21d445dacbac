/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_LIBRARY_H
#define COLLECTIVE_LIBRARY_H

#include "collectives/model/gpu/machine-model.h"
#include "library-options.h"

#include "ns3/collective-algorithm.h"
#include "ns3/collective-choice.h"
#include "ns3/collective-types.h"
#include "ns3/gpu-model.h"
#include "ns3/named-kind.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

struct NcclOptions;

/// A way of a library's to carry out a collective.
struct CollectiveOffer
{
    /// Ranks of offers: one of a higher rank counts, of two of the same the one that costs less.
    enum class Rank : uint8_t
    {
        Fallback, ///< if there is no other
        ByCost,
        Always,
        Apart,
    };

    const CollectiveAlgorithm* algorithm{nullptr};
    CollectiveChoice choice; ///< its names in records; the number of flows is not known yet
    TimePs cost{0};          ///< that the library expects
    Rank rank{Rank::ByCost};
    TimePs start{0};         ///< before the first message of each rank, as launching a kernel
    double wireInflation{1}; ///< bytes moved per byte of data
    /// @return its flows and how long GPUs take for them. The request may have other bytes than the
    /// one that was asked about, and the group fewer servers: the choice stays the same.
    std::function<TimedGraph(const CollectiveRequest&, const GroupShape&)> make;
};

/// A collective that libraries are asked about.
struct CollectiveQuestion
{
    const CommGroup& group;
    const GroupShape& shape;
    const CollectiveTask& task; ///< as algorithms see it, request included

    const CollectiveRequest& GetRequest() const
    {
        return task.request;
    }
};

/**
 * @ingroup collectives
 * @brief A library of collectives on the machine's GPUs: NCCL, RCCL, HCCL, an engine's kernels.
 *
 * It owns its options and its choice: asked about a collective, it offers one way to carry it out.
 * A static CollectiveLibrary::Kind makes it known, from any file of a program.
 */
class CollectiveLibrary
{
  public:
    /// The settings that a library is opened with.
    struct Inputs
    {
        const MachineModel& machine; ///< outlives the library, as do the others
        const LibraryOptions& options;
        const NcclOptions& nccl;
    };

    /// A library by its name.
    class Kind : public ns3::NamedKind<Kind>
    {
      public:
        /// @return the library; null if it does not serve the machine's GPUs
        /// @throw ns3::InputError if the user asks for more than it can do there
        using Open = std::function<std::unique_ptr<CollectiveLibrary>(const Inputs&)>;

        Kind(std::string name, Open open)
            : NamedKind(std::move(name)),
              m_open(std::move(open))
        {
        }

      private:
        friend class CollectiveLibrary;

        Open m_open;
    };

    /// @return all libraries that serve the machine, in the order of their names
    static std::vector<std::unique_ptr<CollectiveLibrary>> OpenAll(const Inputs& inputs);

    virtual ~CollectiveLibrary() = default;

    /// @return the library's own choice; nothing if it leaves the collective to others
    virtual std::optional<CollectiveOffer> Offer(const CollectiveQuestion& question) const = 0;

    /// Say in a task how fast its kernels are, for algorithms beside its own.
    virtual void Describe(CollectiveTask& task, const GroupShape& shape) const
    {
    }
};

} // namespace AstraSim

#endif /* COLLECTIVE_LIBRARY_H */
