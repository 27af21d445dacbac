/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chakra-trace.h"

#include "ns3/chakra.pb.h"
#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <zlib.h>

namespace AstraSim
{

namespace
{

/// Larger messages are taken for a damaged length.
constexpr uint64_t LARGEST_MESSAGE = 1ULL << 30;

using Attribute = ChakraProtoMsg::AttributeProto;

/// @return an attribute's number, of any of the numeric types
std::optional<int64_t>
NumberOf(const Attribute& attribute)
{
    switch (attribute.value_case())
    {
    case Attribute::kInt32Val:
        return attribute.int32_val();
    case Attribute::kInt64Val:
        return attribute.int64_val();
    case Attribute::kUint32Val:
        return attribute.uint32_val();
    case Attribute::kUint64Val:
        return static_cast<int64_t>(attribute.uint64_val());
    case Attribute::kSint32Val:
        return attribute.sint32_val();
    case Attribute::kSint64Val:
        return attribute.sint64_val();
    case Attribute::kFixed32Val:
        return attribute.fixed32_val();
    case Attribute::kFixed64Val:
        return static_cast<int64_t>(attribute.fixed64_val());
    case Attribute::kSfixed32Val:
        return attribute.sfixed32_val();
    case Attribute::kSfixed64Val:
        return attribute.sfixed64_val();
    case Attribute::kBoolVal:
        return attribute.bool_val();
    case Attribute::kFloatVal:
        return static_cast<int64_t>(attribute.float_val());
    case Attribute::kDoubleVal:
        return static_cast<int64_t>(attribute.double_val());
    default:
        return std::nullopt;
    }
}

/// @return a list of truth values, from a list of any type of numbers; nothing for other types
std::optional<std::vector<bool>>
FlagsOf(const ChakraProtoMsg::AttributeProto& attribute)
{
    using Attribute = ChakraProtoMsg::AttributeProto;
    const auto convert = [](const auto& list) {
        std::vector<bool> flags;
        for (const auto value : list.values())
        {
            flags.push_back(value != 0);
        }
        return flags;
    };
    switch (attribute.value_case())
    {
    case Attribute::kBoolList:
        return convert(attribute.bool_list());
    case Attribute::kFloatList:
        return convert(attribute.float_list());
    case Attribute::kDoubleList:
        return convert(attribute.double_list());
    case Attribute::kInt32List:
        return convert(attribute.int32_list());
    case Attribute::kInt64List:
        return convert(attribute.int64_list());
    case Attribute::kUint32List:
        return convert(attribute.uint32_list());
    case Attribute::kUint64List:
        return convert(attribute.uint64_list());
    case Attribute::kSint32List:
        return convert(attribute.sint32_list());
    case Attribute::kSint64List:
        return convert(attribute.sint64_list());
    case Attribute::kFixed32List:
        return convert(attribute.fixed32_list());
    case Attribute::kFixed64List:
        return convert(attribute.fixed64_list());
    case Attribute::kSfixed32List:
        return convert(attribute.sfixed32_list());
    case Attribute::kSfixed64List:
        return convert(attribute.sfixed64_list());
    default: {
        const auto number = NumberOf(attribute);
        return number ? std::optional(std::vector<bool>{*number != 0}) : std::nullopt;
    }
    }
}

/// @return the name of a process group, which may be a number; nothing for other types
std::optional<std::string>
GroupNameOf(const ChakraProtoMsg::AttributeProto& attribute)
{
    using Attribute = ChakraProtoMsg::AttributeProto;
    switch (attribute.value_case())
    {
    case Attribute::kStringVal:
        return attribute.string_val();
    case Attribute::kBytesVal:
        return attribute.bytes_val();
    default: {
        const auto number = NumberOf(attribute);
        return number ? std::optional(std::to_string(*number)) : std::nullopt;
    }
    }
}

CollectiveOp
OpOf(int64_t type)
{
    switch (type)
    {
    case ChakraProtoMsg::ALL_REDUCE:
        return CollectiveOp::AllReduce;
    case ChakraProtoMsg::REDUCE:
        return CollectiveOp::Reduce;
    case ChakraProtoMsg::ALL_GATHER:
        return CollectiveOp::AllGather;
    case ChakraProtoMsg::GATHER:
        return CollectiveOp::Gather;
    case ChakraProtoMsg::SCATTER:
        return CollectiveOp::Scatter;
    case ChakraProtoMsg::BROADCAST:
        return CollectiveOp::Broadcast;
    case ChakraProtoMsg::ALL_TO_ALL:
        return CollectiveOp::AllToAll;
    case ChakraProtoMsg::REDUCE_SCATTER:
    case ChakraProtoMsg::REDUCE_SCATTER_BLOCK:
        return CollectiveOp::ReduceScatter;
    case ChakraProtoMsg::BARRIER:
        return CollectiveOp::Barrier;
    default:
        return CollectiveOp::None;
    }
}

/// Reads a node's attributes: all but its type and its dependencies.
/// @param commType gets "comm_type"
/// @return false for a number that is negative or too large, and for a value of a strange type
template <typename Attribute>
bool
TakeAttribute(const Attribute& attribute, ChakraNode& node, std::optional<int64_t>& commType)
{
    const std::string& name = attribute.name();
    if (name == "pg_name")
    {
        const auto group = GroupNameOf(attribute);
        node.group = group.value_or("");
        return group.has_value();
    }
    if (name == "involved_dim")
    {
        const auto flags = FlagsOf(attribute);
        node.involvedDimensions = flags.value_or(std::vector<bool>{});
        return flags.has_value();
    }
    const auto number = NumberOf(attribute);
    if (!number)
    {
        return true;
    }
    bool isValid = true;
    const auto set = [&](const char* wanted, auto& member, int64_t end = INT64_MAX) {
        if (name == wanted)
        {
            using Member = std::decay_t<decltype(member)>;
            isValid = *number >= 0 && std::in_range<Member>(*number) && *number < end;
            member = static_cast<Member>(*number);
        }
    };
    set("num_ops", node.operations);
    set("tensor_size", node.tensorBytes, SIZES_END);
    set("comm_size", node.commBytes, SIZES_END);
    set("comm_src", node.source);
    set("comm_dst", node.destination);
    set("comm_tag", node.tag);
    set("root_rank", node.root);
    if (name == "is_cpu_op")
    {
        node.isCpuOp = *number != 0;
    }
    else if (name == "comm_priority")
    {
        node.priority = static_cast<int>(*number);
    }
    else if (name == "comm_type")
    {
        commType = number;
    }
    return isValid;
}

/// @return whether a node has an attribute that is a number
bool
HasNumber(const ChakraProtoMsg::Node& message, std::string_view name)
{
    const auto& attributes = message.attr();
    return std::ranges::any_of(attributes, [name](const auto& attribute) {
        return attribute.name() == name && NumberOf(attribute);
    });
}

/// @return the attributes without which the bytes of a node, or where they go, would be a guess
std::vector<const char*>
NeededBy(const ChakraNode& node)
{
    switch (node.type)
    {
    case ChakraNode::Type::MemLoad:
    case ChakraNode::Type::MemStore:
        return {"tensor_size"};
    case ChakraNode::Type::Send:
        return {"comm_size", "comm_dst"};
    case ChakraNode::Type::Receive:
        return {"comm_size", "comm_src"};
    case ChakraNode::Type::Collective:
        return node.op == CollectiveOp::Barrier ? std::vector<const char*>{}
                                                : std::vector{"comm_size"};
    default:
        return {};
    }
}

} // namespace

ChakraTrace::ChakraTrace(const std::string& path)
    : m_path(path),
      m_file((ns3::CheckInputFile(path, "the Chakra trace of a rank"), gzopen(path.c_str(), "rb")))
{
    if (!m_file)
    {
        throw ns3::InputError(path, 0, "cannot be read", "the Chakra trace of a rank");
    }
    gzbuffer(static_cast<gzFile>(m_file), 1U << 16);
    ChakraProtoMsg::GlobalMetadata metadata;
    try
    {
        if (!ReadMessage() || !metadata.ParseFromString(m_message))
        {
            throw ns3::InputError(path, 0, "does not begin with GlobalMetadata", "a Chakra trace");
        }
    }
    catch (...)
    {
        gzclose(static_cast<gzFile>(m_file));
        throw;
    }
}

ChakraTrace::~ChakraTrace()
{
    gzclose(static_cast<gzFile>(m_file));
}

void
ChakraTrace::Fail(uint64_t id, const std::string& what, const std::string& expected) const
{
    throw ns3::InputError(m_path, 0, "node " + std::to_string(id) + " " + what, expected);
}

bool
ChakraTrace::ReadByte(uint8_t& byte)
{
    const int got = gzread(static_cast<gzFile>(m_file), &byte, 1);
    int error = Z_OK;
    gzerror(static_cast<gzFile>(m_file), &error);
    if (got < 0 || (got == 0 && error != Z_OK && error != Z_STREAM_END)) // also where gzip is cut
    {
        throw ns3::InputError(m_path,
                              0,
                              "cannot be decompressed after byte " + std::to_string(m_offset),
                              "an undamaged gzip file");
    }
    m_offset += static_cast<uint64_t>(got);
    return got == 1;
}

void
ChakraTrace::ReadExactly(char* data, std::size_t bytes)
{
    const int got = gzread(static_cast<gzFile>(m_file), data, static_cast<unsigned>(bytes));
    if (got < 0 || static_cast<std::size_t>(got) < bytes)
    {
        throw ns3::InputError(m_path,
                              0,
                              "ends inside a message that begins at byte " +
                                  std::to_string(m_offset),
                              std::to_string(bytes) + " bytes more");
    }
    m_offset += bytes;
}

bool
ChakraTrace::ReadMessage()
{
    uint64_t length = 0;
    uint8_t byte = 0;
    for (unsigned shift = 0;; shift += 7)
    {
        if (!ReadByte(byte))
        {
            if (shift == 0)
            {
                return false;
            }
            throw ns3::InputError(m_path, 0, "ends inside a message length", "a whole trace");
        }
        length |= uint64_t{byte & 0x7FU} << shift;
        if ((byte & 0x80U) == 0)
        {
            break;
        }
        if (shift >= 28)
        {
            length = LARGEST_MESSAGE;
            break;
        }
    }
    if (length >= LARGEST_MESSAGE)
    {
        throw ns3::InputError(m_path,
                              0,
                              "has no message length at byte " + std::to_string(m_offset),
                              "a Chakra trace");
    }
    m_message.resize(length);
    if (length > 0)
    {
        ReadExactly(m_message.data(), length);
    }
    return true;
}

bool
ChakraTrace::Next(ChakraNode& node)
{
    if (!ReadMessage())
    {
        return false;
    }
    ChakraProtoMsg::Node message;
    if (!message.ParseFromString(m_message))
    {
        throw ns3::InputError(m_path,
                              0,
                              "holds no node before byte " + std::to_string(m_offset),
                              "a Chakra trace");
    }
    node = {};
    node.id = message.id();
    node.name = message.name();
    if (node.name.find('\0') != std::string::npos)
    {
        Fail(node.id, "has a name with a NUL character", "a name that files can hold");
    }
    if (message.type() < ChakraProtoMsg::METADATA_NODE ||
        message.type() > ChakraProtoMsg::COMM_COLL_NODE)
    {
        Fail(node.id, "is of type " + std::to_string(message.type()), "a type from 1 to 7");
    }
    node.type = static_cast<ChakraNode::Type>(message.type() - ChakraProtoMsg::METADATA_NODE);
    node.dependencies.assign(message.data_deps().begin(), message.data_deps().end());
    node.dependencies.insert(node.dependencies.end(),
                             message.ctrl_deps().begin(),
                             message.ctrl_deps().end());
    std::ranges::sort(node.dependencies);
    node.dependencies.erase(std::unique(node.dependencies.begin(), node.dependencies.end()),
                            node.dependencies.end());
    node.duration = ns3::TimesPs(1'000'000, message.duration_micros());
    node.inputs = message.inputs().values();
    std::optional<int64_t> commType;
    for (const auto& attribute : message.attr())
    {
        if (!TakeAttribute(attribute, node, commType))
        {
            const auto number = NumberOf(attribute);
            Fail(node.id,
                 "has " + attribute.name() +
                     (number ? " " + std::to_string(*number) : " of another type"),
                 number ? "0 or more, sizes less than 2^53 bytes, other numbers less than 2^32"
                        : "a name or a number (pg_name), or a list of numbers (involved_dim)");
        }
    }
    if (node.type == ChakraNode::Type::Collective)
    {
        node.op = OpOf(commType.value_or(-1));
        if (node.op == CollectiveOp::None)
        {
            Fail(node.id,
                 commType ? "has comm_type " + std::to_string(*commType) : "has no comm_type",
                 "a collective from 0 (ALL_REDUCE) to 9 (BARRIER)");
        }
    }
    for (const char* name : NeededBy(node))
    {
        if (!HasNumber(message, name))
        {
            Fail(node.id, std::string("has no ") + name, "a number of that name");
        }
    }
    return true;
}

} // namespace AstraSim
