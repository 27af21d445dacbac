/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-network.h"

#include "rank-failure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr std::size_t CONTROL_RECEIVES = 16; ///< control messages that may come at once

uint64_t
WireBytes(uint64_t bytes, const MessageInfo* info)
{
    const double inflation = info ? info->wireInflation : 1;
    return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * inflation));
}

} // namespace

PhyNetwork::PhyNetwork(int rank,
                       int ranks,
                       PhysicalLoop& loop,
                       FabricEndpoint& endpoint,
                       bool verify)
    : RankNetwork(rank),
      m_size(ranks),
      m_loop(loop),
      m_endpoint(endpoint),
      m_verify(verify),
      m_buffers(
          [&endpoint](void* memory, std::size_t bytes) { return endpoint.Register(memory, bytes); },
          sizeof(MessageHeader))
{
    for (std::size_t i = 0; i < CONTROL_RECEIVES; ++i)
    {
        PostControlReceive();
    }
}

PhyNetwork::~PhyNetwork() = default;

void
PhyNetwork::BeginIteration(uint32_t iteration)
{
    m_iteration = iteration;
    m_numbers.clear();
    m_flows.clear();
}

template <typename Request>
PhyNetwork::Operation*
PhyNetwork::Begin(const Request& request, int peerRank, bool receives)
{
    const MessageInfo* info = request.info;
    const auto peer = static_cast<uint32_t>(peerRank);
    const auto self = static_cast<uint32_t>(GetRank());
    Operation* operation = m_operations.Take();
    operation->network = this;
    operation->handler = request.handler;
    operation->arg = request.arg;
    operation->channel = info ? info->channel : 0;
    operation->isCredit = info && info->isCredit;
    MessageHeader& header = operation->header;
    header.src = receives ? peer : self;
    header.dst = receives ? self : peer;
    header.tag = FabricTag::Of(info, request.tag, m_iteration);
    header.number = m_numbers[{header.tag, peer, receives}]++;
    header.bytes = request.bytes;
    header.wireBytes = WireBytes(request.bytes, info);
    operation->buffer = m_buffers.Take(header.wireBytes);
    FabricEndpoint::Transfer& transfer = operation->transfer;
    transfer.peer = peer;
    transfer.receives = receives;
    transfer.tag = header.tag;
    transfer.buffer = operation->buffer.data;
    transfer.descriptor = operation->buffer.descriptor;
    transfer.bytes = sizeof(MessageHeader) + header.wireBytes;
    ++m_open;
    return operation;
}

void
PhyNetwork::Post(Operation& operation)
{
    try
    {
        operation.transfer.receives ? m_endpoint.Receive(operation.transfer)
                                    : m_endpoint.Send(operation.transfer);
    }
    catch (const FabricEndpoint::TransferError& error)
    {
        Fail(error);
    }
}

void
PhyNetwork::Send(const SendRequest& request)
{
    Operation* operation = Begin(request, request.dst, false);
    MessageHeader& header = operation->header;
    header.sentPs = m_loop.Now();
    std::byte* payload = operation->buffer.data + sizeof(MessageHeader);
    if (request.buffer)
    {
        std::memcpy(payload, request.buffer, request.bytes);
    }
    else if (m_verify)
    {
        FillPayload(header, payload);
    }
    header.Seal(m_verify ? payload : nullptr);
    std::memcpy(operation->buffer.data, &header, sizeof header);
    Post(*operation);
}

void
PhyNetwork::Receive(const ReceiveRequest& request)
{
    Operation* operation = Begin(request, request.src, true);
    operation->target = request.buffer;
    Post(*operation);
}

bool
PhyNetwork::Progress()
{
    try
    {
        return m_endpoint.Poll(&PhyNetwork::Ended, this);
    }
    catch (const FabricEndpoint::TransferError& error)
    {
        Fail(error);
    }
}

void
PhyNetwork::Ended(void* argument, FabricEndpoint::Transfer& transfer)
{
    auto& self = *static_cast<PhyNetwork*>(argument);
    auto& operation = reinterpret_cast<Operation&>(transfer);
    if (operation.isControl)
    {
        self.OnControl(operation);
        return;
    }
    if (self.m_abandoned)
    {
        self.Forget(operation);
        return;
    }
    if (transfer.receives)
    {
        self.OnReceived(operation);
        return;
    }
    const auto [handler, arg] = std::pair(operation.handler, operation.arg);
    self.Forget(operation);
    if (handler)
    {
        handler(arg);
    }
}

void
PhyNetwork::Forget(Operation& operation)
{
    --m_open;
    m_buffers.GiveBack(operation.buffer);
    m_operations.GiveBack(&operation);
}

