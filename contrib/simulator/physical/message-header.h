/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MESSAGE_HEADER_H
#define MESSAGE_HEADER_H

#include "ns3/rank-network.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief Precedes the payload of each message of SimAI_phynet and says which message it is, so that
 * none is lost unnoticed or taken for another.
 *
 * In the byte order of the machine: all machines of a run are of one kind.
 */
struct MessageHeader
{
    static constexpr uint32_t MAGIC = 0x53694169;

    uint32_t magic{MAGIC};
    uint32_t src{0};
    uint32_t dst{0};
    uint32_t number{0};    ///< among the messages of this source, destination and tag, from 0
    uint64_t tag{0};       ///< FabricTag
    uint64_t bytes{0};     ///< of payload, as the collective counts them
    uint64_t wireBytes{0}; ///< of payload with the protocol's overhead
    int64_t sentPs{0};     ///< aligned clock
    uint32_t hasPayloadChecksum{0};
    uint32_t payloadChecksum{0}; ///< CRC-32 of the payload
    uint32_t reserved{0};
    uint32_t headerChecksum{0}; ///< CRC-32 of all before it

    /// Complete the header. @param payload of @ref bytes; null: nobody will check it
    void Seal(const std::byte* payload);

    /**
     * @param expected the expected message: source, destination, number, tag and bytes
     * @param payload the bytes that came after the header
     * @return the difference from the expected message, if there is one
     */
    std::optional<std::string> FindMistake(const MessageHeader& expected,
                                           const std::byte* payload) const;
};

static_assert(sizeof(MessageHeader) == 64);

/**
 * @ingroup simulator
 * @brief The 64 bits by which a fabric matches messages of one source and destination.
 *
 * A lane of a collective is named by group, number of the collective in its group, tag and
 * direction; all ranks of the group agree on them without asking each other. Two iterations of a
 * run differ in their lowest 6 bits.
 */
class FabricTag
{
  public:
    /// The tag of messages between ranks that are not the workload's.
    static constexpr uint64_t CONTROL = uint64_t{3} << 62;

    /**
     * @param info of a send or receive; its collectiveKey is the group's id << 32 | the number
     * of the collective in its group
     * @param tag as the system layer gives it
     * @throw ns3::InputError if the workload has more groups or collectives than a tag can name
     */
    static uint64_t Of(const MessageInfo* info, int tag, uint32_t iteration);
};

/// Fill a payload with bytes that follow from the message's header.
void FillPayload(const MessageHeader& header, std::byte* payload);

/// @return whether FillPayload() makes these bytes for that header
bool IsPayloadOf(const MessageHeader& header, const std::byte* payload);

} // namespace AstraSim

#endif /* MESSAGE_HEADER_H */
