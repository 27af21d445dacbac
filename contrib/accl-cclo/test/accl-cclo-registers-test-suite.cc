/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The interface of host and engine: registers, records, errors.
 */
#include "accl-star.h"

#include "ns3/boolean.h"
#include "ns3/cclo-exchange-memory.h"
#include "ns3/test.h"

#include <array>
#include <stdexcept>

using namespace ns3;

/// The example of ACCL's documentation: a dump of the registers, and what it means.
class DocumentedCallTestCase : public TestCase
{
  public:
    DocumentedCallTestCase()
        : TestCase("The documented dump of the call registers decodes to what its table says")
    {
    }

  private:
    void DoRun() override
    {
        // 0x1820000 ...: four words a line, as the documentation prints them.
        constexpr std::array<uint32_t, 32> DUMP = {0x4,    0, 0,          0, //
                                                   0x2,    0, 0x3d0900,   0, //
                                                   0x1244, 0, 0x2,        0, //
                                                   0,      0, 0x19,       0, //
                                                   0,      0, 0,          0, //
                                                   0,      0, 0xd0b73000, 0, //
                                                   0,      0, 0,          0, //
                                                   0,      0, 0,          0};
        CcloExchangeMemory memory;
        CcloCall started;
        uint32_t starts = 0;
        memory.SetStartHandler([&](const CcloCall& call) {
            started = call;
            ++starts;
        });
        NS_TEST_EXPECT_MSG_EQ(memory.HostRead(0), DUMP[0], "an engine at rest is idle (bit 2)");
        for (uint32_t i = 4; i < DUMP.size(); ++i)
        {
            memory.HostWrite(4 * i, DUMP[i]);
        }
        memory.HostWrite(CcloExchangeMemory::CONTROL, CcloExchangeMemory::CONTROL_START);
        NS_TEST_ASSERT_MSG_EQ(starts, 1, "the start bit starts one call");
        NS_TEST_EXPECT_MSG_EQ(static_cast<uint32_t>(started.operation), 2, "scenario");
        NS_TEST_EXPECT_MSG_EQ(started.count, 4'000'000, "0x3d0900");
        NS_TEST_EXPECT_MSG_EQ(started.communicator, 0x1244, "comm_addr");
        NS_TEST_EXPECT_MSG_EQ(started.peer, 2, "root_src_dst");
        NS_TEST_EXPECT_MSG_EQ(started.function, 0, "function");
        NS_TEST_EXPECT_MSG_EQ(started.tag, 25, "0x19");
        NS_TEST_EXPECT_MSG_EQ(started.op0, 0xd0b73000, "buf0_addr");
        NS_TEST_EXPECT_MSG_EQ(started.op1, 0, "buf1_addr");
        NS_TEST_EXPECT_MSG_EQ(started.result, 0, "buf2_addr");

        NS_TEST_EXPECT_MSG_EQ((memory.HostRead(0) & CcloExchangeMemory::CONTROL_IDLE), 0, "busy");
        memory.SetDone();
        NS_TEST_EXPECT_MSG_EQ((memory.HostRead(0) & CcloExchangeMemory::CONTROL_DONE),
                              CcloExchangeMemory::CONTROL_DONE,
                              "done once");
        NS_TEST_EXPECT_MSG_EQ(memory.HostRead(0), CcloExchangeMemory::CONTROL_IDLE, "read clears");
    }
};

/// A descriptor's words, in the order in which the firmware reads them.
class DescriptorTestCase : public TestCase
{
  public:
    DescriptorTestCase()
        : TestCase("A call is 15 words, and comes back from them")
    {
    }

