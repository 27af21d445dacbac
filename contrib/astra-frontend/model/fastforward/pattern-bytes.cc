/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pattern-bytes.h"

#include <cassert>
#include <cstring>
#include <type_traits>

namespace AstraSim
{

namespace
{

class Writer
{
  public:
    template <typename T>
    void Put(const T& value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }

    template <typename T>
    void Put(const std::vector<T>& values)
    {
        Put(values.size());
        for (const T& value : values)
        {
            Put(value);
        }
    }

    std::string Take()
    {
        return std::move(m_bytes);
    }

  private:
    std::string m_bytes;
};

class Reader
{
  public:
    explicit Reader(const std::string& bytes)
        : m_next(bytes.data()),
          m_end(bytes.data() + bytes.size())
    {
    }

    template <typename T>
    void Get(T& value)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        assert(m_next + sizeof(value) <= m_end);
        std::memcpy(&value, m_next, sizeof(value));
        m_next += sizeof(value);
    }

    template <typename T>
    void Get(std::vector<T>& values)
    {
        std::size_t size = 0;
        Get(size);
        values.resize(size);
        for (T& value : values)
        {
            Get(value);
        }
    }

  private:
    const char* m_next;
    const char* m_end;
};

} // namespace

std::string
ToBytes(const PartPattern& pattern, const Repetition& repetition)
{
    Writer writer;
    writer.Put(repetition.goesOn);
    writer.Put(repetition.gaps);
    writer.Put(pattern.size());
    for (const TimedOperation& timed : pattern)
    {
        const PartOperation& operation = *timed.operation;
        writer.Put(operation.isMessage);
        writer.Put(operation.group.id);
        writer.Put(operation.group.kind);
        writer.Put(operation.group.ranks);
        writer.Put(operation.request.op);
        writer.Put(operation.request.bytes);
        writer.Put(operation.request.root);
        writer.Put(operation.request.bytesPerPair);
        writer.Put(operation.info);
        writer.Put(timed.starts);
    }
    return writer.Take();
}

OwnedPattern
PatternFromBytes(const std::string& bytes)
{
    Reader reader(bytes);
    OwnedPattern pattern;
    reader.Get(pattern.repetition.goesOn);
    reader.Get(pattern.repetition.gaps);
    std::size_t size = 0;
    reader.Get(size);
    pattern.operations.resize(size);
    for (OwnedOperation& timed : pattern.operations)
    {
        PartOperation& operation = timed.operation;
        reader.Get(operation.isMessage);
        reader.Get(operation.group.id);
        reader.Get(operation.group.kind);
        reader.Get(operation.group.ranks);
        reader.Get(operation.request.op);
        reader.Get(operation.request.bytes);
        reader.Get(operation.request.root);
        reader.Get(operation.request.bytesPerPair);
        reader.Get(operation.info);
        reader.Get(timed.starts);
    }
    return pattern;
}

std::string
ToBytes(const PartRound& round)
{
    Writer writer;
    writer.Put(round.starts);
    writer.Put(round.outcome.traffic);
    writer.Put(round.outcome.ends.size());
    for (const auto& ends : round.outcome.ends)
    {
        writer.Put(ends);
    }
    return writer.Take();
}

PartRound
RoundFromBytes(const std::string& bytes)
{
    Reader reader(bytes);
    PartRound round;
    reader.Get(round.starts);
    reader.Get(round.outcome.traffic);
    std::size_t size = 0;
    reader.Get(size);
    round.outcome.ends.resize(size);
    for (auto& ends : round.outcome.ends)
    {
        reader.Get(ends);
    }
    return round;
}

} // namespace AstraSim
