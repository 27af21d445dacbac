/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sha256.h"

#include <fmt/format.h>

namespace AstraSim
{

Sha256::Sha256()
{
    SHA256Init(&m_context);
}

void
Sha256::Add(const void* bytes, std::size_t count)
{
    SHA256Update(&m_context, static_cast<const uint8_t*>(bytes), count);
}

Sha256::Value
Sha256::Finish()
{
    Value value;
    SHA256Final(value.data(), &m_context);
    return value;
}

std::string
Sha256::ToHex(const Value& value)
{
    return fmt::format("{:02x}", fmt::join(value, ""));
}

} // namespace AstraSim
