/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "registered-buffers.h"

#include "rank-failure.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr uint64_t SMALLEST_PAYLOAD = 256;
constexpr uint64_t LARGEST_PAYLOAD = uint64_t{1} << 46;
constexpr uint64_t SLAB_BYTES = 4 << 20;

} // namespace

RegisteredBuffers::RegisteredBuffers(Register registers, std::size_t headerBytes)
    : m_register(std::move(registers)),
      m_headerBytes(headerBytes)
{
}

RegisteredBuffers::~RegisteredBuffers()
{
    for (const Slab& slab : m_slabs)
    {
        munmap(slab.memory, slab.bytes);
    }
}

RegisteredBuffers::Buffer
RegisteredBuffers::Take(uint64_t payloadBytes)
{
    if (payloadBytes > LARGEST_PAYLOAD)
    {
        throw RankFailure(fmt::format("a message of {} bytes is too large", payloadBytes));
    }
    const auto sizeClass =
        static_cast<uint32_t>(std::bit_width(std::max(payloadBytes, SMALLEST_PAYLOAD) - 1));
    auto& free = m_free[sizeClass];
    if (free.empty())
    {
        Grow(sizeClass);
    }
    const Buffer buffer = free.back();
    free.pop_back();
    return buffer;
}

void
RegisteredBuffers::Grow(uint32_t sizeClass)
{
    const std::size_t stride = (std::size_t{1} << sizeClass) + m_headerBytes;
    const std::size_t count = std::clamp<std::size_t>(SLAB_BYTES / stride, 1, 1024);
    const std::size_t bytes = count * stride;
    // MAP_POPULATE: untouched pages would all be the kernel's one page of zeros, and sends would
    // read that from cache.
    void* memory = mmap(nullptr,
                        bytes,
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                        -1,
                        0);
    if (memory == MAP_FAILED)
    {
        throw RankFailure(
            fmt::format("no memory for messages: {} MiB more than the {} MiB it has ({})",
                        bytes >> 20,
                        m_registeredBytes >> 20,
                        std::strerror(errno)));
    }
    m_slabs.push_back({memory, bytes});
    void* descriptor = m_register(memory, bytes);
    m_registeredBytes += bytes;
    for (std::size_t i = 0; i < count; ++i)
    {
        m_free[sizeClass].push_back(
            {static_cast<std::byte*>(memory) + i * stride, descriptor, sizeClass});
    }
}

} // namespace AstraSim
