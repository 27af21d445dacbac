/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_ENGINE_H
#define CCLO_ENGINE_H

#include "cclo-firmware.h"

#include "ns3/cclo-data-plane.h"
#include "ns3/cclo-memory.h"
#include "ns3/cclo-protocol-engine.h"
#include "ns3/cclo-rx-buffers.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"
#include "ns3/type-id.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief A collective engine in a NIC: ACCL's CCLO.
 *
 * Aggregated to its node. Consists of the exchange memory that it shares with its host, the
 * memories it reads and writes, the firmware (CcloFirmware), the data plane (CcloDataPlane), rx
 * buffers, and a protocol engine (CcloProtocolEngine). CcloHelper builds them; a host uses
 * CcloDriver.
 *
 * Messages reach rx buffers in the order of their arrival: one without a buffer holds up all behind
 * it, notifications included.
 */
class CcloEngine : public Object, private CcloProtocolEngine::Listener
{
  public:
    static TypeId GetTypeId();

    CcloEngine();
    ~CcloEngine() override;

    /// Build the engine. @param network its way to other engines
    void Install(Ptr<CcloProtocolEngine> network);

    CcloExchangeMemory& GetExchangeMemory()
    {
        return *m_exchange;
    }

    /// @return how its exchange memory describes rx buffers
    CcloRxBufferLayout GetRxBufferLayout() const
    {
        return m_olderRxBuffers ? CcloRxBufferLayout::NineWords : CcloRxBufferLayout::SevenWords;
    }

    CcloMemory& GetMemory()
    {
        return *m_memory;
    }

    Ptr<CcloFirmware> GetFirmware() const
    {
        return m_firmware;
    }

    Ptr<CcloProtocolEngine> GetProtocolEngine() const
    {
        return m_network;
    }

    /// Call as a kernel beside the engine does. @param done told the return value; may be empty
    void Call(const CcloCall& call, CcloFirmware::Completion done);

    /// @return whether nothing is under way or waits
    bool IsIdle() const;

    /// @return a line for each wait and its reason; empty if the engine is idle
    std::vector<std::string> DescribeWaits() const;

    /// Signature of "RxBufferStall": the first message that finds no rx buffer.
    typedef void (*RxBufferStallCallback)(uint32_t session, const CcloHeader& header);

  protected:
    void DoDispose() override;

  private:
    struct Arrival
    {
        uint32_t session;
        CcloMessage message;
        bool waited{false};
    };

    // --- CcloProtocolEngine::Listener
    void OnMessage(uint32_t session, CcloMessage&& message) override;
    void OnRoom() override;

    void StartHostCall(const CcloCall& call);
    void TakeArrivals();
    bool Place(Arrival& arrival);
    bool PlaceEager(Arrival& arrival);
    void Write(const CcloMessage& message);

    uint32_t m_exchangeBytes{0x2000};
    bool m_olderRxBuffers{false};
    bool m_contents{true};
    bool m_streamLoopback{false};
    TypeId m_protocol;
    std::unique_ptr<CcloExchangeMemory> m_exchange;
    std::unique_ptr<CcloMemory> m_memory;
    std::unique_ptr<CcloRxBuffers> m_rxBuffers;
    Ptr<CcloProtocolEngine> m_network;
    Ptr<CcloDataPlane> m_dataPlane;
    Ptr<CcloFirmware> m_firmware;
    std::deque<Arrival> m_arrivals;
    uint64_t m_badWrites{0}; ///< rendezvous data for addresses that no buffer has
    TracedCallback<uint32_t, const CcloHeader&> m_rxBufferStall;
};

} // namespace ns3

#endif /* CCLO_ENGINE_H */
