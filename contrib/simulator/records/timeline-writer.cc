/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "timeline-writer.h"

#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

namespace AstraSim
{

namespace
{

constexpr int COMPUTE_THREAD = 0;
constexpr int WAIT_THREAD = 1;
constexpr int FIRST_QUEUE_THREAD = 2;

/// @return text in quotes; bytes that are no UTF-8, which names in workloads may have, are replaced
std::string
JsonText(std::string_view text)
{
    return nlohmann::json(std::string(text))
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

TimelineWriter::TimelineWriter(const std::string& path, int ranks, uint64_t limit)
    : m_file(path),
      m_ranks(ranks),
      m_limit(limit)
{
    m_file.Write("[\n");
    m_file.Flush();
}

void
TimelineWriter::ComputeEnded(const ComputeRecord& record)
{
    Write(record.rank,
          COMPUTE_THREAD,
          record.layer,
          "compute",
          record.start,
          record.end,
          fmt::format(R"("phase":"{}","pass":{})",
                      ToString(record.position.phase),
                      record.position.pass));
}

void
TimelineWriter::WaitEnded(const WaitRecord& record)
{
    Write(
        record.rank,
        WAIT_THREAD,
        record.reason == WaitReason::OtherRanks ? "bubble" : "exposed communication",
        "wait",
        record.start,
        record.end,
        fmt::format(R"("layer":{},"group":"{}")", JsonText(record.layer), ToString(record.group)));
}

void
TimelineWriter::StreamPhaseEnded(const StreamPhaseRecord& record)
{
    Write(record.rank,
          FIRST_QUEUE_THREAD + record.queue,
          ToString(record.op),
          "stream",
          record.start,
          record.end,
          fmt::format(R"("layer":{},"collective":{},"chunk":{},"phase":{},"bytes":{})",
                      JsonText(record.layer),
                      record.collective,
                      record.chunk,
                      record.phase,
                      record.bytes));
}

void
TimelineWriter::FlowEnded(const FlowRecord& record)
{
    if (!Admit(record.src))
    {
        return;
    }
    const std::string name =
        record.dst == FlowRecord::IN_NETWORK ? "in network" : fmt::format("to {}", record.dst);
    Name(record.src, COMPUTE_THREAD);
    m_file.Write(fmt::format(
        R"({}{{"ph":"b","pid":{},"tid":0,"id":{},"name":"{}","cat":"flow","ts":{:.6f},"args":{{"bytes":{},"channel":{},"collective":{}}}}},)"
        "\n"
        R"({{"ph":"e","pid":{},"tid":0,"id":{},"name":"{}","cat":"flow","ts":{:.6f}}})",
        Separator(),
        record.src,
        m_written,
        name,
        static_cast<double>(record.start) / 1e6,
        record.bytes,
        record.channel,
        record.collective,
        record.src,
        m_written,
        name,
        static_cast<double>(record.end) / 1e6));
}

bool
TimelineWriter::Admit(int rank)
{
    if (rank >= m_ranks)
    {
        return false;
    }
    if (m_written == m_limit)
    {
        ++m_dropped;
        return false;
    }
    ++m_written;
    return true;
}

const char*
TimelineWriter::Separator()
{
    const bool first = m_first;
    m_first = false;
    return first ? "" : ",\n";
}

void
TimelineWriter::Name(int rank, int thread)
{
    const auto [known, isNew] = m_named.insert({rank, thread});
    if (!isNew)
    {
        return;
    }
    const auto neighbour = std::next(known);
    const bool isNewRank = (known == m_named.begin() || std::prev(known)->first != rank) &&
                           (neighbour == m_named.end() || neighbour->first != rank);
    if (isNewRank)
    {
        m_file.Write(fmt::format(
            R"({}{{"ph":"M","pid":{},"tid":0,"name":"process_name","args":{{"name":"rank {}"}}}})",
            Separator(),
            rank,
            rank));
    }
    m_file.Write(fmt::format(
        R"({}{{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
        Separator(),
        rank,
        thread,
        thread == COMPUTE_THREAD ? "computation"
        : thread == WAIT_THREAD  ? "waiting"
                                 : fmt::format("stream queue {}", thread - FIRST_QUEUE_THREAD)));
}

void
TimelineWriter::Write(int rank,
                      int thread,
                      std::string_view name,
                      std::string_view category,
                      TimePs start,
                      TimePs end,
                      const std::string& arguments)
{
    if (!Admit(rank))
    {
        return;
    }
    Name(rank, thread);
    fmt::memory_buffer text;
    fmt::format_to(
        std::back_inserter(text),
        R"({}{{"ph":"X","pid":{},"tid":{},"name":{},"cat":"{}","ts":{:.6f},"dur":{:.6f},"args":{{{}}}}})",
        Separator(),
        rank,
        thread,
        JsonText(name),
        category,
        static_cast<double>(start) / 1e6,
        static_cast<double>(end - start) / 1e6,
        arguments);
    m_file.Write({text.data(), text.size()});
}

void
TimelineWriter::Finish()
{
    m_file.Write("\n]\n");
    m_file.Finish();
}

} // namespace AstraSim
