/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_EXCHANGE_MEMORY_H
#define CCLO_EXCHANGE_MEMORY_H

#include "cclo-call.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

/// Layout of the records of rx buffers, from 0x800 on.
enum class CcloRxBufferLayout : uint8_t
{
    SevenWords, ///< of Xilinx/ACCL@723d8ec: number, bytes of each, and 7 words per buffer from
                ///< 0x808
    NineWords   ///< of ACCL's older documentation: number, and 9 words per buffer from 0x804
};

class CcloRxBufferTable;

/**
 * @ingroup accl-cclo
 * @brief The address space that host and engine share: call registers, and the memory behind them
 * in which the host describes rx buffers, communicators and data types.
 *
 * | address            | what                                                               |
 * |--------------------|--------------------------------------------------------------------|
 * | 0x000              | control: bit 0 start, 1 done (cleared by reading), 2 idle, 3 ready |
 * | 0x010 ... 0x074    | the words of a call, see CALL_REGISTERS                            |
 * | 0x800 ...          | number of rx buffers, and their records: see CcloRxBufferLayout    |
 * | behind             | communicators and arithmetic configurations, in the order written  |
 * | last 60 bytes      | thresholds, spare buffers, performance counter, identity, result   |
 *
 * The registers and the table's place are those of ACCL's documentation. 8 KiB hold a communicator
 * of about 200 ranks; a larger one needs a larger memory (CcloEngine::ExchangeMemorySize).
 */
class CcloExchangeMemory
{
  public:
    static constexpr uint32_t CONTROL = 0x00;
    static constexpr uint32_t CONTROL_START = 1;
    static constexpr uint32_t CONTROL_DONE = 2;
    static constexpr uint32_t CONTROL_IDLE = 4;
    static constexpr uint32_t CONTROL_READY = 8;

    /// Addresses of a call's words, in their order.
    static constexpr std::array<uint32_t, CcloCall::WORDS> CALL_REGISTERS =
        {0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40, 0x48, 0x50, 0x58, 0x5C, 0x64, 0x68, 0x70, 0x74};

    static constexpr uint32_t RX_BUFFER_COUNT = 0x800;

    // Distances from the end.
    static constexpr uint32_t GATHER_MAX_FAN_IN = 0x3C;
    static constexpr uint32_t GATHER_FLAT_MAX_BYTES = 0x38;
    static constexpr uint32_t BCAST_FLAT_MAX_RANKS = 0x34;
    static constexpr uint32_t REDUCE_FLAT_MAX_RANKS = 0x30;
    static constexpr uint32_t REDUCE_FLAT_MAX_BYTES = 0x2C;
    static constexpr uint32_t SPARE_BUFFERS = 0x28; ///< three addresses of 8 bytes
    static constexpr uint32_t PERFORMANCE_COUNTER = 0x10;
    static constexpr uint32_t CONFIGURED = 0x0C;
    static constexpr uint32_t HARDWARE_ID = 0x08;
    static constexpr uint32_t RETURN_VALUE = 0x04;

    /**
     * @param bytes size of the whole space, a multiple of 4 and at least 4 KiB
     * @param layout of the records of rx buffers
     */
    explicit CcloExchangeMemory(uint32_t bytes = 0x2000,
                                CcloRxBufferLayout layout = CcloRxBufferLayout::SevenWords);

    /// @return how rx buffers are described
    CcloRxBufferTable GetRxBuffers() const;

    /// @return size in bytes
    uint32_t GetSize() const
    {
        return static_cast<uint32_t>(m_words.size() * 4);
    }

    /// Set the handler of calls that the host starts by the control register.
    void SetStartHandler(std::function<void(const CcloCall&)> handler)
    {
        m_start = std::move(handler);
    }

    /// Set the handler that interrupts the host when its call has ended.
    void SetInterruptHandler(std::function<void()> handler)
    {
        m_interrupt = std::move(handler);
    }

    /// The host reads a register. @param address a multiple of 4
    uint32_t HostRead(uint32_t address);

    /// The host writes a register; writing the start bit starts the call.
    void HostWrite(uint32_t address, uint32_t value);

    /// The call that the host started has ended.
    void SetDone();

    /// @return a word @param address a multiple of 4
    uint32_t Read(uint32_t address) const
    {
        return m_words[CheckedIndex(address)];
    }

    /// Change a word.
    void Write(uint32_t address, uint32_t value)
    {
        m_words[CheckedIndex(address)] = value;
    }

    /// @return a word at a distance from the end
    uint32_t ReadFromEnd(uint32_t distance) const
    {
        return Read(GetSize() - distance);
    }

    /// Change a word at a distance from the end.
    void WriteFromEnd(uint32_t distance, uint32_t value)
    {
        Write(GetSize() - distance, value);
    }

    /// @return address of spare buffer 0, 1 or 2
    uint64_t ReadSpareBuffer(uint32_t index) const;