  private:
    void DoRun() override
    {
        std::array<uint32_t, CcloCall::WORDS> words;
        for (uint32_t i = 0; i < words.size(); ++i)
        {
            words[i] = 0x100 + i;
        }
        words[0] = 10;
        const CcloCall call = CcloCall::FromWords(words);
        NS_TEST_EXPECT_MSG_EQ((call.operation == CcloOperation::AllReduce), true, "word 0");
        NS_TEST_EXPECT_MSG_EQ(call.arithmeticConfig, 0x106, "word 6");
        NS_TEST_EXPECT_MSG_EQ(call.Streams(), 0x08, "low byte of word 8");
        NS_TEST_EXPECT_MSG_EQ(call.HostOperands(), 0x01, "next byte of word 8");
        NS_TEST_EXPECT_MSG_EQ(call.op0, 0x0000010A00000109, "words 9 and 10");
        NS_TEST_EXPECT_MSG_EQ(call.result, 0x0000010E0000010D, "words 13 and 14");
        NS_TEST_EXPECT_MSG_EQ((call.ToWords() == words), true, "and back");
    }
};

/// Where records lie.
class LayoutTestCase : public TestCase
{
  public:
    LayoutTestCase()
        : TestCase("Records lie where ACCL's driver writes them")
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(3);
        CcloExchangeMemory& memory = star.drivers[1]->GetEngine()->GetExchangeMemory();
        NS_TEST_EXPECT_MSG_EQ(memory.GetSize(), 0x2000, "8 KiB");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x800), 16, "rx buffers");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x804), 1024, "bytes of each");
        const uint32_t communicator = 0x808 + 16 * 7 * 4;
        NS_TEST_EXPECT_MSG_EQ(star.drivers[1]->GetCommunicatorAddress(0),
                              communicator,
                              "behind the rx buffers");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(communicator), 3, "ranks");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(communicator + 4), 1, "local rank");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(communicator + 8 + 2 * 24 + 20),
                              1024,
                              "largest segment of rank 2");
        // The first data type: float16 as float16, sums by function 4, maxima by function 9.
        const uint32_t type = communicator + 8 + 3 * 24;
        const std::array<uint32_t, 9> half = {2, 2, 0, 0, 0, 2, 0, 4, 9};
        for (uint32_t i = 0; i < half.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(memory.Read(type + 4 * i), half[i], "word " << i);
        }
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FC4), 2, "fan-in of a gather");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FC8), 32768, "small for a gather");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FCC), 3, "flat broadcast");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FD0), 4, "flat reduction");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FD4), 8192, "a quarter of a spare buffer");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FF4), 1, "configured");
        // RDMA, internal movers, arithmetic, compression, streams; and the commit modelled.
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x1FF8), 0x723D8E3E, "hardware identity");
        NS_TEST_EXPECT_MSG_EQ(memory.ReadSpareBuffer(1) - memory.ReadSpareBuffer(0),
                              memory.ReadSpareBuffer(2) - memory.ReadSpareBuffer(1),
                              "three spare buffers");
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "configuration ends");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x808 + 28 * 15), 1, "all rx buffers are posted");
    }
};

