/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MSCCL_PROGRAM_H
#define MSCCL_PROGRAM_H

#include "collectives/model/graph/nccl-protocol.h"

#include "ns3/collective-types.h"

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// A step of a thread block, which moves some chunks.
struct MscclStep
{
    /// Memories of a GPU.
    enum class Buffer : uint8_t
    {
        Input,
        Output,
        Scratch,
    };

    /// Chunks of a buffer.
    struct Place
    {
        Buffer buffer{Buffer::Input};
        int64_t offset{0};
    };

    bool receives{false}; ///< before all else
    bool adds{false};     ///< the received data, or the source, to the destination
    bool stores{false};   ///< in the destination
    bool sends{false};    ///< the result
    Place source;
    Place destination;
    uint32_t chunks{0};
    std::optional<uint32_t> block; ///< block of the same GPU with a step that must be done first
    uint32_t blockStep{0};         ///< which step of that block
    std::size_t line{0};           ///< of the file
};

/// A thread block: its steps follow one another.
struct MscclBlock
{
    std::optional<uint32_t> sendsTo; ///< a GPU
    std::optional<uint32_t> receivesFrom;
    uint32_t channel{0}; ///< of both connections
    std::vector<MscclStep> steps;
    std::size_t line{0};
};

/**
 * @ingroup collectives
 * @brief A collective as MSCCL's XML has it (https://github.com/microsoft/msccl).
 *
 * Each GPU has thread blocks of steps, which send and receive chunks, add and copy them, and wait
 * for each other. The collective's data are divided into as many chunks, and all steps are carried
 * out for a slice of each chunk after the other.
 */
struct MscclProgram
{
    std::string source; ///< the file, for messages
    NcclProtocol protocol{NcclProtocol::Simple};
    CollectiveOp op{CollectiveOp::AllReduce};
    uint32_t chunks{1};                        ///< of all data: nchunksperloop
    uint64_t minBytes{0};                      ///< of the data
    uint64_t maxBytes{UINT64_MAX};             ///< of the data
    bool inPlace{false};                       ///< input and output are the same memory
    uint32_t inputChunks{0};                   ///< of each GPU
    uint32_t outputChunks{0};                  ///< of each GPU
    std::vector<std::vector<MscclBlock>> gpus; ///< blocks by GPU

    /**
     * @param text of the file
     * @param name its name in errors
     * @throw ns3::InputError if it is no such program, if a step would wait for ever, or if the
     * collective's result does not come out
     */
    static MscclProgram Read(std::istream& text, const std::string& name);

    /// @return the block of a GPU that receives from another on a channel
    std::optional<uint32_t> FindReceiver(uint32_t gpu, uint32_t from, uint32_t channel) const;

    /// @return the block of a GPU that sends to another on a channel
    std::optional<uint32_t> FindSender(uint32_t gpu, uint32_t to, uint32_t channel) const;

  private:
    std::optional<uint32_t> FindBlock(uint32_t gpu,
                                      std::optional<uint32_t> MscclBlock::*end,
                                      uint32_t peer,
                                      uint32_t channel) const;
};

/// Carry a program out on symbols. @throw ns3::InputError as MscclProgram::Read() does
void CheckMscclProgram(const MscclProgram& program);

} // namespace AstraSim

#endif /* MSCCL_PROGRAM_H */
