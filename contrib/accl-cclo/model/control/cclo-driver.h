/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_DRIVER_H
#define CCLO_DRIVER_H

#include "cclo-engine.h"

#include "ns3/nstime.h"
#include "ns3/object.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

/// Elements in an engine's memory.
struct CcloBuffer
{
    uint64_t address{0};
    CcloDataType type{CcloDataType::Float32};
    uint64_t count{0};
};

/// A host's request to an engine.
struct CcloRequest
{
    CcloOperation operation{CcloOperation::Nop};
    uint32_t count{0};        ///< elements
    uint32_t communicator{0}; ///< as AddCommunicator() numbered it
    uint32_t peer{0};         ///< root, source or destination
    CcloReduceFunction function{CcloReduceFunction::Sum};
    uint32_t tag{CCLO_TAG_ANY};
    std::optional<CcloBuffer> op0{};
    std::optional<CcloBuffer> op1{};
    std::optional<CcloBuffer> result{};
    uint32_t streams{CcloStream::NONE};
    CcloDataType streamType{CcloDataType::Float32}; ///< of streams, and where no buffer says it
    std::optional<CcloDataType> wireType{};         ///< type on the network, if another
};

/**
 * @ingroup accl-cclo
 * @brief A host's driver of a collective engine, as ACCL's is: it describes rx buffers,
 * communicators and data types in exchange memory, and starts calls by writing their registers.
 *
 * Calls are queued and run one after the other. Everything before the first call is free of charge,
 * but for the time that a protocol needs to open its sessions.
 *
 * @code
 * driver->Initialize(ranks, 3);
 * CcloBuffer a = driver->Allocate(1000, CcloDataType::Float32);
 * driver->Call({.operation = CcloOperation::AllReduce, .count = 1000, .op0 = a, .result = a},
 * done);
 * @endcode
 */
class CcloDriver : public Object
{
  public:
    static TypeId GetTypeId();

    CcloDriver();
    ~CcloDriver() override;

    /// Gets the engine's return value when a request ends, see CcloErrorNames().
    using Done = std::function<void(uint32_t)>;

    void SetEngine(Ptr<CcloEngine> engine);

    Ptr<CcloEngine> GetEngine() const
    {
        return m_engine;
    }

    /**
     * Configure the engine: rx buffers, spare buffers, communicator 0, data types, thresholds; then
     * start it.
     * @throw std::invalid_argument if the engine is configured already, or exchange memory is too
     * small
     */
    void Initialize(const std::vector<CcloRank>& ranks, uint32_t localRank);

    /// Describe another communicator. @return its number
    uint32_t AddCommunicator(const std::vector<CcloRank>& ranks, uint32_t localRank);

    /// Reset the engine; calls that wait for peers end with NOT_READY_ERROR.
    void Deinitialize();

    /// @return a new buffer
    CcloBuffer Allocate(uint64_t count,
                        CcloDataType type,
                        CcloMemoryKind kind = CcloMemoryKind::Hbm);

    /// @return the bytes of a buffer; empty if the engine has no contents
    std::span<uint8_t> Access(const CcloBuffer& buffer);

    /**
     * Ask for something. @param done told the return value; may be empty
     * @throw std::invalid_argument if the types of the request do not go together
     */
    void Call(const CcloRequest& request, Done done);

    /// @return the descriptor of a request
    CcloCall MakeCall(const CcloRequest& request) const;

    /// @return the hardware identity: the engine's features and its protocol
    uint32_t GetHardwareId();

    /// @return cycles that the last call took
    uint32_t GetCycles();

    /// @return requests that have not ended
    std::size_t GetPendingCalls() const
    {
        return m_requests.size();
    }

    /// @return address of a communicator in exchange memory
    uint32_t GetCommunicatorAddress(uint32_t communicator) const
    {
        return m_communicators.at(communicator);
    }

    /// @return exchange memory that a job needs, in bytes
    static uint32_t NeededExchangeMemory(CcloRxBufferLayout layout,
                                         uint32_t rxBuffers,
                                         uint32_t ranks);

    /// @return a table of the rx buffers, one line each
    std::vector<std::string> DumpRxBuffers();

  protected:
    void DoDispose() override;

  private:
    struct Queued
    {
        CcloCall call;
        Done done;
    };

    void SetUpRxBuffers();
    void SetUpSpareBuffers();
    void SetUpArithmetic();
    void SetUpThresholds();
    void Configure(CcloConfigFunction function, uint32_t value);
    void Enqueue(const CcloCall& call, Done done);
    void StartNext();
    void OnInterrupt();
    void CheckRoom(uint32_t end) const;
    void CheckThresholds() const;
    void Write64FromEnd(uint32_t distance, uint64_t value);

    Ptr<CcloEngine> m_engine;
    uint32_t m_rxBuffers{16};
    uint32_t m_rxBufferSize{1024};
    uint32_t m_maxEagerSize{1024};
    uint64_t m_maxRendezvousSize{32768};
    uint32_t m_gatherMaxFanIn{2};
    uint32_t m_gatherFlatMaxBytes{32768};
    uint32_t m_bcastFlatMaxRanks{3};
    uint32_t m_reduceFlatMaxRanks{4};
    uint32_t m_reduceFlatMaxBytes{32768};
    Time m_invocationLatency;
    Time m_completionLatency;
    uint32_t m_nextAddress{0};
    std::vector<uint32_t> m_communicators;
    std::map<std::pair<CcloDataType, CcloDataType>, uint32_t> m_arithmetic;
    std::deque<Queued> m_requests; ///< the first is running
    bool m_waitsForSessions{false};
};

} // namespace ns3

#endif /* CCLO_DRIVER_H */
