/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "msccl-program.h"
#include "msccl-walk.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <tuple>

namespace AstraSim
{

namespace
{

using Buffer = MscclStep::Buffer;
using Place = MscclStep::Place;

/// The chunks of GPUs' inputs that add up to a chunk, sorted; none: it has no data.
using Value = std::vector<uint64_t>;

Value
Sum(const Value& a, const Value& b)
{
    Value sum;
    std::ranges::merge(a, b, std::back_inserter(sum));
    return sum;
}

std::string
NameOf(uint32_t gpu)
{
    return "GPU " + std::to_string(gpu);
}

/// Carries out a program on symbols.
class Symbols
{
  public:
    explicit Symbols(const MscclProgram& program)
        : m_program(program),
          m_walk(program)
    {
        for (uint32_t gpu = 0; gpu < program.gpus.size(); ++gpu)
        {
            for (uint32_t chunk = 0; chunk < program.inputChunks; ++chunk)
            {
                At(gpu, {Buffer::Input, chunk}) = {InputOf(gpu, chunk)};
            }
        }
    }

    void Run()
    {
        m_walk.Run([this](uint32_t gpu, uint32_t block, uint32_t step) {
            return CarryOut(gpu, m_program.gpus[gpu][block], step);
        });
        CheckDone();
        CheckResult();
    }

  private:
    [[noreturn]] void Fail(std::size_t line, const std::string& what, const char* expected) const
    {
        throw ns3::InputError(m_program.source, line, what, expected);
    }

    uint64_t InputOf(uint32_t gpu, uint64_t chunk) const
    {
        return uint64_t{gpu} * m_program.inputChunks + chunk;
    }

    /// @return the value at a place. If the program works in place, the smaller of the input and
    /// output buffers is a part of the other
    Value& At(uint32_t gpu, Place place)
    {
        if (m_program.inPlace && place.buffer == Buffer::Input &&
            m_program.inputChunks <= m_program.outputChunks)
        {
            const bool isPart = m_program.inputChunks < m_program.outputChunks;
            place = {Buffer::Output, place.offset + (isPart ? gpu * m_program.inputChunks : 0)};
        }
        else if (m_program.inPlace && place.buffer == Buffer::Output &&
                 m_program.outputChunks < m_program.inputChunks)
        {
            place = {Buffer::Input, place.offset + gpu * m_program.outputChunks};
        }
        return m_data[{gpu, place.buffer, place.offset}];
    }

    /// @return whether the step's message, if it receives one, had come
    bool CarryOut(uint32_t gpu, const MscclBlock& block, uint32_t number)
    {
        const MscclStep& step = block.steps[number];
        std::vector<Value> moved(step.chunks);
        if (step.receives && !Receive(gpu, block, step, moved))
        {
            return false;
        }
        Work(gpu, step, moved);
        if (step.sends)
        {
            m_sent[{gpu, *block.sendsTo, block.channel}].push_back(std::move(moved));
        }
        return true;
    }

    bool Receive(uint32_t gpu,
                 const MscclBlock& block,
                 const MscclStep& step,
                 std::vector<Value>& moved)
    {
        auto& queue = m_sent[{*block.receivesFrom, gpu, block.channel}];
        if (queue.empty())
        {
            return false;
        }
        moved = std::move(queue.front());
        queue.pop_front();
        if (moved.size() != step.chunks)
        {
            Fail(step.line,
                 "the step receives " + std::to_string(step.chunks) + " chunks, and " +
                     NameOf(*block.receivesFrom) + " sends " + std::to_string(moved.size()),
                 "the same number");
        }
        return true;
    }

    /// Carry out a step's sums and copies. @param moved data received; becomes the data to send
    void Work(uint32_t gpu, const MscclStep& step, std::vector<Value>& moved)
    {
        for (uint32_t i = 0; i < step.chunks; ++i)
        {
            const Place source{step.source.buffer, step.source.offset + i};
            const Place destination{step.destination.buffer, step.destination.offset + i};
            if (step.adds)
            {
                // A local sum adds the source to the destination; a received chunk is added to the
                // source.
                moved[i] = step.receives ? Sum(moved[i], At(gpu, source))
                                         : Sum(At(gpu, destination), At(gpu, source));
            }
            else if (!step.receives)
            {
                moved[i] = At(gpu, source);
            }
            if (step.stores)
            {
                At(gpu, destination) = moved[i];
            }
        }
    }

    void CheckDone() const
    {
        for (uint32_t gpu = 0; gpu < m_program.gpus.size(); ++gpu)
        {
            for (uint32_t block = 0; block < m_program.gpus[gpu].size(); ++block)
            {
                const auto& steps = m_program.gpus[gpu][block].steps;
                const uint32_t done = m_walk.GetDone(gpu, block);
                if (done < steps.size())
                {
                    Fail(steps[done].line,
                         "the step of " + NameOf(gpu) + " waits for ever",
                         "a message, and steps, that come before");
                }
            }
        }
        for (const auto& [connection, queue] : m_sent)
        {
            if (!queue.empty())
            {
                const auto [from, to, channel] = connection;
                const auto receiver = m_program.FindReceiver(to, from, channel);
                Fail(m_program.gpus[to][*receiver].line,
                     NameOf(from) + " sends more than " + NameOf(to) + " receives",
                     "a step for each message");
            }
        }
    }

