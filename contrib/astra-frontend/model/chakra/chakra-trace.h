/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAKRA_TRACE_H
#define CHAKRA_TRACE_H

#include "ns3/collective-types.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <google/protobuf/stubs/logging.h>
#include <string>
#include <vector>

namespace AstraSim
{

/// One node of a Chakra execution trace, as far as it matters here.
struct ChakraNode
{
    enum class Type : uint8_t
    {
        Metadata,
        MemLoad,
        MemStore,
        Compute,
        Send,
        Receive,
        Collective,
    };

    uint64_t id{0};
    std::string name;
    Type type{Type::Metadata};
    std::vector<uint64_t> dependencies; ///< control and data, without duplicates
    TimePs duration{0};
    bool isCpuOp{false};
    uint64_t operations{0};
    uint64_t tensorBytes{0};
    CollectiveOp op{CollectiveOp::None};
    uint64_t commBytes{0};
    int priority{0};
    uint32_t source{0};
    uint32_t destination{0};
    uint32_t tag{0};
    uint32_t root{0};
    std::vector<bool> involvedDimensions; ///< of the logical topology; empty for all
    std::string group;                    ///< pg_name; empty for all ranks
    std::string inputs;                   ///< of metadata nodes: may hold a table of process groups
};

/**
 * @ingroup astra-frontend
 * @brief Reads a Chakra execution trace node by node, compressed with gzip or not.
 *
 * Only the current node is in memory, so a trace of any length can be read.
 */
class ChakraTrace
{
  public:
    /// @param path the file of one rank @throw ns3::InputError if it is no trace
    explicit ChakraTrace(const std::string& path);
    ~ChakraTrace();
    ChakraTrace(const ChakraTrace&) = delete;
    ChakraTrace& operator=(const ChakraTrace&) = delete;

    /**
     * @param node gets the next node
     * @return false at the end of the trace
     * @throw ns3::InputError if the file is damaged or the node makes no sense
     */
    bool Next(ChakraNode& node);

    const std::string& GetPath() const
    {
        return m_path;
    }

    /// @throw ns3::InputError about node @p id
    [[noreturn]] void Fail(uint64_t id, const std::string& what, const std::string& expected) const;

  private:
    bool ReadMessage();
    bool ReadByte(uint8_t& byte);
    void ReadExactly(char* data, std::size_t bytes);

    std::string m_path;
    google::protobuf::LogSilencer m_silencer; ///< protobuf's own messages; InputError reports
                                              ///< errors once
    void* m_file;                             ///< zlib's gzFile
    std::string m_message;
    uint64_t m_offset{0};
};

} // namespace AstraSim

#endif /* CHAKRA_TRACE_H */
