/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goal-binary.h"

#include "ns3/input-error.h"

#include <cstring>
#include <fmt/format.h>
#include <type_traits>

// The file, little-endian and without padding: a cookie (8 bytes), the number of ranks (4), the
// largest cpu and nic (1 each), and for each rank the begin and end of its part (8 each), counted
// from behind the cookie. A part has the numbers of operations and of those that nothing precedes
// (4 each), the latter's numbers (4 each), the operations (39 bytes each), and the numbers of
// operations that follow others. An operation names its successors by their number and the place of
// the first among these, once for its end and once for its start.

namespace AstraSim
{

namespace
{

constexpr uint64_t COOKIE = 4223;
constexpr std::size_t JUMP_TABLE = sizeof(uint32_t) + 2;
constexpr std::size_t OPERATION_BYTES = 7 * sizeof(uint32_t) + sizeof(uint64_t) + 3;

/// Reads numbers of a part of a file one after another.
class ByteReader
{
  public:
    ByteReader(std::string_view bytes, const std::string& path)
        : m_bytes(bytes),
          m_path(path)
    {
    }

    template <class T>
    T Take()
    {
        T value{};
        std::memcpy(&value, Bytes(sizeof(T)).data(), sizeof(T));
        return value;
    }

    /// @return the next bytes
    std::string_view Bytes(uint64_t count)
    {
        if (count > m_bytes.size())
        {
            throw ns3::InputError(m_path,
                                  0,
                                  "ends within a schedule",
                                  "a GOAL schedule as txt2bin of LogGOPSim writes it");
        }
        const std::string_view taken = m_bytes.substr(0, count);
        m_bytes.remove_prefix(count);
        return taken;
    }

  private:
    std::string_view m_bytes;
    const std::string& m_path;
};

/// The successors of an operation, as its record names them.
struct Successors
{
    uint32_t count;
    uint32_t first; ///< in the list behind the operations
};

GoalOperation
TakeOperation(ByteReader& bytes, const std::string& path)
{
    GoalOperation operation{};
    bytes.Take<uint32_t>(); // the number of its predecessors, which follows from their successors
    const auto type = bytes.Take<uint8_t>();
    if (type < 1 || type > 3)
    {
        throw ns3::InputError(path,
                              0,
                              fmt::format("has an operation of type {}", type),
                              "1 (send), 2 (recv) or 3 (calc)");
    }
    operation.type = static_cast<GoalOperation::Type>(type);
    operation.peer = bytes.Take<uint32_t>();
    operation.size = bytes.Take<uint64_t>();
    operation.tag = bytes.Take<uint32_t>();
    operation.stream = bytes.Take<uint8_t>();
    bytes.Take<uint8_t>(); // nic
    return operation;
}

/// Add the dependencies of those that follow an operation.
void
AddSuccessors(GoalProgram& program,
              uint32_t operation,
              const Successors& successors,
              bool onStart,
              ByteReader list,
              const std::string& path)
{
    if (successors.count == 0)
    {
        return;
    }
    list.Bytes(uint64_t{successors.first} * sizeof(uint32_t));
    for (uint32_t i = 0; i < successors.count; ++i)
    {
        const auto after = list.Take<uint32_t>();
        if (after >= program.Operations().size())
        {
            throw ns3::InputError(path,
                                  0,
                                  fmt::format("operation {} precedes operation {}, which is not "
                                              "there",
                                              operation,
                                              after),
                                  fmt::format("numbers below {}", program.Operations().size()));
        }
        program.Add(GoalDependency{operation, after, onStart});
    }
}

GoalProgram
ReadProgram(ByteReader bytes, const std::string& path)
{
    const auto operations = bytes.Take<uint32_t>();
    const auto roots = bytes.Take<uint32_t>();
    bytes.Bytes(uint64_t{roots} * sizeof(uint32_t));
    ByteReader records(bytes.Bytes(uint64_t{operations} * OPERATION_BYTES), path);
    GoalProgram program;
    std::vector<Successors> onEnd;
    std::vector<Successors> onStart;
    for (uint32_t i = 0; i < operations; ++i)
    {
        program.Add(TakeOperation(records, path));
        for (auto* list : {&onEnd, &onStart})
        {
            const auto count = records.Take<uint32_t>();
            list->push_back({count, records.Take<uint32_t>()});
        }
    }
    for (uint32_t i = 0; i < operations; ++i)
    {
        AddSuccessors(program, i, onEnd[i], false, bytes, path);
        AddSuccessors(program, i, onStart[i], true, bytes, path);
    }
    return program;
}

} // namespace

bool
IsGoalBinary(std::string_view begin)
{
    uint64_t cookie = 0;
    if (begin.size() < sizeof(cookie))
    {
        return false;
    }
    std::memcpy(&cookie, begin.data(), sizeof(cookie));
    return cookie == COOKIE;
}

std::vector<GoalProgram>
ReadGoalBinary(std::string_view file, const std::string& path)
{
    const std::string_view parts = file.substr(sizeof(COOKIE));
    ByteReader head(parts, path);
    const auto ranks = head.Take<uint32_t>();
    head.Bytes(JUMP_TABLE - sizeof(uint32_t));
    std::vector<GoalProgram> programs;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        const auto begin = head.Take<uint64_t>();
        const auto end = head.Take<uint64_t>();
        if (begin > end || end > parts.size())
        {
            throw ns3::InputError(
                path,
                0,
                fmt::format("the schedule of rank {} lies outside the file", rank),
                "a GOAL schedule as txt2bin of LogGOPSim writes it");
        }
        programs.push_back(ReadProgram(ByteReader(parts.substr(begin, end - begin), path), path));
    }
    return programs;
}

} // namespace AstraSim
