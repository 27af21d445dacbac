/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GPU_TABLE_H
#define GPU_TABLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
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

/// Orders in which rings visit the GPUs of a server where links join some of them only, as a
/// library has them for this server.
struct ServerRings
{
    static constexpr uint32_t GPUS = 8; ///< of the server
    using Order = std::array<uint8_t, GPUS>;

    std::array<Order, 4> withinNode;   ///< channels take one after the other
    std::array<Order, 4> betweenNodes; ///< each from the GPU of the NIC that it comes in by
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
 * @brief The GPU types that NCCL's choices are known for: built-in ones, and a user's.
 *
 * A file has a line per type: name, generation, GB/s of a channel, GB/s of all NVLinks of a GPU in
 * one direction. A row with the name of another replaces it. '#' begins a comment.
 *
 * Up to three further fields give the sender's CPU time for messages between servers, by rising
 * limits: BYTES:US or BYTES:US:GBPS. A message of more than BYTES keeps it busy for US
 * microseconds, and while it leaves at GBPS GB/s. This is the overhead o of the LogP models, and
 * LogGPS's change of protocol with the size (Ino, Fujimoto, Hagihara: LogGPS, PPoPP 2001).
 *
 * @code
 * # name   generation  channel  NVLink  messages
 * MyGpu    Blackwell   40       640
 * H100     Hopper      30       340
 * MyHost   Hopper      1.25     1.25    0:4:1.25  16384:20:1.25
 * @endcode
 */
class GpuTable
{
  public:
    /// The built-in types.
    GpuTable();

    /// The built-in types and those of a file. @throw ns3::InputError if it is wrong
    static GpuTable Read(const std::string& path);

    /// Add rows. @param source the text's name in errors
    void AddRows(std::istream& text, const std::string& source);

    /// @return a type; null if the table does not have it
    const GpuProfile* Find(const std::string& name) const;

    /// @return the names of all types, separated by commas
    std::string GetNames() const;

  private:
    std::vector<GpuProfile> m_rows;
};

} // namespace AstraSim

#endif /* GPU_TABLE_H */
