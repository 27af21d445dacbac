/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "message-header.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <zlib.h>

namespace AstraSim
{

namespace
{

uint32_t
Crc32(const void* data, std::size_t bytes)
{
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

uint32_t
HeaderChecksum(const MessageHeader& header)
{
    return Crc32(&header, offsetof(MessageHeader, headerChecksum));
}

std::string
Describe(const MessageHeader& header)
{
    return fmt::format("message {} of {} bytes from rank {} to rank {} (tag {:016x})",
                       header.number,
                       header.bytes,
                       header.src,
                       header.dst,
                       header.tag);
}

/// A random generator seeded with the message's identity (splitmix64).
class PayloadWords
{
  public:
    explicit PayloadWords(const MessageHeader& header)
        : m_state(header.tag * 0x9e3779b97f4a7c15U ^
                  (uint64_t{header.src} << 40 | uint64_t{header.dst} << 20) ^ header.number)
    {
    }

    uint64_t Next()
    {
        uint64_t word = m_state += 0x9e3779b97f4a7c15U;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
        word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
        return word ^ (word >> 31);
    }

  private:
    uint64_t m_state;
};

} // namespace

void
MessageHeader::Seal(const std::byte* payload)
{
    hasPayloadChecksum = payload != nullptr;
    payloadChecksum = payload ? Crc32(payload, bytes) : 0;
    headerChecksum = HeaderChecksum(*this);
}

std::optional<std::string>
MessageHeader::FindMistake(const MessageHeader& expected, const std::byte* payload) const
{
    if (magic != MAGIC || headerChecksum != HeaderChecksum(*this))
    {
        return "the header of " + Describe(expected) + " is damaged";
    }
    if (src != expected.src || dst != expected.dst || tag != expected.tag ||
        number != expected.number)
    {
        return Describe(*this) + " came in place of " + Describe(expected);
    }
    if (bytes != expected.bytes)
    {
        return fmt::format("rank {} receives {} bytes from rank {}, which sent {}",
                           dst,
                           expected.bytes,
                           src,
                           bytes);
    }
    if (hasPayloadChecksum && payloadChecksum != Crc32(payload, bytes))
    {
        return "the payload of " + Describe(*this) + " is damaged";
    }
    return std::nullopt;
}

uint64_t
FabricTag::Of(const MessageInfo* info, int tag, uint32_t iteration)
{
    constexpr uint64_t MAX_GROUPS = uint64_t{1} << 19;
    constexpr uint64_t FIRST_OF_DIMENSIONS = uint64_t{1} << 30; // ids from here on are
                                                                // LogicalTopology's groups
    constexpr uint64_t MAX_COLLECTIVES = uint64_t{1} << 27;
    constexpr uint64_t MESSAGE = uint64_t{1} << 63;
    const uint64_t low = iteration % 64;
    if (!info || info->collectiveKey == MessageInfo::NO_COLLECTIVE)
    {
        return MESSAGE | static_cast<uint64_t>(static_cast<uint32_t>(tag)) << 6 | low;
    }
    const uint64_t id = info->collectiveKey >> 32;
    const bool isOfDimension = id >= FIRST_OF_DIMENSIONS;
    const uint64_t group = isOfDimension ? id - FIRST_OF_DIMENSIONS : id;
    const uint64_t number = info->collectiveKey & UINT32_MAX;
    if (group >= MAX_GROUPS || number >= MAX_COLLECTIVES)
    {
        throw ns3::InputError("workload",
                              0,
                              fmt::format("has collective {} of group {}", number, id),
                              fmt::format("at most {} groups and {} collectives of each",
                                          MAX_GROUPS,
                                          MAX_COLLECTIVES));
    }
    const auto lane = static_cast<uint64_t>(static_cast<uint32_t>(tag) & 0xff);
    const uint64_t kind = isOfDimension ? MAX_GROUPS : 0;
    return (kind | group) << 42 | number << 15 | lane << 7 | (info->isCredit ? 64U : 0U) | low;
}

void
FillPayload(const MessageHeader& header, std::byte* payload)
{
    PayloadWords words(header);
    for (uint64_t done = 0; done < header.bytes; done += sizeof(uint64_t))
    {
        const uint64_t word = words.Next();
        std::memcpy(payload + done, &word, std::min<uint64_t>(sizeof word, header.bytes - done));
    }
}

bool
IsPayloadOf(const MessageHeader& header, const std::byte* payload)
{
    PayloadWords words(header);
    for (uint64_t done = 0; done < header.bytes; done += sizeof(uint64_t))
    {
        const uint64_t word = words.Next();
        if (std::memcmp(payload + done,
                        &word,
                        std::min<uint64_t>(sizeof word, header.bytes - done)) != 0)
        {
            return false;
        }
    }
    return true;
}

} // namespace AstraSim