    /// @return the right value of a chunk of a GPU's output
    Value Wanted(uint32_t gpu, uint32_t chunk) const
    {
        const auto gpus = static_cast<uint32_t>(m_program.gpus.size());
        Value all;
        switch (m_program.op)
        {
        case CollectiveOp::AllGather:
            return {chunk}; // chunks of all inputs, one GPU after the other
        case CollectiveOp::AllToAll: {
            const uint32_t each = m_program.chunks / gpus;
            return {InputOf(chunk / each, uint64_t{gpu} * each + chunk % each)};
        }
        case CollectiveOp::ReduceScatter:
            chunk += gpu * (m_program.chunks / gpus);
            [[fallthrough]];
        default:
            for (uint32_t from = 0; from < gpus; ++from)
            {
                all.push_back(InputOf(from, chunk));
            }
            return all;
        }
    }

    void CheckResult()
    {
        const auto gpus = static_cast<uint32_t>(m_program.gpus.size());
        const bool divides = m_program.op == CollectiveOp::ReduceScatter;
        const uint32_t chunks = divides ? m_program.chunks / gpus : m_program.chunks;
        for (uint32_t gpu = 0; gpu < gpus; ++gpu)
        {
            for (uint32_t chunk = 0; chunk < chunks; ++chunk)
            {
                if (At(gpu, {Buffer::Output, chunk}) != Wanted(gpu, chunk))
                {
                    Fail(0,
                         "chunk " + std::to_string(chunk) + " of the output of " + NameOf(gpu) +
                             " is not the result",
                         "steps that make it");
                }
            }
        }
    }

    const MscclProgram& m_program;
    std::map<std::tuple<uint32_t, Buffer, int64_t>, Value> m_data;
    MscclWalk m_walk;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::deque<std::vector<Value>>>
        m_sent; ///< by sender, receiver and channel: on their way
};

/// @param isNamed whether the step may be refused by its line
void
CheckStep(const MscclProgram& program,
          const std::vector<MscclBlock>& blocks,
          const MscclBlock& block,
          const MscclStep& step)
{
    const auto fail = [&](const char* what, const char* expected) {
        throw ns3::InputError(program.source, step.line, what, expected);
    };
    if (step.sends && !block.sendsTo)
    {
        fail("the step sends, and its thread block has no peer for it", "send=\"a GPU\"");
    }
    if (step.receives && !block.receivesFrom)
    {
        fail("the step receives, and its thread block has no peer for it", "recv=\"a GPU\"");
    }
    const bool reads = !step.receives || step.adds;
    const bool moves = step.receives || step.sends || step.stores;
    if (moves && (step.chunks == 0 || (reads && step.source.offset < 0) ||
                  (step.stores && step.destination.offset < 0)))
    {
        fail("the step moves nothing", "cnt of 1 or more, and offsets of 0 or more");
    }
    if (step.block &&
        (*step.block >= blocks.size() || step.blockStep >= blocks[*step.block].steps.size()))
    {
        fail("the step waits for one that does not exist", "depid and deps of the same GPU");
    }
}

void
CheckConnections(const MscclProgram& program, uint32_t gpu, uint32_t number)
{
    const MscclBlock& block = program.gpus[gpu][number];
    const auto fail = [&](const std::string& what, const char* expected) {
        throw ns3::InputError(program.source, block.line, what, expected);
    };
    for (const auto& peer : {block.sendsTo, block.receivesFrom})
    {
        if (peer && (*peer >= program.gpus.size() || *peer == gpu))
        {
            fail("the peer is GPU " + std::to_string(*peer), "another GPU of the file");
        }
    }
    if (block.sendsTo)
    {
        if (program.FindSender(gpu, *block.sendsTo, block.channel) != number)
        {
            fail("two thread blocks send to one GPU on one channel", "one of them");
        }
        if (!program.FindReceiver(*block.sendsTo, gpu, block.channel))
        {
            fail("nobody receives from the thread block", "a <tb> with recv and the same chan");
        }
    }
    if (block.receivesFrom &&
        program.FindReceiver(gpu, *block.receivesFrom, block.channel) != number)
    {
        fail("two thread blocks receive from one GPU on one channel", "one of them");
    }
}

} // namespace

void
CheckMscclProgram(const MscclProgram& program)
{
    for (uint32_t gpu = 0; gpu < program.gpus.size(); ++gpu)
    {
        for (uint32_t block = 0; block < program.gpus[gpu].size(); ++block)
        {
            CheckConnections(program, gpu, block);
            for (const MscclStep& step : program.gpus[gpu][block].steps)
            {
                CheckStep(program, program.gpus[gpu], program.gpus[gpu][block], step);
            }
        }
    }
    Symbols(program).Run();
}

} // namespace AstraSim
