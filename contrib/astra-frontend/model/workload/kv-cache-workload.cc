/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "kv-cache-workload.h"

#include "astra-frontend/model/system/sys.h"
#include "collectives/model/collective/traffic-purpose.h"

#include "ns3/clock-range.h"
#include "ns3/columns.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>

namespace AstraSim
{

namespace
{

double
Microseconds(TimePs time)
{
    return static_cast<double>(time) / 1e6;
}

/// A request whose cache has moved, or a percentile of all their times.
struct TransferRow
{
    struct Request
    {
        double arrivalUs;
        uint32_t prefill;
        uint32_t decode;
        uint64_t tokens;
        uint64_t bytes;
        double startUs;
        double endUs;
    };

    std::string name;
    std::optional<Request> request;
    TimePs duration;
};

const ns3::Columns<TransferRow>&
TransferColumns()
{
    using Of = const TransferRow&;
    using Request = TransferRow::Request;
    const auto of = [](auto member) {
        return [member](Of row) {
            return row.request ? std::optional((*row.request).*member) : std::nullopt;
        };
    };
    static const ns3::Columns<TransferRow> columns{
        {"request",
         "number of the request, or ``p50`` to ``p100``",
         [](Of row) { return row.name; }},
        {"arrival_us", "time of arrival", of(&Request::arrivalUs), 6},
        {"prefill_instance", "the instance that computed its prompt", of(&Request::prefill)},
        {"decode_instance", "the instance that its cache goes to", of(&Request::decode)},
        {"prompt_tokens", "the length of the prompt", of(&Request::tokens)},
        {"bytes", "size of its cache", of(&Request::bytes)},
        {"transfer_start_us", "first byte of the cache sent", of(&Request::startUs), 6},
        {"transfer_end_us", "last byte of the cache received", of(&Request::endUs), 6},
        {"transfer_us",
         "duration of the transfer, or the percentile of all durations",
         [](Of row) { return Microseconds(row.duration); },
         6},
    };
    return columns;
}

/// One rank of a prefill or decode instance, or one that takes no part.
class KvCacheRank : public RankWorkload
{
  public:
    KvCacheRank(KvCacheWorkload& workload, uint32_t rank, Sys& sys)
        : m_workload(workload),
          m_sys(sys)
    {
        const auto& config = workload.GetConfig();
        const auto place = [rank](const std::vector<uint32_t>& ranks) {
            return static_cast<uint32_t>(std::ranges::find(ranks, rank) - ranks.begin());
        };
        const uint32_t prefill = place(config.prefill);
        const uint32_t decode = place(config.decode);
        m_prefills = prefill < config.prefill.size();
        m_decodes = decode < config.decode.size();
        const uint32_t index = m_prefills ? prefill : decode;
        m_instance = index / config.ranksPerInstance;
        m_share = index % config.ranksPerInstance;
        for (uint32_t request = 0; request < config.requests.size(); ++request)
        {
            if ((m_prefills && workload.PrefillOf(request) == m_instance) ||
                (m_decodes && workload.DecodeOf(request) == m_instance))
            {
                m_requests.push_back(request);
            }
        }
        m_left = static_cast<uint32_t>(m_requests.size());
    }

    void Start() override
    {
        if (m_left == 0)
        {
            m_sys.Schedule(0, &KvCacheRank::NothingToDo, this);
        }
        else if (m_prefills)
        {
            BeginPrefill();
        }
        else
        {
            for (const uint32_t request : m_requests)
            {
                m_sys.ReceiveMessage(
                    m_workload.PrefillRank(m_workload.PrefillOf(request), m_share),
                    m_workload.ShareOf(request),
                    request,
                    [this, request](TimePs) {
                        m_workload.Arrived(request, m_sys.Now(), m_sys.get_observer());
                        End();
                    });
            }
        }
    }

    bool Finished() const override
    {
        return m_finished;
    }

    std::vector<std::string> DescribeWaits() const override
    {
        return {std::string(m_prefills ? "prefill" : "decode") + " instance " +
                std::to_string(m_instance) + ": " + std::to_string(m_left) + " requests to " +
                (m_prefills ? "send" : "receive")};
    }

  private:
    void BeginPrefill()
    {
        const auto& request = m_workload.GetConfig().requests[m_requests[m_next]];
        const TimePs now = m_sys.Now();
        const TimePs wait = std::max<TimePs>(request.arrival - now, 0);
        m_computeStart = now + wait;
        const TimePs compute =
            m_sys.GpuTime(ns3::TimesPs(m_workload.GetConfig().prefillPerToken, request.tokens));
        m_sys.CheckDelay(ns3::AddPs(wait, compute), "prefill");
        m_sys.Schedule(wait + compute, &KvCacheRank::PrefillEnded, this);
    }

    static void PrefillEnded(void* argument)
    {
        auto& rank = *static_cast<KvCacheRank*>(argument);
        const uint32_t request = rank.m_requests[rank.m_next++];
        const TimePs now = rank.m_sys.Now();
        if (now > rank.m_computeStart)
        {
            rank.m_sys.get_observer().ComputeEnded(
                {rank.m_sys.get_rank(), "prefill", {}, rank.m_computeStart, now});
        }
        rank.m_workload.Sent(request, now);
        rank.m_sys.SendMessage(
            rank.m_workload.DecodeRank(rank.m_workload.DecodeOf(request), rank.m_share),
            rank.m_workload.ShareOf(request),
            request,
            {1, 0, TrainingPhase::Forward},
            [&rank]() { rank.End(); },
            KV_CACHE_PURPOSE);
        if (rank.m_next < rank.m_requests.size())
        {
            rank.BeginPrefill();
        }
    }

