/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-data-plane.h"

#include "ns3/log.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CcloDataPlane);

TypeId
CcloDataPlane::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloDataPlane")
            .SetParent<Object>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloDataPlane>()
            .AddAttribute("ClockPeriod",
                          "Time of a cycle (250 MHz: Xilinx/ACCL@723d8ec, FREQ_HZ)",
                          TimeValue(NanoSeconds(4)),
                          MakeTimeAccessor(&CcloDataPlane::m_clockPeriod),
                          MakeTimeChecker(PicoSeconds(1)))
            .AddAttribute("Width",
                          "Bytes per cycle of every stream (DATAPATH_WIDTH_BYTES)",
                          UintegerValue(64),
                          MakeUintegerAccessor(&CcloDataPlane::m_width),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("FifoDepth",
                          "Moves that wait to be decoded (dma_mover.cpp)",
                          UintegerValue(16),
                          MakeUintegerAccessor(&CcloDataPlane::m_fifoDepth),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("DecodeLatency",
                          "To decode a move and start its units (an assumption: 16 cycles)",
                          TimeValue(NanoSeconds(64)),
                          MakeTimeAccessor(&CcloDataPlane::m_decodeLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MatchTime",
                          "To compare a message sought with one that waits (rxbuf_seek.cpp: one "
                          "cycle each)",
                          TimeValue(NanoSeconds(4)),
                          MakeTimeAccessor(&CcloDataPlane::m_matchTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MoverLatency",
                          "Of a data mover, from command to request (an assumption: 16 cycles)",
                          TimeValue(NanoSeconds(64)),
                          MakeTimeAccessor(&CcloDataPlane::m_moverLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("SwitchLatency",
                          "Of each way through the stream switch (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_switchLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ArithmeticLatency",
                          "Of the arithmetic unit (an assumption: 12 cycles, as a floating-point "
                          "adder has)",
                          TimeValue(NanoSeconds(48)),
                          MakeTimeAccessor(&CcloDataPlane::m_arithmeticLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("CompressionLatency",
                          "Of a compression lane (an assumption: 4 cycles)",
                          TimeValue(NanoSeconds(16)),
                          MakeTimeAccessor(&CcloDataPlane::m_compressionLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("PacketizerLatency",
                          "Of the packetizer (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_packetizerLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("DepacketizerLatency",
                          "Of the depacketizer (an assumption: 2 cycles)",
                          TimeValue(NanoSeconds(8)),
                          MakeTimeAccessor(&CcloDataPlane::m_depacketizerLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("HbmBandwidth",
                          "Of the card's HBM (Alveo U55C data sheet: 460 GB/s)",
                          DataRateValue(DataRate("3680Gb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_hbmBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("HbmLatency",
                          "Of the card's HBM (Wang et al., FCCM 2020: 107 ns, page hit)",
                          TimeValue(NanoSeconds(107)),
                          MakeTimeAccessor(&CcloDataPlane::m_hbmLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("DdrBandwidth",
                          "Of the card's DDR (one channel of DDR4-2400: 19.2 GB/s)",
                          DataRateValue(DataRate("153600Mb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_ddrBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("DdrLatency",
                          "Of the card's DDR (Wang et al., FCCM 2020: 73 ns, page hit)",
                          TimeValue(NanoSeconds(73)),
                          MakeTimeAccessor(&CcloDataPlane::m_ddrLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("HostBandwidth",
                          "To the host's memory, each way (PCIe 3.0 x16, 256-byte payloads and 24 "
                          "bytes around each: 14.4 GB/s)",
                          DataRateValue(DataRate("115200Mb/s")),
                          MakeDataRateAccessor(&CcloDataPlane::m_hostBandwidth),
                          MakeDataRateChecker())
            .AddAttribute("HostLatency",
                          "To the host's memory (Neugebauer et al., SIGCOMM 2018: about 0.9 us)",
                          TimeValue(NanoSeconds(900)),
                          MakeTimeAccessor(&CcloDataPlane::m_hostLatency),
                          MakeTimeChecker(Time(0)))
            .AddTraceSource("MoveStart",
                            "A move begins to read",
                            MakeTraceSourceAccessor(&CcloDataPlane::m_moveStart),
                            "ns3::CcloDataPlane::MoveStartCallback")
            .AddTraceSource("MoveDone",
                            "A move has ended, and those before it",
                            MakeTraceSourceAccessor(&CcloDataPlane::m_moveDone),
                            "ns3::CcloDataPlane::MoveDoneCallback");
    return tid;
}

} // namespace ns3
