/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "msccl-estimate.h"

#include "collectives/model/collective/divide-up.h"
#include "collectives/model/nccl/nccl-plan.h"
#include "msccl-graph.h"
#include "msccl-walk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr double PS_OF_NS = 1000;
/// Slices that are carried out; all others take as long as the last of these.
constexpr uint64_t MOST_SLICES = 32;

/// Carries a program out: each step begins when its predecessors are done.
class Execution
{
  public:
    Execution(const MscclProgram& program, const CollectiveTask& task)
        : m_program(program),
          m_walk(program),
          m_task(task),
          m_block(task.blocks[static_cast<std::size_t>(program.protocol)]),
          m_wireInflation(WireInflation(program.protocol))
    {
        for (const auto& blocks : program.gpus)
        {
            auto& states = m_states.emplace_back(blocks.size());
            for (std::size_t b = 0; b < blocks.size(); ++b)
            {
                states[b].ends.resize(blocks[b].steps.size());
            }
        }
    }

    /// @param bytes of a chunk's part @return when the last step of all GPUs has ended
    double CarryOutSlice(double bytes)
    {
        m_walk.Run([this, bytes](uint32_t gpu, uint32_t block, uint32_t step) {
            return CarryOut(gpu, block, step, bytes);
        });
        double last = 0;
        for (const auto& states : m_states)
        {
            for (const State& state : states)
            {
                last = std::max(last, state.now);
            }
        }
        return last;
    }

  private:
    struct State
    {
        double now{0};               ///< end of the step done last, ps
        std::vector<double> ends;    ///< of the slice's steps
        std::deque<double> arrivals; ///< of messages for this block
    };

    /// @return whether the step's message, if it receives one, had come
    bool CarryOut(uint32_t gpu, uint32_t block, uint32_t number, double bytes)
    {
        State& state = m_states[gpu][block];
        const MscclBlock& steps = m_program.gpus[gpu][block];
        const MscclStep& step = steps.steps[number];
        if (step.receives)
        {
            if (state.arrivals.empty())
            {
                return false;
            }
            state.now = std::max(state.now, state.arrivals.front());
            state.arrivals.pop_front();
        }
        if (step.block)
        {
            state.now = std::max(state.now, m_states[gpu][*step.block].ends[step.blockStep]);
        }
        if (step.sends)
        {
            Send(gpu, steps, step.chunks * bytes * m_wireInflation, state);
        }
        state.ends[number] = state.now;
        return true;
    }

    void Send(uint32_t gpu, const MscclBlock& block, double bytes, State& state)
    {
        const uint32_t peer = *block.sendsTo;
        const bool isNear = m_task.servers[gpu] == m_task.servers[peer];
        const TimePs latency = m_task.sendLatency.value_or(isNear ? m_block.step : m_block.netStep);
        const double rate = isNear && !m_task.sendLatency ? m_block.GBps
                            : isNear                      ? m_task.nvlinkGBps
                                                          : m_task.nicGBps;
        state.now += static_cast<double>(latency) + (rate > 0 ? bytes * PS_OF_NS / rate : 0);
        const uint32_t receiver = *m_program.FindReceiver(peer, gpu, block.channel);
        m_states[peer][receiver].arrivals.push_back(state.now);
    }

    const MscclProgram& m_program;
    MscclWalk m_walk;
    const CollectiveTask& m_task;
    const CollectiveTask::Block& m_block;
    double m_wireInflation;
    std::vector<std::vector<State>> m_states; ///< by GPU and block
};

/// @param chunkBytes on the wire
/// @return time that the links of the busiest GPU, or the busiest NIC, need for the data sent
double
LinkTime(const MscclProgram& program, const CollectiveTask& task, double chunkBytes)
{
    double most = 0;
    std::map<uint32_t, double> farByNic;
    for (uint32_t gpu = 0; gpu < program.gpus.size(); ++gpu)
    {
        double near = 0;
        double& far = farByNic[task.nics[gpu]];
        for (const MscclBlock& block : program.gpus[gpu])
        {
            for (const MscclStep& step : block.steps)
            {
                const bool sends = step.sends && block.sendsTo;
                const bool isNear = sends && task.servers[gpu] == task.servers[*block.sendsTo];
                (isNear ? near : far) += sends ? step.chunks * chunkBytes : 0;
            }
        }
        const double nearTime = task.nvlinkGBps > 0 ? near / task.nvlinkGBps : 0;
        const double farTime = task.nicGBps > 0 ? far / task.nicGBps : 0;
        most = std::max({most, nearTime, farTime});
    }
    return most * PS_OF_NS;
}

} // namespace

TimePs
EstimateMscclTime(const MscclProgram& program, const CollectiveTask& task)
{
    const uint64_t chunk = task.request.bytes / program.chunks;
    const uint64_t slice = MscclGraph::SliceBytes(program.protocol);
    const uint64_t slices = DivideUp(chunk, slice);
    const uint64_t carriedOut = std::min(slices, MOST_SLICES);
    Execution execution(program, task);
    double end = 0;
    double before = 0;
    for (uint64_t i = 0; i < carriedOut; ++i)
    {
        before = end;
        end = execution.CarryOutSlice(static_cast<double>(std::min(slice, chunk - i * slice)));
    }
    end += (end - before) * static_cast<double>(slices - carriedOut);
    const double links =
        LinkTime(program, task, static_cast<double>(chunk) * WireInflation(program.protocol));
    const TimePs start =
        task.sendLatency ? 0 : task.blocks[static_cast<std::size_t>(program.protocol)].start;
    return start + std::llround(std::max(end, links));
}

} // namespace AstraSim
