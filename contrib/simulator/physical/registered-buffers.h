/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REGISTERED_BUFFERS_H
#define REGISTERED_BUFFERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace AstraSim
{

// Hot path: every message takes a buffer and gives it back.

/**
 * @ingroup simulator
 * @brief Memory for messages, registered with the NIC once and used again and again.
 *
 * A buffer has room for a header and a power of two of payload. Buffers of a size come from slabs,
 * which are never freed while the object lives.
 */
class RegisteredBuffers
{
  public:
    /// A piece of registered memory.
    struct Buffer
    {
        std::byte* data{nullptr};
        void* descriptor{nullptr}; ///< descriptor of the memory region, for libfabric
        uint32_t sizeClass{0};
    };

    /// Tells the fabric of memory. @return its descriptor @throw RankFailure if it refuses
    using Register = std::function<void*(void* memory, std::size_t bytes)>;

    /// @param headerBytes room before the payload
    RegisteredBuffers(Register registers, std::size_t headerBytes);
    ~RegisteredBuffers();
    RegisteredBuffers(const RegisteredBuffers&) = delete;
    RegisteredBuffers& operator=(const RegisteredBuffers&) = delete;

    /// @return a buffer for a header and @p payloadBytes
    /// @throw RankFailure if there is no memory, or it cannot be registered
    Buffer Take(uint64_t payloadBytes);

    void GiveBack(const Buffer& buffer)
    {
        m_free[buffer.sizeClass].push_back(buffer);
    }

    /// @return bytes registered so far
    uint64_t GetRegisteredBytes() const
    {
        return m_registeredBytes;
    }

  private:
    struct Slab
    {
        void* memory;
        std::size_t bytes;
    };

    void Grow(uint32_t sizeClass);

    Register m_register;
    std::size_t m_headerBytes;
    std::array<std::vector<Buffer>, 64> m_free; ///< by the logarithm of the payload's size
    std::vector<Slab> m_slabs;
    uint64_t m_registeredBytes{0};
};

} // namespace AstraSim

#endif /* REGISTERED_BUFFERS_H */