/// Records of ACCL's older documentation.
class OlderLayoutTestCase : public TestCase
{
  public:
    OlderLayoutTestCase()
        : TestCase("With OlderRxBuffers, rx buffers are described as ACCL's older documentation "
                   "has them")
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2, [](CcloHelper& helper) {
            helper.SetEngineAttribute("OlderRxBuffers", BooleanValue(true));
            helper.SetEngineAttribute("ExchangeMemorySize", UintegerValue(0x1000));
        });
        CcloExchangeMemory& memory = star.drivers[1]->GetEngine()->GetExchangeMemory();
        NS_TEST_EXPECT_MSG_EQ(memory.GetSize(), 0x1000, "4 KiB");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0x800), 16, "rx buffers");
        NS_TEST_EXPECT_MSG_EQ(star.drivers[1]->GetCommunicatorAddress(0),
                              0x800 + 4 * (1 + 9 * 16),
                              "communicators are behind 9 words of each");
        NS_TEST_EXPECT_MSG_EQ(memory.Read(0xFF8), 0x723D8E3E, "hardware identity");
        NS_TEST_ASSERT_MSG_EQ(star.Run(), true, "configuration ends");
        star.CallSend(0, 1, 25, 100);
        NS_TEST_ASSERT_MSG_EQ(star.Run(), true, "it is sent");
        // addrl, addrh, max_len, dma_tag, status, rx_tag, rx_len, rx_src, sequence_number.
        const auto word = [&memory](uint32_t buffer, uint32_t index) {
            return memory.Read(0x804 + 4 * (9 * buffer + index));
        };
        for (uint32_t buffer = 0; buffer < 16; ++buffer)
        {
            NS_TEST_EXPECT_MSG_EQ(word(buffer, 2), 1024, "largest length");
            NS_TEST_EXPECT_MSG_EQ(word(buffer, 4), (buffer == 0 ? 2U : 1U), "one holds a message");
            NS_TEST_EXPECT_MSG_NE(word(buffer, 0), (buffer ? word(buffer - 1, 0) : 0), "address");
        }
        NS_TEST_EXPECT_MSG_EQ(word(0, 5), 25, "its tag");
        NS_TEST_EXPECT_MSG_EQ(word(0, 6), 400, "its bytes");
        NS_TEST_EXPECT_MSG_EQ(word(0, 7), 0, "its source");
        NS_TEST_EXPECT_MSG_EQ(word(0, 8), 0, "the first of its source");
        const CcloBuffer result = star.drivers[1]->Allocate(100, CcloDataType::Float32);
        star.Call(1,
                  {.operation = CcloOperation::Recv,
                   .count = 100,
                   .peer = 0,
                   .tag = 25,
                   .result = result});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "and received");
        NS_TEST_EXPECT_MSG_EQ(star.Waits(), "", "nothing is left over");
        const std::string first = star.drivers[1]->DumpRxBuffers().front();
        NS_TEST_EXPECT_MSG_NE(first.find("ENQUEUED 400 of 1024 bytes, tag 19"),
                              std::string::npos,
                              first);
    }
};

/// Errors that a host is told of.
class ErrorsTestCase : public TestCase
{
  public:
    ErrorsTestCase()
        : TestCase("Errors are the bits that ACCL gives them")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(CcloErrorNames(0), "", "none");
        NS_TEST_EXPECT_MSG_EQ(CcloErrorNames(1U << 2 | 1U << 14),
                              "DMA_DECODE_ERROR, COLLECTIVE_NOT_IMPLEMENTED",
                              "two");
        AcclStar star(2);
        Ptr<CcloDriver> driver = star.drivers[0];
        const CcloBuffer a = driver->Allocate(100, CcloDataType::Float32);
        const CcloBuffer nowhere{0xDEAD0000, CcloDataType::Float32, 100};
        star.Call(0, {.operation = CcloOperation::Copy, .count = 100, .op0 = a, .result = nowhere});
        star.Call(0, {.operation = CcloOperation::Copy, .count = 101, .op0 = a, .result = a});
        star.Call(0,
                  {.operation = CcloOperation::Combine,
                   .count = 100,
                   .function = static_cast<CcloReduceFunction>(2),
                   .op0 = a,
                   .op1 = a,
                   .result = a});
        star.Call(0, {.operation = static_cast<CcloOperation>(77)});
        star.Call(0, {.operation = CcloOperation::Nop});
        CcloCall config;
        config.operation = CcloOperation::Config;
        config.function = static_cast<uint32_t>(CcloConfigFunction::SetMaxEagerSize);
        config.count = 1023;
        std::vector<uint32_t> direct;
        driver->GetEngine()->Call(config, [&](uint32_t value) { direct.push_back(value); });
        config.function = static_cast<uint32_t>(CcloConfigFunction::SetMaxRendezvousSize);
        config.count = 1024;
        Simulator::Schedule(MicroSeconds(100), [&] {
            driver->GetEngine()->Call(config, [&](uint32_t value) { direct.push_back(value); });
        });
        star.Run();
        const std::vector<uint32_t> expected = {1U << 2, 1U << 2, 1U << 19, 1U << 14, 0};
        for (std::size_t i = 0; i < expected.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(star.lastResults[i], expected[i], "call " << i);
        }
        NS_TEST_ASSERT_MSG_EQ(direct.size(), 2, "two of a kernel");
        NS_TEST_EXPECT_MSG_EQ(direct[0], 1U << 16, "eager threshold below the rx buffers' size");
        NS_TEST_EXPECT_MSG_EQ(direct[1], 1U << 17, "rendezvous threshold not above the eager one");
    }
};

