/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NCCL_PROTOCOL_H
#define NCCL_PROTOCOL_H

#include <cstddef>
#include <cstdint>

namespace AstraSim
{

/// NCCL's protocols.
enum class NcclProtocol : uint8_t
{
    Ll,
    Ll128,
    Simple,
};

constexpr std::size_t NCCL_PROTOCOLS = 3;

/// @return bytes on the wire per byte of data: LL sends as many flags, LL128 8 bytes of each 128
constexpr double
WireInflation(NcclProtocol protocol)
{
    return protocol == NcclProtocol::Ll ? 2 : protocol == NcclProtocol::Ll128 ? 128.0 / 120 : 1;
}

/// @return "LL", "LL128" or "Simple"
constexpr const char*
ToString(NcclProtocol protocol)
{
    constexpr const char* NAMES[] = {"LL", "LL128", "Simple"};
    return NAMES[static_cast<uint8_t>(protocol)];
}

} // namespace AstraSim

#endif /* NCCL_PROTOCOL_H */
