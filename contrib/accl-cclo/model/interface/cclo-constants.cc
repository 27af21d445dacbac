/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-constants.h"

#include <array>

namespace ns3
{

std::string_view
CcloOperationName(CcloOperation operation)
{
    static constexpr std::array<std::string_view, 14> NAMES = {"Config",
                                                               "Copy",
                                                               "Combine",
                                                               "Send",
                                                               "Recv",
                                                               "Bcast",
                                                               "Scatter",
                                                               "Gather",
                                                               "Reduce",
                                                               "AllGather",
                                                               "AllReduce",
                                                               "ReduceScatter",
                                                               "Barrier",
                                                               "AllToAll"};
    const auto number = static_cast<uint32_t>(operation);
    if (number < NAMES.size())
    {
        return NAMES[number];
    }
    return operation == CcloOperation::Nop ? "Nop" : "unknown operation";
}

std::string_view
CcloDataTypeName(CcloDataType type)
{
    static constexpr std::array<std::string_view, 5> NAMES = {"float16",
                                                              "float32",
                                                              "float64",
                                                              "int32",
                                                              "int64"};
    return NAMES[static_cast<uint8_t>(type)];
}

uint32_t
CcloDataTypeBytes(CcloDataType type)
{
    static constexpr std::array<uint32_t, 5> BYTES = {2, 4, 8, 4, 8};
    return BYTES[static_cast<uint8_t>(type)];
}

std::string
CcloErrorNames(uint32_t value)
{
    static constexpr std::array<std::string_view, 32> NAMES = {
        "DMA_MISMATCH_ERROR",
        "DMA_INTERNAL_ERROR",
        "DMA_DECODE_ERROR",
        "DMA_SLAVE_ERROR",
        "DMA_NOT_OKAY_ERROR",
        "DMA_NOT_END_OF_PACKET_ERROR",
        "DMA_NOT_EXPECTED_BTT_ERROR",
        "DMA_TIMEOUT_ERROR",
        "CONFIG_SWITCH_ERROR",
        "DEQUEUE_BUFFER_TIMEOUT_ERROR",
        "DEQUEUE_BUFFER_SPARE_BUFFER_STATUS_ERROR",
        "RECEIVE_TIMEOUT_ERROR",
        "DEQUEUE_BUFFER_SPARE_BUFFER_DMATAG_MISMATCH",
        "DEQUEUE_BUFFER_SPARE_BUFFER_INDEX_ERROR",
        "COLLECTIVE_NOT_IMPLEMENTED",
        "RECEIVE_OFFCHIP_SPARE_BUFF_ID_NOT_VALID",
        "EAGER_THRESHOLD_INVALID",
        "RENDEZVOUS_THRESHOLD_INVALID",
        "DMA_SIZE_ERROR",
        "ARITH_ERROR",
        "PACK_TIMEOUT_STS_ERROR",
        "PACK_SEQ_NUMBER_ERROR",
        "COMPRESSION_ERROR",
        "KRNL_TIMEOUT_STS_ERROR",
        "KRNL_STS_COUNT_ERROR",
        "SEGMENTER_EXPECTED_BTT_ERROR",
        "DMA_TAG_MISMATCH_ERROR",
        "bit 27",
        "bit 28",
        "bit 29",
        "bit 30",
        "NOT_READY_ERROR",
    };
    std::string names;
    for (uint32_t bit = 0; bit < NAMES.size(); ++bit)
    {
        if (value >> bit & 1)
        {
            names += names.empty() ? "" : ", ";
            names += NAMES[bit];
        }
    }
    return names;
}

} // namespace ns3