/// Mistakes of a program.
class MisuseTestCase : public TestCase
{
  public:
    MisuseTestCase()
        : TestCase("A driver refuses what the engine cannot be")
    {
    }

  private:
    template <typename Function>
    static std::string MessageOf(Function function)
    {
        try
        {
            function();
        }
        catch (const std::invalid_argument& error)
        {
            return error.what();
        }
        return "";
    }

    void DoRun() override
    {
        AcclStar star(2);
        Ptr<CcloDriver> driver = star.drivers[0];
        const CcloBuffer a = driver->Allocate(10, CcloDataType::Float64);
        const CcloBuffer b = driver->Allocate(10, CcloDataType::Float16);
        NS_TEST_EXPECT_MSG_EQ(
            MessageOf([&] { driver->MakeCall({.count = 10, .op0 = a, .result = b}); }),
            "float64 and float16 do not go together in one call",
            "types");
        NS_TEST_EXPECT_MSG_EQ(MessageOf([&] { driver->Initialize({CcloRank{}}, 0); }),
                              "a collective engine is configured already; expected Deinitialize() "
                              "before Initialize()",
                              "twice");
        NS_TEST_EXPECT_MSG_EQ(MessageOf([&] { driver->AddCommunicator({CcloRank{}}, 1); }),
                              "rank 1 is not one of a communicator of 1 ranks",
                              "rank");
        NS_TEST_EXPECT_MSG_NE(MessageOf([&] {
                                  driver->AddCommunicator(std::vector<CcloRank>(300), 1);
                              }).find("exchange memory has room up to 0x1fc4"),
                              std::string::npos,
                              "room");
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "and it still works");
    }
};

/// Deinitialize() ends what waits.
class ResetTestCase : public TestCase
{
  public:
    ResetTestCase()
        : TestCase("A reset ends calls that wait for peers, and the engine can be configured again")
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2);
        Ptr<CcloDriver> driver = star.drivers[0];
        const CcloBuffer a = driver->Allocate(1000, CcloDataType::Float32);
        star.Call(
            0,
            {.operation = CcloOperation::Recv, .count = 1000, .peer = 1, .tag = 3, .result = a});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), false, "nobody sends");
        NS_TEST_EXPECT_MSG_EQ(
            star.Waits(),
            "rank 0: Recv of 1000 elements with rank 1 has been put off: its peer "
            "has not said where to write, or not written\n",
            "who waits for what");
        NS_TEST_EXPECT_MSG_EQ(driver->GetEngine()->IsIdle(), false, "not idle");
        driver->Deinitialize();
        star.Run();
        NS_TEST_EXPECT_MSG_EQ(driver->GetPendingCalls(), 0, "the receive has ended");
        NS_TEST_EXPECT_MSG_EQ(star.Waits(), "", "nothing waits");
        driver->Initialize({CcloRank{}}, 0);
        const CcloBuffer b = driver->Allocate(1000, CcloDataType::Float32);
        star.Call(0, {.operation = CcloOperation::Copy, .count = 1000, .op0 = a, .result = b});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "it works again");
    }
};

/// Tests of the software interface.
class AcclCcloRegistersTestSuite : public TestSuite
{
  public:
    AcclCcloRegistersTestSuite()
        : TestSuite("accl-cclo-registers", Type::UNIT)
    {
        AddTestCase(new DocumentedCallTestCase);
        AddTestCase(new DescriptorTestCase);
        AddTestCase(new LayoutTestCase);
        AddTestCase(new OlderLayoutTestCase);
        AddTestCase(new ErrorsTestCase);
        AddTestCase(new MisuseTestCase);
        AddTestCase(new ResetTestCase);
    }
};

static AcclCcloRegistersTestSuite g_acclCcloRegistersTestSuite; //!< registers the suite
