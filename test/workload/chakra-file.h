/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAKRA_FILE_H
#define CHAKRA_FILE_H

#include "ns3/chakra.pb.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <zlib.h>

namespace AstraSim
{

/// Writes a Chakra trace for a test.
class ChakraFile
{
  public:
    ChakraFile()
    {
        ChakraProtoMsg::GlobalMetadata metadata;
        metadata.set_version("0.0.4");
        Append(metadata);
    }

    /// @return the node, to which attributes can be added until the next call
    ChakraProtoMsg::Node Node(uint64_t id, ChakraProtoMsg::NodeType type)
    {
        ChakraProtoMsg::Node node;
        node.set_id(id);
        node.set_name("n" + std::to_string(id));
        node.set_type(type);
        return node;
    }

    ChakraFile& Add(const ChakraProtoMsg::Node& node)
    {
        Append(node);
        return *this;
    }

    /// A computation that takes @p microseconds.
    ChakraFile& Compute(uint64_t id, uint64_t microseconds, std::initializer_list<uint64_t> after)
    {
        auto node = Node(id, ChakraProtoMsg::COMP_NODE);
        node.set_duration_micros(microseconds);
        return Add(After(node, after));
    }

    ChakraFile& Collective(uint64_t id,
                           ChakraProtoMsg::CollectiveCommType type,
                           uint64_t bytes,
                           const std::string& group,
                           std::initializer_list<uint64_t> after)
    {
        auto node = Node(id, ChakraProtoMsg::COMM_COLL_NODE);
        SetNumber(node, "comm_type", type);
        SetNumber(node, "comm_size", static_cast<int64_t>(bytes));
        if (!group.empty())
        {
            auto* attribute = node.add_attr();
            attribute->set_name("pg_name");
            attribute->set_string_val(group);
        }
        return Add(After(node, after));
    }

    ChakraFile& Send(uint64_t id, int to, uint64_t bytes, std::initializer_list<uint64_t> after)
    {
        auto node = Node(id, ChakraProtoMsg::COMM_SEND_NODE);
        SetNumber(node, "comm_dst", to);
        SetNumber(node, "comm_size", static_cast<int64_t>(bytes));
        return Add(After(node, after));
    }

    ChakraFile& Receive(uint64_t id,
                        int from,
                        uint64_t bytes,
                        std::initializer_list<uint64_t> after)
    {
        auto node = Node(id, ChakraProtoMsg::COMM_RECV_NODE);
        SetNumber(node, "comm_src", from);
        SetNumber(node, "comm_size", static_cast<int64_t>(bytes));
        return Add(After(node, after));
    }

    static void SetNumber(ChakraProtoMsg::Node& node, const std::string& name, int64_t value)
    {
        auto* attribute = node.add_attr();
        attribute->set_name(name);
        attribute->set_int64_val(value);
    }

    static ChakraProtoMsg::Node& After(ChakraProtoMsg::Node& node,
                                       std::initializer_list<uint64_t> dependencies)
    {
        for (const uint64_t dependency : dependencies)
        {
            node.add_data_deps(dependency);
        }
        return node;
    }

    void Write(const std::filesystem::path& path) const
    {
        std::ofstream(path, std::ios::binary) << m_data;
    }

    void WriteCompressed(const std::filesystem::path& path) const
    {
        gzFile file = gzopen(path.c_str(), "wb");
        gzwrite(file, m_data.data(), static_cast<unsigned>(m_data.size()));
        gzclose(file);
    }

    const std::string& Data() const
    {
        return m_data;
    }

  private:
    template <typename Message>
    void Append(const Message& message)
    {
        const std::string text = message.SerializeAsString();
        std::size_t length = text.size();
        for (; length >= 0x80; length >>= 7)
        {
            m_data += static_cast<char>(length | 0x80);
        }
        m_data += static_cast<char>(length);
        m_data += text;
    }

    std::string m_data;
};

} // namespace AstraSim

#endif /* CHAKRA_FILE_H */
