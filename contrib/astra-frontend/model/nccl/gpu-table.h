/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GPU_TABLE_H
#define GPU_TABLE_H

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace AstraSim
{

/// GPU generation, as NCCL's tables have it.
enum class GpuGeneration : uint8_t
{
    Ampere,
    Hopper,
    Blackwell,
};

/// @return "Ampere", "Hopper" or "Blackwell"
const char* ToString(GpuGeneration generation);

/// What NCCL knows of a GPU model.
struct GpuProfile
{
    std::string name;
    GpuGeneration generation{GpuGeneration::Hopper};
    /// What one channel copies within a node, GB/s, and how many such channels a node's NVLinks
    /// hold (NCCL src/graph/search.cc: speeds it tries; topo.h: NVLink rates).
    double channelGBps{30};
    double nvlinkGBps{360}; ///< NCCL's usable NVLink rate of a GPU in one direction
    bool meshed{false};     ///< NVLinks join the GPUs of a node directly, without an NVSwitch
    bool onGrace{false};    ///< the CPU is on the same module: NICs are reached over it
};

/**
 * @ingroup astra-frontend
 * @brief The GPU types that NCCL's choices are known for: built-in ones, and a user's.
 *
 * A file has a line per type: name, generation, GB/s of a channel, GB/s of all NVLinks of a GPU in
 * one direction. A row with the name of another replaces it. '#' begins a comment.
 *
 * @code
 * # name   generation  channel  NVLink
 * MyGpu    Blackwell   40       640
 * H100     Hopper      30       340
 * @endcode
 */
class GpuTable
{
  public:
    /// The built-in types.
    GpuTable();

    /// The built-in types and those of a file. @throw ns3::InputError if it is wrong
    static GpuTable Read(const std::string& path);

    /// Add rows. @param source what to call the text in errors
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
