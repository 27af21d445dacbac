/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CONGESTION_TABLE_H
#define CONGESTION_TABLE_H

#include "ns3/cluster-topology.h"
#include "ns3/command-line.h"
#include "ns3/fabric-conf.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace ns3
{

/// One line of the table: an algorithm and the configuration that chooses it.
struct CongestionRow
{
    std::string name; ///< as printed
    std::string conf; ///< lines of a SimAI.conf
};

/**
 * @ingroup rdma-qbb
 * @brief Long flows through one bottleneck under several congestion controls, as a table.
 *
 * Each row is a run of its own: N senders and one receiver around a switch, all links of one rate
 * and 1 us long, one endless message per sender. The second half of the time is measured.
 */
class CongestionTable
{
  public:
    /// Read --senders, --gbps and --ms, print the table, and return the program's exit status.
    static int Main(int argc, char** argv, const std::vector<CongestionRow>& rows)
    {
        CongestionTable table;
        CommandLine cmd(argv[0]);
        cmd.AddValue("senders", "hosts that send to the receiver, 1 to 1000", table.m_senders);
        cmd.AddValue("gbps", "rate of all links in Gb/s", table.m_gbps);
        cmd.AddValue("ms", "simulated milliseconds; the second half is measured", table.m_ms);
        cmd.Parse(argc, argv);
        Time::SetResolution(Time::PS);
        try
        {
            if (table.m_senders < 1 || table.m_senders > 1000 || table.m_ms <= 0)
            {
                throw InputError("command line",
                                 0,
                                 "senders or ms is out of range",
                                 "1 to 1000 senders and ms above 0");
            }
            table.PrintHead();
            for (const CongestionRow& row : rows)
            {
                table.Run(row);
            }
        }
        catch (const InputError& error)
        {
            std::cerr << error.what() << "\n";
            return 2;
        }
        return 0;
    }

  private:
    void PrintHead() const
    {
        std::printf("%u senders, %.0f Gb/s\n", m_senders, m_gbps);
        std::printf("%-22s %6s %12s %12s %12s %9s %7s\n",
                    "algorithm",
                    "link %",
                    "queue mean B",
                    "queue p99 B",
                    "queue max B",
                    "fairness",
                    "pauses");
    }

    ClusterTopology MakeTopology() const
    {
        const uint32_t hub = m_senders + 1;
        std::ostringstream text;
        text << hub + 1 << " 1 " << hub << "\n" << hub << "\n";
        for (uint32_t host = 0; host < hub; ++host)
        {
            text << host << " " << hub << " " << m_gbps << "Gbps 1us 0\n";
        }
        std::istringstream stream(text.str());
        return ClusterTopology::Read(stream, "star");
    }

    void Sample(const QbbNetDevice& port)
    {
        m_queue.push_back(port.GetQueueBytes());
        Simulator::Schedule(MicroSeconds(1), [this, &port] { Sample(port); });
    }

    void Run(const CongestionRow& row)
    {
        const ClusterTopology topology = MakeTopology();
        std::istringstream text(row.conf);
        FabricConf conf = FabricConf::Read(text, row.name);
        conf.Check();
        const auto replaced = conf.Apply();
        auto fabric = CreateObject<RdmaFabric>();
        fabric->Build(topology, conf);
        fabric->AssignStreams(1);
        std::vector<RdmaQueuePair*> pairs;
        for (uint32_t sender = 0; sender < m_senders; ++sender)
        {
            pairs.push_back(fabric->GetDriver(sender)->Connect(m_senders, {}));
            fabric->GetHw(sender).PostMessage(*pairs.back(), uint64_t{1} << 45, {}, {});
        }
        const Time half = NanoSeconds(static_cast<int64_t>(m_ms * 5e5));
        Simulator::Stop(half);
        Simulator::Run();

        const QbbNetDevice& bottleneck =
            fabric->GetDevice(m_senders + 1, static_cast<uint16_t>(m_senders));
        const uint64_t sentBefore = bottleneck.GetTxBytes();
        const uint64_t pausesBefore = fabric->GetTotals().pauses;
        std::vector<double> bytes;
        for (const RdmaQueuePair* qp : pairs)
        {
            bytes.push_back(-static_cast<double>(qp->sndUna));
        }
        m_queue.clear();
        Sample(bottleneck);
        Simulator::Stop(half);
        Simulator::Run();

        double sum = 0;
        double squares = 0;
        for (uint32_t sender = 0; sender < m_senders; ++sender)
        {
            bytes[sender] += static_cast<double>(pairs[sender]->sndUna);
            sum += bytes[sender];
            squares += bytes[sender] * bytes[sender];
        }
        std::ranges::sort(m_queue);
        double queueSum = 0;
        for (const uint64_t queue : m_queue)
        {
            queueSum += static_cast<double>(queue);
        }
        const double bits = 8.0 * static_cast<double>(bottleneck.GetTxBytes() - sentBefore);
        std::printf("%-22s %6.2f %12.0f %12llu %12llu %9.4f %7llu\n",
                    row.name.c_str(),
                    100 * bits / (m_gbps * 1e9 * half.GetSeconds()),
                    queueSum / static_cast<double>(m_queue.size()),
                    static_cast<unsigned long long>(m_queue[m_queue.size() * 99 / 100]),
                    static_cast<unsigned long long>(m_queue.back()),
                    squares > 0 ? sum * sum / (m_senders * squares) : 0,
                    static_cast<unsigned long long>(fabric->GetTotals().pauses - pausesBefore));
        std::fflush(stdout);
        Simulator::Destroy();
        fabric->Dispose();
        std::for_each(replaced.rbegin(), replaced.rend(), SetDefault);
    }

    uint32_t m_senders{4};
    double m_gbps{100};
    double m_ms{20};
    std::vector<uint64_t> m_queue;
};

} // namespace ns3

#endif /* CONGESTION_TABLE_H */
