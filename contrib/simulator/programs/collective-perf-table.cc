/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-perf-table.h"

#include "programs/frame/run-record.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <tuple>

namespace AstraSim
{

namespace
{

/// @return a number in at most @p width characters, with as many of two decimals as fit
std::string
Narrow(double value, std::size_t width)
{
    for (int decimals = 2; decimals >= 0; --decimals)
    {
        const std::string text = fmt::format("{:.{}f}", value, decimals);
        if (text.size() <= width)
        {
            return text;
        }
    }
    return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

/// @return an algorithm or protocol in NCCL's spelling: "NVLS_TREE", "COLLNET_DIRECT", "LL128"
std::string
NcclSpelling(const std::string& name)
{
    std::string spelt;
    for (std::size_t i = 0; i < name.size(); ++i)
    {
        const auto is = [&](std::size_t at, auto test) {
            return test(static_cast<unsigned char>(name[at])) != 0;
        };
        const bool begins =
            i > 0 && is(i, ::isupper) && (is(i - 1, ::islower) || name.compare(i, 4, "Tree") == 0);
        spelt += begins && name != "CollNet" && !(name.starts_with("CollNet") && i == 4) ? "_" : "";
        spelt += static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
    }
    return spelt;
}

} // namespace

CollectivePerfTable::CollectivePerfTable(const CollectivePerfOptions& options, uint32_t ranks)
    : m_options(options),
      m_ranks(ranks)
{
}

CollectivePerfRow
CollectivePerfTable::MakeRow(uint64_t size, const ElementType& type) const
{
    CollectivePerfRow row{};
    row.type = type;
    row.root = -1;
    row.count = size / type.bytes;
    if (m_options.test->perRank)
    {
        // Each rank's part begins at a multiple of 16 bytes.
        const uint64_t grain = std::max<uint64_t>(16 / type.bytes, 1);
        row.count = row.count / m_ranks / grain * grain;
        row.bytes = row.count * m_ranks * type.bytes;
    }
    else
    {
        row.bytes = row.count * type.bytes;
    }
    row.requestBytes = row.bytes;
    return row;
}

std::vector<CollectivePerfRow>
CollectivePerfTable::Rows() const
{
    std::vector<CollectivePerfRow> rows;
    const int first = m_options.root < 0 ? 0 : m_options.root;
    const int last = m_options.root < 0 ? static_cast<int>(m_ranks) - 1 : m_options.root;
    const auto addSizes = [&](const ElementType& type, const std::string& reduction, int root) {
        uint64_t size = m_options.minBytes;
        while (size <= m_options.maxBytes)
        {
            CollectivePerfRow row = MakeRow(size, type);
            row.reduction = reduction;
            row.root = m_options.test->rooted ? root : -1;
            rows.push_back(std::move(row));
            const uint64_t next =
                m_options.stepFactor > 1 ? size * m_options.stepFactor : size + m_options.stepBytes;
            if (next <= size)
            {
                break; // one size, or the end of 64 bits
            }
            size = next;
        }
    };
    for (const ElementType& type : m_options.types)
    {
        for (const std::string& reduction : m_options.reductions)
        {
            for (int root = first; root <= (m_options.test->rooted ? last : first); ++root)
            {
                addSizes(type, reduction, root);
            }
        }
    }
    return rows;
}

std::string
CollectivePerfTable::Header() const
{
    const bool factor = m_options.stepFactor > 1;
    std::string text = fmt::format("# collective-perf {}: simulated, not measured; the lines are "
                                   "those of nccl-tests 2.19\n"
                                   "# Collective test starting: {}\n",
                                   ProgramVersion(),
                                   m_options.test->program);
    text += fmt::format("# nThread {} nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: "
                        "{} iters: {} agg iters: {} validation: {} graph: 0\n#\n",
                        m_options.threads,
                        m_options.gpusPerThread,
                        m_options.minBytes,
                        m_options.maxBytes,
                        factor ? m_options.stepFactor : m_options.stepBytes,
                        factor ? "factor" : "bytes",
                        m_options.warmUps,
                        m_options.iterations,
                        m_options.aggregated,
                        m_options.checks);
    return text;
}

std::string
CollectivePerfTable::ColumnNames()
{
    constexpr const char* ROW =
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  "
        "{:>6} \n";
    const auto row = [](const std::array<const char*, 13>& cells) {
        return std::apply([](auto... each) { return fmt::format(fmt::runtime(ROW), each...); },
                          cells);
    };
    return fmt::format("#\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}           out-of-place            "
                       "           in-place          \n",
                       "",
                       "",
                       "",
                       "",
                       "") +
           row({"size",
                "count",
                "type",
                "redop",
                "root",
                "time",
                "algbw",
                "busbw",
                "#wrong",
                "time",
                "algbw",
                "busbw",
                "#wrong"}) +
           row({"(B)",
                "(elements)",
                "",
                "",
                "",
                "(us)",
                "(GB/s)",
                "(GB/s)",
                "",
                "(us)",
                "(GB/s)",
                "(GB/s)",
                ""});
}

std::pair<double, double>
CollectivePerfTable::Bandwidths(const CollectivePerfRow& row, double microseconds) const
{
    if (microseconds <= 0)
    {
        return {0, 0};
    }
    double gigabytes = static_cast<double>(row.bytes) / 1e9;
    double factor = BusBandwidthFactor(m_options.test->op, m_ranks);
    if (m_options.test->op == CollectiveOp::None) // hypercube counts bytes from other ranks
    {
        gigabytes *= static_cast<double>(m_ranks - 1) / m_ranks;
        factor = 1;
    }
    const double algorithm = gigabytes / (microseconds / 1e6);
    return {algorithm, algorithm * factor};
}

std::string
CollectivePerfTable::Row(const CollectivePerfRow& row, double microseconds)
{
    const auto [algorithm, bus] = Bandwidths(row, microseconds);
    m_busSum += bus;
    ++m_rows;
    const std::string body = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}",
                                         Narrow(microseconds, 7),
                                         Narrow(algorithm, 6),
                                         Narrow(bus, 6),
                                         m_options.checks > 0 ? "0" : "N/A");
    return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n",
                       row.bytes,
                       row.count,
                       row.type.name,
                       row.reduction,
                       row.root,
                       body,
                       body);
}

std::string
CollectivePerfTable::Footer() const
{
    return fmt::format("# {:<20} : 0 OK\n# {:<20} : {:g} \n#\n",
                       "Out of bounds values",
                       "Avg bus bandwidth",
                       m_rows == 0 ? 0 : m_busSum / m_rows);
}

std::string
CollectivePerfTable::Choice(const CollectivePerfRow& row, const CollectiveChoice& choice) const
{
    const bool named = m_options.test->op != CollectiveOp::None;
    const double estimate = static_cast<double>(choice.predicted) / 1e6;
    return fmt::format("{}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..{}}}{}{}",
                       named ? ToString(m_options.test->op) : "HyperCube",
                       row.bytes,
                       NcclSpelling(choice.algorithm),
                       NcclSpelling(choice.protocol),
                       choice.channels - 1,
                       estimate > 0 ? fmt::format(" time {:.2f}", estimate) : "",
                       choice.by.empty() ? "" : ", chosen by " + choice.by);
}

} // namespace AstraSim