    /// @return first address that the last words do not need
    uint32_t EndOfRecords() const
    {
        return GetSize() - GATHER_MAX_FAN_IN;
    }

  private:
    uint32_t CheckedIndex(uint32_t address) const;

    std::vector<uint32_t> m_words;
    CcloRxBufferLayout m_layout;
    std::function<void(const CcloCall&)> m_start;
    std::function<void()> m_interrupt;
};

/// The records of rx buffers in exchange memory.
class CcloRxBufferTable
{
  public:
    /// State of a buffer.
    enum Status : uint32_t
    {
        IDLE = 0,     ///< nobody has it
        ENQUEUED = 1, ///< waits for a message
        RESERVED = 2, ///< holds a message
        ERROR = 4     ///< its message did not fit
    };

    /// The words of a record, in the order of SevenWords; NineWords has further ones, and the
    /// status behind them.
    enum Field : uint32_t
    {
        STATUS,
        ADDRESS_LOW,
        ADDRESS_HIGH,
        TAG,
        LENGTH,
        SOURCE,
        SEQUENCE
    };

    explicit CcloRxBufferTable(CcloRxBufferLayout layout)
        : m_layout(layout)
    {
    }

    /// @return address of a field
    uint32_t AddressOf(uint32_t buffer, Field field) const;

    /// @return address behind the records of so many buffers
    uint32_t EndOf(uint32_t buffers) const;

    /// The host describes a buffer. @param bytes that fit into it
    void Describe(CcloExchangeMemory& memory,
                  uint32_t buffer,
                  uint64_t address,
                  uint32_t bytes) const;

    /// @return bytes that fit into a buffer; the engine takes all to be as large as the first
    uint32_t GetBufferBytes(const CcloExchangeMemory& memory) const;

  private:
    CcloRxBufferLayout m_layout;
};

/// A communicator's record in exchange memory.
class CcloCommunicator
{
  public:
    static constexpr uint32_t RANK_WORDS = 6;

    /// Order of a rank's words.
    enum Field : uint32_t
    {
        IP,
        PORT,
        INBOUND_SEQUENCE,
        OUTBOUND_SEQUENCE,
        SESSION,
        MAX_SEGMENT_SIZE
    };

    /// @param address of the record
    CcloCommunicator(CcloExchangeMemory& memory, uint32_t address)
        : m_memory(&memory),
          m_address(address)
    {
    }

    uint32_t GetSize() const
    {
        return m_memory->Read(m_address);
    }

    uint32_t GetLocalRank() const
    {
        return m_memory->Read(m_address + 4);
    }

    uint32_t Get(uint32_t rank, Field field) const
    {
        return m_memory->Read(AddressOf(rank, field));
    }

    void Set(uint32_t rank, Field field, uint32_t value)
    {
        m_memory->Write(AddressOf(rank, field), value);
    }

    /// @return a number of its members and their order, the same at all of them and another for
    /// every other communicator: engines tell by it the messages of one from those of another
    uint64_t GetIdentity() const;

    /// @return the address behind the record of a communicator
    static uint32_t EndOf(uint32_t address, uint32_t ranks)
    {
        return address + 4 * (2 + RANK_WORDS * ranks);
    }

  private:
    uint32_t AddressOf(uint32_t rank, Field field) const
    {
        return m_address + 4 * (2 + RANK_WORDS * rank + field);
    }

    CcloExchangeMemory* m_memory;
    uint32_t m_address;
};

/// Arithmetic and compression of a data type; a record in exchange memory.
struct CcloArithmeticConfig
{
    static constexpr uint32_t MAX_FUNCTIONS = 10;
    static constexpr uint32_t WORDS = 7 + MAX_FUNCTIONS;

    uint32_t uncompressedBytes{0}; ///< of an element
    uint32_t compressedBytes{0};   ///< of an element
    uint32_t elementRatioLog{0};   ///< uncompressed elements in one compressed, as a power of 2
    uint32_t compressor{0};        ///< function of the compression lane
    uint32_t decompressor{0};      ///< function of the compression lane
    bool computesCompressed{false};
    std::vector<uint32_t> functions; ///< function of the arithmetic unit by CcloReduceFunction

    /// @return the record at @p address
    static CcloArithmeticConfig Read(const CcloExchangeMemory& memory, uint32_t address);

    /// Write the record. @return the address behind it
    uint32_t Write(CcloExchangeMemory& memory, uint32_t address) const;

    /// @return ACCL's record of a type that travels as another: float16 and float16, float32 and
    /// float32, float32 and float16, and so on
    /// @throw std::invalid_argument if the engine cannot convert between them
    static CcloArithmeticConfig Of(CcloDataType type, CcloDataType compressed);
};

} // namespace ns3

#endif /* CCLO_EXCHANGE_MEMORY_H */
