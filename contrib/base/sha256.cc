/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "sha256.h"

#include <fmt/format.h>

namespace AstraSim
{

Sha256::Sha256()
    : m_context(EVP_MD_CTX_new())
{
    EVP_DigestInit_ex(m_context, EVP_sha256(), nullptr);
}

Sha256::~Sha256()
{
    EVP_MD_CTX_free(m_context);
}

void
Sha256::Add(const void* bytes, std::size_t count)
{
    EVP_DigestUpdate(m_context, bytes, count);
}

Sha256::Value
Sha256::Finish()
{
    Value value;
    EVP_DigestFinal_ex(m_context, value.data(), nullptr);
    return value;
}

std::string
Sha256::ToHex(const Value& value)
{
    return fmt::format("{:02x}", fmt::join(value, ""));
}

} // namespace AstraSim
