/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-memory.h"

#include "ns3/abort.h"

#include <algorithm>
#include <new>
#include <utility>

namespace ns3
{

constexpr uint64_t HBM_BASE = 0x10'0000;
constexpr uint64_t DDR_BASE = 0x40'0000'0000;
constexpr uint64_t HOST_BASE = 0x7F00'0000'0000;

CcloMemory::CcloMemory(bool contents)
    : m_contents(contents),
      m_next{HBM_BASE, DDR_BASE, HOST_BASE}
{
}

uint64_t
CcloMemory::Allocate(uint64_t bytes, CcloMemoryKind kind)
{
    uint64_t& next = m_next[static_cast<uint8_t>(kind)];
    const uint64_t address = next;
    // A gap behind each buffer, so that no range spans two.
    next += (bytes / ALIGNMENT + 2) * ALIGNMENT;
    m_buffers.emplace(address, Buffer{.bytes = bytes, .held = 0, .data = nullptr});
    return address;
}

void
CcloMemory::Free(uint64_t address)
{
    NS_ABORT_MSG_UNLESS(m_buffers.erase(address), "no buffer begins at address " << address);
}

CcloMemoryKind
CcloMemory::KindOf(uint64_t address)
{
    return address >= HOST_BASE  ? CcloMemoryKind::Host
           : address >= DDR_BASE ? CcloMemoryKind::Ddr
                                 : CcloMemoryKind::Hbm;
}

std::map<uint64_t, CcloMemory::Buffer>::iterator
CcloMemory::Find(uint64_t address, uint64_t bytes)
{
    auto buffer = m_buffers.upper_bound(address);
    if (buffer == m_buffers.begin())
    {
        return m_buffers.end();
    }
    --buffer;
    return address + bytes <= buffer->first + buffer->second.bytes ? buffer : m_buffers.end();
}

bool
CcloMemory::Contains(uint64_t address, uint64_t bytes)
{
    return Find(address, bytes) != m_buffers.end();
}

void
CcloMemory::Hold(Buffer& buffer, uint64_t bytes)
{
    if (bytes <= buffer.held)
    {
        return;
    }
    // At least twice as many, so that a buffer looked at in order is copied a few times only.
    const uint64_t held = std::min(buffer.bytes, std::max(bytes, 2 * buffer.held));
    std::unique_ptr<uint8_t, Release> data(static_cast<uint8_t*>(std::calloc(held, 1)));
    if (!data)
    {
        throw std::bad_alloc();
    }
    std::copy_n(buffer.data.get(), buffer.held, data.get());
    buffer.data = std::move(data);
    buffer.held = held;
}

std::span<uint8_t>
CcloMemory::At(uint64_t address, uint64_t bytes)
{
    if (!m_contents)
    {
        return {};
    }
    const auto buffer = Find(address, bytes);
    NS_ABORT_MSG_IF(buffer == m_buffers.end(),
                    "no buffer has " << bytes << " bytes at " << address);
    const uint64_t offset = address - buffer->first;
    Hold(buffer->second, offset + bytes);
    return {buffer->second.data.get() + offset, bytes};
}

} // namespace ns3
