/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_MEMORY_H
#define CCLO_MEMORY_H

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>

namespace ns3
{

/// Memories of a buffer; the address says which.
enum class CcloMemoryKind : uint8_t
{
    Hbm, ///< of the card
    Ddr, ///< of the card
    Host ///< behind PCIe
};

/**
 * @ingroup accl-cclo
 * @brief The memories an engine reaches: buffers at addresses, with or without contents.
 *
 * Only allocated buffers can be read or written. Contents are zero until written, and take the
 * process' memory only up to the last byte accessed: a spare buffer is as large as the operands
 * that use it. Without contents, a buffer is an address range.
 */
class CcloMemory
{
  public:
    static constexpr uint64_t ALIGNMENT = 4096;

    /// @param contents whether buffers hold bytes
    explicit CcloMemory(bool contents = true);

    /// @return whether buffers hold bytes
    bool HasContents() const
    {
        return m_contents;
    }

    /// @return address of a new buffer
    uint64_t Allocate(uint64_t bytes, CcloMemoryKind kind = CcloMemoryKind::Hbm);

    /// Give a buffer back. @param address as Allocate() returned it
    void Free(uint64_t address);

    /// @return where an address lies
    static CcloMemoryKind KindOf(uint64_t address);

    /// @return whether a range lies within one buffer
    bool Contains(uint64_t address, uint64_t bytes);

    /// @return the contents of a range that Contains() is true of; empty without contents. Valid
    /// until the next call
    /// @throw std::bad_alloc if the process has no memory for it
    std::span<uint8_t> At(uint64_t address, uint64_t bytes);

  private:
    struct Release
    {
        void operator()(uint8_t* bytes) const
        {
            std::free(bytes);
        }
    };

    struct Buffer
    {
        uint64_t bytes{0};
        uint64_t held{0};                       ///< bytes of them that somebody has looked at
        std::unique_ptr<uint8_t, Release> data; ///< the bytes held
    };

    /// Hold a buffer's first bytes, at least so many.
    static void Hold(Buffer& buffer, uint64_t bytes);

    /// @return the buffer that a range lies in; end if none
    std::map<uint64_t, Buffer>::iterator Find(uint64_t address, uint64_t bytes);

    bool m_contents;
    std::map<uint64_t, Buffer> m_buffers;
    std::array<uint64_t, 3> m_next;
};

} // namespace ns3

#endif /* CCLO_MEMORY_H */
