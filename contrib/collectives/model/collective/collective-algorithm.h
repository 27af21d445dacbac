/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_ALGORITHM_H
#define COLLECTIVE_ALGORITHM_H

#include "collective-types.h"
#include "gpu-model.h"

#include "ns3/named-kind.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A collective on a group of a machine, as an algorithm is asked about it.
struct CollectiveTask
{
    CollectiveRequest request;
    std::vector<uint32_t> servers; ///< of each rank of the group, numbered from 0
    double nvlinkGBps{0};          ///< of a GPU in one direction
    double nicGBps{0}; ///< for the group, of all NICs of one GPU, or of one that GPUs share
    /// Latency before each message that the user gives (AS_SEND_LAT), in place of all others.
    std::optional<TimePs> sendLatency;

    /// Times of a thread block of a kernel on the machine.
    struct Block
    {
        TimePs start{0};   ///< once per collective: launching the kernel
        TimePs step{0};    ///< before each message within a server
        TimePs netStep{0}; ///< before each message between servers
        double GBps{0};    ///< that it moves over a link in a server, flags included
    };

    std::array<Block, 3> blocks{}; ///< by NCCL's protocols: LL, LL128, Simple

    /// A kernel of an inference engine for AllReduces in one server.
    struct EngineKernel
    {
        uint32_t shots; ///< 1: a GPU reads all data of all others; 2: a part, then the sums
        TimePs start;   ///< before the first byte
        double GBps;    ///< of the data that a GPU reads from others
    };

    /// That of the engine that the user names (AS_ENGINE_ALLREDUCE), if it has one for this.
    std::optional<EngineKernel> engine{};

    std::string generation{};     ///< of the GPUs, as the table of GPU types names it
    double linkGBps{0};           ///< that one channel, or one copy, moves over a link in a server
    bool hasNvSwitch{false};      ///< whether switches join the GPUs of a server
    std::vector<uint32_t> nics{}; ///< of each rank: ranks that share a NIC have the same number
    /// Steps of an algorithm of ASTRA-sim that may be under way at a time; none: as many as it can.
    std::optional<uint32_t> window{};

    /// @return another collective on the same machine, on ranks with these servers and NICs
    CollectiveTask On(const CollectiveRequest& other,
                      std::vector<uint32_t> itsServers,
                      std::vector<uint32_t> itsNics) const
    {
        CollectiveTask task = *this;
        task.request = other;
        task.servers = std::move(itsServers);
        task.nics = std::move(itsNics);
        return task;
    }
};

/**
 * @ingroup collectives
 * @brief An algorithm for collectives beside NCCL's: a plug-in.
 *
 * A static object makes it known, from any file of a program. Where it can carry out a collective,
 * it is chosen if it costs less than NCCL's own algorithms, or if NCCL_ALGO names it. For AllToAll,
 * AllToAllV, Gather, Scatter and SendRecv NCCL has nothing but sends between pairs, and no
 * estimate: there an algorithm that can is chosen unless NCCL_ALGO leaves it out.
 *
 * @code
 * const CollectiveAlgorithm oneShot("OneShot",
 *                                   {.can = IsSmallAllReduce, .cost = OneShotTime, .graph =
 * MakeOneShot});
 * @endcode
 */
class CollectiveAlgorithm : public ns3::NamedKind<CollectiveAlgorithm>
{
  public:
    /// Conditions on which it is chosen where it can carry out a collective.
    enum class Choice : uint8_t
    {
        ByCost,    ///< it costs less than NCCL's algorithms
        Always,    ///< unless NCCL_ALGO leaves it out
        Apart,     ///< a kernel of the engine in AS_ENGINE_ALLREDUCE, also where NCCL_ALGO names
                   ///< another
        ByLibrary, ///< its library decides by rules of its own: NCCL's
    };

    /// How its messages grow with the servers of a group; estimates of large groups follow from
    /// smaller ones by it.
    enum class Growth : uint8_t
    {
        Own,       ///< by a rule of its own: a smaller group says nothing of a larger one
        Steps,     ///< each further server adds the same steps, of as many bytes as the others
        Levels,    ///< each doubling adds the same level, and each server has all bytes
        Depths,    ///< by the depth of trees, which no line goes through
        Predicted, ///< switches reduce at rates that no machine has: its cost stands for its time
    };

    struct Rules
    {
        /// @return whether it carries out such a collective
        std::function<bool(const CollectiveTask&)> can;
        /// @return picoseconds that it is expected to take
        std::function<TimePs(const CollectiveTask&)> cost;
        /// @return the messages of ranks and their order
        std::function<std::shared_ptr<const FlowGraph>(const CollectiveTask&)> graph;
        /// @return how long GPUs take for its messages; none: no time, the network alone sets the
        /// pace. BlockTimes is that of blocks as NCCL's.
        std::function<std::shared_ptr<const GpuModel>(const CollectiveTask&)> gpu{};
        TimePs startLatency{0}; ///< before the first message of each rank, as launching a kernel
        /// The same where it depends on the machine; none: startLatency.
        std::function<TimePs(const CollectiveTask&)> start{};
        double wireInflation{1}; ///< bytes moved per byte of data: 2 with LL's flags
        Choice choice{Choice::ByCost};
        Growth growth{Growth::Own};
        /// The CollectiveLibrary that it is one of; empty: none, a plug-in.
        std::string library{};
    };

    /// @param name that no other algorithm has, in upper or lower case
    CollectiveAlgorithm(std::string name, Rules rules)
        : NamedKind(std::move(name)),
          m_rules(std::move(rules))
    {
    }

    const Rules& GetRules() const
    {
        return m_rules;
    }

  private:
    Rules m_rules;
};

/// @return an algorithm's name
inline const char*
ToString(const CollectiveAlgorithm* algorithm)
{
    return algorithm->GetName().c_str();
}

} // namespace AstraSim

#endif /* COLLECTIVE_ALGORITHM_H */