void
PhyNetwork::OnReceived(Operation& operation)
{
    const std::byte* payload = operation.buffer.data + sizeof(MessageHeader);
    MessageHeader header;
    std::memcpy(&header, operation.buffer.data, sizeof header);
    const auto mistake = header.FindMistake(operation.header, payload);
    if (mistake)
    {
        throw RankFailure(*mistake);
    }
    if (operation.transfer.received != sizeof(MessageHeader) + header.wireBytes)
    {
        throw RankFailure(fmt::format("a message of rank {} has {} bytes in place of {}",
                                      header.src,
                                      operation.transfer.received,
                                      sizeof(MessageHeader) + header.wireBytes));
    }
    if (operation.target)
    {
        std::memcpy(operation.target, payload, header.bytes);
    }
    else if (header.hasPayloadChecksum && !IsPayloadOf(header, payload))
    {
        throw RankFailure(
            fmt::format("a message of rank {} has the payload of another one", header.src));
    }
    if (!operation.isCredit)
    {
        ++m_received;
        m_bytesReceived += header.bytes;
        m_flows.push_back({.src = static_cast<int>(header.src),
                           .dst = static_cast<int>(header.dst),
                           .bytes = header.wireBytes,
                           .channel = operation.channel,
                           .start = header.sentPs,
                           .end = m_loop.Now()});
    }
    m_sentPs = header.sentPs;
    const auto [handler, arg] = std::pair(operation.handler, operation.arg);
    Forget(operation);
    if (handler)
    {
        handler(arg);
    }
}

void
PhyNetwork::PostControlReceive()
{
    Operation* operation = m_operations.Take();
    operation->isControl = true;
    operation->buffer = m_buffers.Take(CONTROL_BYTES);
    operation->transfer.receives = true;
    operation->transfer.tag = FabricTag::CONTROL;
    operation->transfer.buffer = operation->buffer.data;
    operation->transfer.descriptor = operation->buffer.descriptor;
    operation->transfer.bytes = sizeof(MessageHeader) + CONTROL_BYTES;
    Post(*operation);
}

void
PhyNetwork::SendControl(uint32_t dst, const std::string& text)
{
    Operation* operation = m_operations.Take();
    operation->isControl = true;
    operation->buffer = m_buffers.Take(CONTROL_BYTES);
    std::byte* payload = operation->buffer.data + sizeof(MessageHeader);
    MessageHeader& header = operation->header;
    header.src = static_cast<uint32_t>(GetRank());
    header.dst = dst;
    header.tag = FabricTag::CONTROL;
    header.bytes = std::min(text.size(), CONTROL_BYTES);
    std::memcpy(payload, text.data(), header.bytes);
    header.Seal(payload);
    std::memcpy(operation->buffer.data, &header, sizeof header);
    operation->transfer.peer = dst;
    operation->transfer.tag = header.tag;
    operation->transfer.buffer = operation->buffer.data;
    operation->transfer.descriptor = operation->buffer.descriptor;
    operation->transfer.bytes = sizeof(MessageHeader) + header.bytes;
    Post(*operation);
}

void
PhyNetwork::OnControl(Operation& operation)
{
    std::string text;
    MessageHeader header;
    if (operation.transfer.receives)
    {
        std::memcpy(&header, operation.buffer.data, sizeof header);
        MessageHeader expected = header;
        expected.dst = static_cast<uint32_t>(GetRank());
        expected.tag = FabricTag::CONTROL;
        const std::byte* payload = operation.buffer.data + sizeof(MessageHeader);
        if (const auto mistake = header.FindMistake(expected, payload))
        {
            throw RankFailure(*mistake);
        }
        text.assign(reinterpret_cast<const char*>(payload), header.bytes);
        PostControlReceive();
    }
    const bool tells = operation.transfer.receives && m_onControl;
    m_buffers.GiveBack(operation.buffer);
    m_operations.GiveBack(&operation);
    if (tells)
    {
        m_onControl(header.src, text);
    }
}

void
PhyNetwork::Fail(const FabricEndpoint::TransferError& error) const
{
    const FabricEndpoint::Transfer* transfer = error.GetTransfer();
    if (!transfer || transfer->peer == FabricEndpoint::ANY_PEER)
    {
        throw RankFailure(fmt::format("{}: {}", m_endpoint.GetProvider(), error.what()));
    }
    throw RankFailure(fmt::format("{} rank {} over {}: {}",
                                  transfer->receives ? "cannot receive from" : "cannot send to",
                                  transfer->peer,
                                  m_endpoint.GetProvider(),
                                  error.what()));
}

} // namespace AstraSim
