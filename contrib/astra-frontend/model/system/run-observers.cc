/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-observers.h"

#include <algorithm>

namespace AstraSim
{

const char*
ToString(TrainingPhase phase)
{
    static constexpr const char* NAMES[] = {"fwd", "ig", "wg"};
    return NAMES[static_cast<uint8_t>(phase)];
}

void
RunObservers::Add(RunObserver& observer)
{
    m_observers.push_back(&observer);
}

void
RunObservers::CollectiveStarted(const CollectiveRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->CollectiveStarted(record);
    }
}

void
RunObservers::CollectiveEnded(const CollectiveRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->CollectiveEnded(record);
    }
}

bool
RunObservers::NeedsEach() const
{
    return std::ranges::any_of(m_observers, &RunObserver::NeedsEach);
}

void
RunObservers::WorkedInStep(const InStepRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->WorkedInStep(record);
    }
}

void
RunObservers::StreamPhaseEnded(const StreamPhaseRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->StreamPhaseEnded(record);
    }
}

void
RunObservers::FlowEnded(const FlowRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->FlowEnded(record);
    }
}

void
RunObservers::MessageLeft(const MessageEndRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->MessageLeft(record);
    }
}

void
RunObservers::MessageCame(const MessageEndRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->MessageCame(record);
    }
}

void
RunObservers::ComputeEnded(const ComputeRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->ComputeEnded(record);
    }
}

void
RunObservers::WaitEnded(const WaitRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->WaitEnded(record);
    }
}

void
RunObservers::AwaitEnded(const AwaitRecord& record)
{
    for (auto* observer : m_observers)
    {
        observer->AwaitEnded(record);
    }
}

void
RunObservers::LayerFinished(int rank, const WorkloadPosition& position, TimePs now)
{
    for (auto* observer : m_observers)
    {
        observer->LayerFinished(rank, position, now);
    }
}

void
RunObservers::PassFinished(int rank, uint32_t pass, TimePs now)
{
    for (auto* observer : m_observers)
    {
        observer->PassFinished(rank, pass, now);
    }
}

void
RunObservers::RankFinished(int rank, TimePs now)
{
    for (auto* observer : m_observers)
    {
        observer->RankFinished(rank, now);
    }
}

void
RunObservers::LocalMemoryChanged(int rank, uint64_t bytes, TimePs now)
{
    for (auto* observer : m_observers)
    {
        observer->LocalMemoryChanged(rank, bytes, now);
    }
}

void
RunObservers::WorkloadResult(std::string_view table, std::string_view line)
{
    for (auto* observer : m_observers)
    {
        observer->WorkloadResult(table, line);
    }
}

} // namespace AstraSim
