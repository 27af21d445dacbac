/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "accl-data-check.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace AstraSim
{

namespace
{

constexpr uint32_t RANK_VALUES = 64;
constexpr uint32_t EXACT_IN_FLOAT = 1U << 24;
constexpr uint32_t MAX_MODULUS = 1021;

} // namespace

AcclDataCheck::AcclDataCheck(const ns3::CcloRequest& request, uint32_t ranks)
    : m_operation(request.operation),
      m_count(request.count),
      m_root(request.peer),
      m_ranks(ranks),
      m_modulus(std::clamp(EXACT_IN_FLOAT / (RANK_VALUES * ranks), 1U, MAX_MODULUS))
{
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        m_sumOfRanks += rank % RANK_VALUES;
    }
}

uint32_t
AcclDataCheck::Value(uint32_t member, uint64_t element) const
{
    return RANK_VALUES * static_cast<uint32_t>(element % m_modulus) + member % RANK_VALUES;
}

uint64_t
AcclDataCheck::Sum(uint64_t element) const
{
    return uint64_t{RANK_VALUES} * m_ranks * (element % m_modulus) + m_sumOfRanks;
}

uint64_t
AcclDataCheck::Expected(uint32_t member, uint64_t element) const
{
    const auto part = static_cast<uint32_t>(element / m_count);
    const uint64_t within = element % m_count;
    switch (m_operation)
    {
    case ns3::CcloOperation::Bcast:
        return Value(m_root, element);
    case ns3::CcloOperation::Scatter:
        return Value(m_root, member * m_count + element);
    case ns3::CcloOperation::Gather:
    case ns3::CcloOperation::AllGather:
        return Value(part, within);
    case ns3::CcloOperation::AllToAll:
        return Value(part, member * m_count + within);
    case ns3::CcloOperation::ReduceScatter:
        return Sum(member * m_count + element);
    default:
        return Sum(element);
    }
}

void
AcclDataCheck::Fill(ns3::CcloDriver& driver, const ns3::CcloBuffer& operand, uint32_t member) const
{
    if (m_operation == ns3::CcloOperation::Bcast && member != m_root)
    {
        return; // its result comes here
    }
    const auto bytes = driver.Access(operand);
    for (uint64_t i = 0; i < operand.count; ++i)
    {
        const auto value = static_cast<float>(Value(member, i));
        std::memcpy(&bytes[i * sizeof(value)], &value, sizeof(value));
    }
}

std::string
AcclDataCheck::Compare(ns3::CcloDriver& driver,
                       const ns3::CcloBuffer& operand,
                       const ns3::CcloBuffer& result,
                       uint32_t member) const
{
    using Operation = ns3::CcloOperation;
    const bool atRoot = m_operation == Operation::Gather || m_operation == Operation::Reduce;
    if (m_operation == Operation::Barrier || (atRoot && member != m_root))
    {
        return "";
    }
    const ns3::CcloBuffer& buffer = m_operation == Operation::Bcast ? operand : result;
    const auto bytes = driver.Access(buffer);
    for (uint64_t i = 0; i < buffer.count; ++i)
    {
        const auto expected = static_cast<float>(Expected(member, i));
        float value = 0;
        std::memcpy(&value, &bytes[i * sizeof(value)], sizeof(value));
        if (value != expected)
        {
            return fmt::format("{} of {} ranks: element {} of rank {} of the group is {}, and "
                               "should be {}",
                               ns3::CcloOperationName(m_operation),
                               m_ranks,
                               i,
                               member,
                               value,
                               expected);
        }
    }
    return "";
}

} // namespace AstraSim
