/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SHA256_H
#define SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <sha2.h>
#include <string>
#include <string_view>

namespace AstraSim
{

/**
 * @ingroup base
 * @brief SHA-256 of bytes that are added piece by piece.
 */
class Sha256
{
  public:
    using Value = std::array<uint8_t, 32>;

    Sha256();

    void Add(const void* bytes, std::size_t count);

    void Add(std::string_view text)
    {
        Add(text.data(), text.size());
    }

    /// @return of all that was added; nothing may be added afterwards
    Value Finish();

    /// @return in hexadecimal
    static std::string ToHex(const Value& value);

  private:
    SHA2_CTX m_context;
};

} // namespace AstraSim

#endif /* SHA256_H */
