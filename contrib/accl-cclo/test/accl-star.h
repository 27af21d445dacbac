/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ACCL_STAR_H
#define ACCL_STAR_H

#include "accl-cclo/model/data/cclo-half.h"

#include "ns3/cclo-helper.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/node-container.h"
#include "ns3/qbb-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace ns3
{

/// Hosts with collective engines around a switch, and requests by a line of code.
class AcclStar
{
  public:
    /// Changes the helper before it installs the engines.
    using Tune = std::function<void(CcloHelper&)>;

    /// @param errorRate probability that a frame is lost on a link
    explicit AcclStar(uint32_t ranks, const Tune& tune = {}, double errorRate = 0)
    {
        if (Time::GetResolution() != Time::PS) // ns-3 takes it once per process
        {
            Time::SetResolution(Time::PS);
        }
        Config::SetDefault("ns3::RdmaHw::Mtu", UintegerValue(4096));
        NodeContainer hosts(ranks);
        RdmaHostHelper().Install(hosts);
        Ptr<Node> access = SwitchHelper().Create();
        QbbHelper qbb;
        qbb.SetDeviceAttribute("DataRate", StringValue("100Gb/s"));
        qbb.SetChannelAttribute("Delay", StringValue("500ns"));
        qbb.SetChannelAttribute("ErrorRate", DoubleValue(errorRate));
        qbb.Install(hosts, access);
        m_nodes = NodeContainer(hosts, access);
        fabric = CreateObject<RdmaFabric>();
        fabric->Build(m_nodes);
        fabric->AssignStreams(1);
        Config::SetDefault("ns3::RdmaHw::Mtu", UintegerValue(1000));

        CcloHelper helper(fabric);
        if (tune)
        {
            tune(helper);
        }
        std::vector<uint32_t> numbers(ranks);
        std::iota(numbers.begin(), numbers.end(), 0U);
        drivers = helper.Install(numbers);
    }

    ~AcclStar()
    {
        Simulator::Destroy();
        for (const Ptr<CcloDriver>& driver : drivers)
        {
            driver->Dispose();
        }
        fabric->Dispose();
        for (uint32_t i = 0; i < m_nodes.GetN(); ++i)
        {
            m_nodes.Get(i)->Dispose();
        }
    }

    AcclStar(const AcclStar&) = delete;
    AcclStar& operator=(const AcclStar&) = delete;

    /// Ask for something now; what came of it is found in lastResults after Run().
    void Call(uint32_t rank, const CcloRequest& request)
    {
        auto result = std::make_shared<uint32_t>(NOT_ENDED);
        m_results.push_back(result);
        drivers[rank]->Call(request, [this, result](uint32_t value) {
            *result = value;
            lastEnd = Simulator::Now();
        });
    }

    /// Call() for a send of so many floats, whatever they are.
    void CallSend(uint32_t rank, uint32_t peer, uint32_t tag, uint32_t count)
    {
        const CcloBuffer buffer = drivers[rank]->Allocate(count, CcloDataType::Float32);
        Call(rank,
             {.operation = CcloOperation::Send,
              .count = count,
              .peer = peer,
              .tag = tag,
              .op0 = buffer});
    }

    /// Run until nothing happens any more. @return whether all calls since the last have ended well
    bool Run()
    {
        Simulator::Run();
        lastResults.clear();
        for (const std::shared_ptr<uint32_t>& result : m_results)
        {
            lastResults.push_back(*result);
        }
        m_results.clear();
        return std::count(lastResults.begin(), lastResults.end(), CcloError::NONE) ==
               std::ssize(lastResults);
    }

    /// @return what waits in all engines, one line each
    std::string Waits() const
    {
        std::string text;
        for (const std::string& line : CcloHelper::DescribeWaits(drivers))
        {
            text += line + "\n";
        }
        return text;
    }

    /// Fill a buffer with small whole numbers, which all types have and whose sums are exact.
    void Fill(uint32_t rank, const CcloBuffer& buffer, const std::function<double(uint64_t)>& value)
    {
        const std::span<uint8_t> bytes = drivers[rank]->Access(buffer);
        for (uint64_t i = 0; i < buffer.count; ++i)
        {
            Store(buffer.type, &bytes[i * CcloDataTypeBytes(buffer.type)], value(i));
        }
    }

    /// @return number of elements that are not bit by bit what they should be
    uint64_t Differences(uint32_t rank,
                         const CcloBuffer& buffer,
                         const std::function<double(uint64_t)>& value)
    {
        const uint32_t size = CcloDataTypeBytes(buffer.type);
        const std::span<uint8_t> bytes = drivers[rank]->Access(buffer);
        uint64_t differences = 0;
        for (uint64_t i = 0; i < buffer.count; ++i)
        {
            std::array<uint8_t, 8> expected{};
            Store(buffer.type, expected.data(), value(i));
            differences += std::memcmp(expected.data(), &bytes[i * size], size) != 0;
        }
        return differences;
    }

    /// Send from rank 0 to 1, kernels calling. @return when each has ended, from the calls, in ps
    std::array<int64_t, 2> SendTime(uint32_t count)
    {
        const int64_t start = Simulator::Now().GetPicoSeconds();
        std::array<int64_t, 2> ends{};
        for (const uint32_t rank : {0U, 1U})
        {
            CcloDriver& driver = *drivers[rank];
            const auto buffer = driver.Allocate(count, CcloDataType::Float32);
            CcloRequest request{.count = count, .peer = 1 - rank, .tag = 5};
            request.operation = rank == 0 ? CcloOperation::Send : CcloOperation::Recv;
            (rank == 0 ? request.op0 : request.result) = buffer;
            driver.GetEngine()->Call(driver.MakeCall(request), [&ends, rank, start](uint32_t) {
                ends[rank] = Simulator::Now().GetPicoSeconds() - start;
            });
        }
        Simulator::Run();
        return ends;
    }

    /// Write a number as an element.
    static void Store(CcloDataType type, uint8_t* to, double value)
    {
        const auto put = [to](auto element) { std::memcpy(to, &element, sizeof(element)); };
        switch (type)
        {
        case CcloDataType::Float16:
            return put(CcloFloatToHalf(static_cast<float>(value)));
        case CcloDataType::Float32:
            return put(static_cast<float>(value));
        case CcloDataType::Float64:
            return put(value);
        case CcloDataType::Int32:
            return put(static_cast<int32_t>(value));
        case CcloDataType::Int64:
            return put(static_cast<int64_t>(value));
        }
    }

    static constexpr uint32_t NOT_ENDED = 0x7FFFFFFF;

    Ptr<RdmaFabric> fabric;
    std::vector<Ptr<CcloDriver>> drivers;
    std::vector<uint32_t> lastResults;
    Time lastEnd;

  private:
    std::vector<std::shared_ptr<uint32_t>> m_results;
    NodeContainer m_nodes;
};

} // namespace ns3

#endif /* ACCL_STAR_H */
