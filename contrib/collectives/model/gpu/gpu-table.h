/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GPU_TABLE_H
#define GPU_TABLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// GPU generation, as NCCL's tables and RCCL's have it, or an architecture of another library.
enum class GpuGeneration : uint8_t
{
    Ampere,
    Hopper,
    Blackwell,
    Cdna2,   ///< AMD's gfx90a: MI250X
    Cdna3,   ///< AMD's gfx942: MI300X, MI325X
    Cdna4,   ///< AMD's gfx950: MI350X, MI355X
    DaVinci, ///< Huawei's Ascend 910B and 910C
};

inline constexpr std::size_t GPU_GENERATIONS = 7; ///< of GpuGeneration

/// @return "Ampere", "Hopper", "Blackwell", "CDNA2", "CDNA3", "CDNA4" or "DaVinci"
const char* ToString(GpuGeneration generation);

/// @return the names of all, as a sentence lists them
std::string ListGpuGenerations();

/// @return the generation of that name; empty if there is none
std::optional<GpuGeneration> ParseGpuGeneration(std::string_view text);

/// @return whether the GPU is AMD's: RCCL carries out its collectives
constexpr bool
IsAmd(GpuGeneration generation)
{
    return generation == GpuGeneration::Cdna2 || generation == GpuGeneration::Cdna3 ||
           generation == GpuGeneration::Cdna4;
}

/// @return whether NCCL or RCCL carries out the GPU's collectives, not another library
constexpr bool
HasNccl(GpuGeneration generation)
{
    return generation != GpuGeneration::DaVinci;
}

/// Orders in which a library's rings visit the GPUs of a server in which links join only some
/// pairs.
struct ServerRings
{
    static constexpr uint32_t GPUS = 8; ///< of the server
    using Order = std::array<uint8_t, GPUS>;

    std::array<Order, 4> withinNode;   ///< the orders of successive channels
    std::array<Order, 4> betweenNodes; ///< each from the GPU with the NIC at which the ring enters
};

/// NCCL's view of a GPU model.
struct GpuProfile
{
    std::string name;
    GpuGeneration generation{GpuGeneration::Hopper};
    /// Rate at which one channel copies within a node, GB/s, and how many such channels a node's
    /// NVLinks hold (NCCL src/graph/search.cc: speeds it tries; topo.h: NVLink rates).
    double channelGBps{30};
    double nvlinkGBps{360}; ///< NCCL's usable NVLink rate of a GPU in one direction
    bool meshed{false};  ///< NVLinks or xGMI join the GPUs of a node directly, without an NVSwitch
    bool onGrace{false}; ///< the CPU is on the same module: NICs are reached over it
    /// GB/s of the PCIe slot between GPU and NICs in one direction; 0: there is none, or unknown.
    double pcieGBps{0};
    const ServerRings* rings{nullptr}; ///< null where every order is as good

    /// Cost of a message between servers for a CPU that sends it by itself.
    struct MessageCost
    {
        uint64_t above; ///< bytes on the wire: longer messages cost this
        double us;      ///< before the message leaves
        double GBps;    ///< at which the CPU moves it while it leaves; 0: something else does
    };

    static constexpr std::size_t MOST_MESSAGE_COSTS = 3;
    /// By rising limit: the last that a message exceeds counts. None: as the network kind has it.
    std::vector<MessageCost> messageCosts{};
};

/**
 * @ingroup collectives
 * @brief The GPU types that collectives are known for: built-in ones, and a user's.
 *
 * The built-in rows are python/clustersim/gpus.yaml, whose first lines explain the fields. Each
 * reader takes the fields that it needs and knows the names of the others. A user's file has the
 * same form. Its row takes the place of a built-in one of the same name.
 *
 * `messages` gives the sender's CPU time for messages between servers, by rising limits. A message
 * of more than `above` bytes keeps it busy for `us` microseconds, and while it leaves at `gbps`
 * GB/s. This is the overhead o of the LogP models, and LogGPS's change of protocol with the size
 * (Ino, Fujimoto, Hagihara: LogGPS, PPoPP 2001).
 *
 * @code
 * MyGpu: {generation: Blackwell, channel_gbps: 40, usable_gbps: 640}
 * MyHost: {generation: Hopper, channel_gbps: 1.25, usable_gbps: 1.25,
 *          messages: [{above: 0, us: 4, gbps: 1.25}, {above: 16384, us: 20}]}
 * @endcode
 */
class GpuTable
{
  public:
    /// The built-in types.
    GpuTable();

    /// The built-in types and those of a file. @param path empty: none
    /// @throw ns3::InputError if it is wrong
    static GpuTable Read(const std::string& path);

    /// Add rows. @param source the text's name in errors
    void AddRows(const std::string& text, const std::string& source);

    /// @return a type; null if the table does not have it
    const GpuProfile* Find(const std::string& name) const;

    /// @return a warning if the file that was read has no row of the type
    /// @param type the topology's or the user's; empty: none
    std::vector<std::string> DescribeIdle(const std::string& type) const;

    /// @return the names that are right in place of @p unknown, for an error: "one of A100, ..."
    std::string Expected(const std::string& unknown) const;

  private:
    /// Names a table without rows.
    struct Empty
    {
    };

    explicit GpuTable(Empty)
    {
    }

    /// @return the rows that are compiled in
    static const GpuTable& GetBuiltIn();

    std::vector<GpuProfile> m_rows;
    std::vector<std::string> m_fields; ///< of built-in rows, those of other readers included
    std::vector<std::string> m_added;  ///< types of the file
    std::string m_file;
};

} // namespace AstraSim

#endif /* GPU_TABLE_H */