    static void NothingToDo(void* rank)
    {
        static_cast<KvCacheRank*>(rank)->Finish();
    }

    void End()
    {
        if (--m_left == 0)
        {
            Finish();
        }
    }

    void Finish()
    {
        m_finished = true;
        m_sys.FinishPass(0, true);
    }

    KvCacheWorkload& m_workload;
    Sys& m_sys;
    bool m_prefills;
    bool m_decodes;
    uint32_t m_instance;
    uint32_t m_share;
    std::vector<uint32_t> m_requests;
    std::size_t m_next{0};
    TimePs m_computeStart{0};
    uint32_t m_left;
    bool m_finished{false};
};

} // namespace

KvCacheWorkload::KvCacheWorkload(KvCacheConfig config)
    : Workload({.file = config.file, .layers = {"prefill", "kv_transfer"}}),
      m_config(std::move(config)),
      m_transfers(m_config.requests.size())
{
    for (const uint32_t rank : m_config.decode)
    {
        if (std::ranges::find(m_config.prefill, rank) != m_config.prefill.end())
        {
            throw ns3::InputError(m_config.file,
                                  0,
                                  "rank " + std::to_string(rank) + " is to prefill and to decode",
                                  "each rank in one of the sets");
        }
    }
}

KvCacheWorkload::~KvCacheWorkload() = default;

void
KvCacheWorkload::Bind(const std::vector<int>& ranks)
{
    for (const auto* set : {&m_config.prefill, &m_config.decode})
    {
        const uint32_t largest = *std::ranges::max_element(*set);
        if (largest >= ranks.size())
        {
            throw ns3::InputError(m_config.file,
                                  0,
                                  "rank " + std::to_string(largest) + " does not exist",
                                  "ranks below " + std::to_string(ranks.size()));
        }
    }
    m_ranks = ranks;
}

std::unique_ptr<RankWorkload>
KvCacheWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<KvCacheRank>(*this, rank, sys);
}

uint64_t
KvCacheWorkload::GetCollectiveCount() const
{
    return m_config.requests.size() * m_config.ranksPerInstance;
}

uint64_t
KvCacheWorkload::ShareOf(uint32_t request) const
{
    const uint64_t bytes = m_config.BytesOf(m_config.requests[request].tokens);
    return std::max<uint64_t>(bytes / m_config.ranksPerInstance, 1);
}

uint32_t
KvCacheWorkload::PrefillOf(uint32_t request) const
{
    return request % static_cast<uint32_t>(m_config.prefill.size() / m_config.ranksPerInstance);
}

uint32_t
KvCacheWorkload::DecodeOf(uint32_t request) const
{
    return request % static_cast<uint32_t>(m_config.decode.size() / m_config.ranksPerInstance);
}

int
KvCacheWorkload::PrefillRank(uint32_t instance, uint32_t share) const
{
    return m_ranks[m_config.prefill[instance * m_config.ranksPerInstance + share]];
}

int
KvCacheWorkload::DecodeRank(uint32_t instance, uint32_t share) const
{
    return m_ranks[m_config.decode[instance * m_config.ranksPerInstance + share]];
}

void
KvCacheWorkload::Sent(uint32_t request, TimePs now)
{
    auto& transfer = m_transfers[request];
    transfer.start = transfer.start < 0 ? now : transfer.start;
}

void
KvCacheWorkload::Arrived(uint32_t request, TimePs now, RunObserver& observer)
{
    auto& transfer = m_transfers[request];
    transfer.end = now;
    if (++transfer.arrived == m_config.ranksPerInstance)
    {
        Report(request, observer);
    }
}

void
KvCacheWorkload::Report(uint32_t request, RunObserver& observer)
{
    if (m_done++ == 0)
    {
        observer.WorkloadResult("requests", TransferColumns().GetHeader());
    }
    const auto& arrival = m_config.requests[request];
    const auto& transfer = m_transfers[request];
    const TransferRow::Request moved{Microseconds(arrival.arrival),
                                     PrefillOf(request),
                                     DecodeOf(request),
                                     arrival.tokens,
                                     m_config.BytesOf(arrival.tokens),
                                     Microseconds(transfer.start),
                                     Microseconds(transfer.end)};
    const TransferRow row{std::to_string(request), moved, transfer.end - transfer.start};
    observer.WorkloadResult("requests", TransferColumns().RowOf(row));
    if (m_done == m_config.requests.size())
    {
        ReportPercentiles(observer);
    }
}

void
KvCacheWorkload::ReportPercentiles(RunObserver& observer) const
{
    std::vector<TimePs> times;
    for (const auto& transfer : m_transfers)
    {
        times.push_back(transfer.end - transfer.start);
    }
    std::ranges::sort(times);
    for (const uint32_t percent : {50U, 90U, 95U, 99U, 100U})
    {
        // Nearest rank: the smallest value that so many per cent do not exceed.
        const std::size_t rank = (times.size() * percent + 99) / 100;
        const TransferRow row{fmt::format("p{}", percent), std::nullopt, times[rank - 1]};
        observer.WorkloadResult("requests", TransferColumns().RowOf(row));
    }
}

std::string
DescribeTransferColumns()
{
    return TransferColumns().ToCsv();
}

} // namespace AstraSim
