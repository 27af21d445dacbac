/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GOAL_PROGRAM_H
#define GOAL_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace AstraSim
{

/// An operation of a GOAL schedule. The values are those of the binary form.
struct GoalOperation
{
    enum class Type : uint8_t
    {
        Send = 1,
        Receive = 2,
        Calculate = 3,
    };

    Type type;
    uint32_t stream;     ///< "cpu": calculations of one stream follow each other
    uint32_t peer;       ///< of a message
    uint32_t tag;        ///< of a message
    uint64_t size;       ///< bytes, or nanoseconds of a calculation
    uint32_t missing{0}; ///< operations that end or start before it
    std::size_t line{0}; ///< in the text form
};

/// The order of two operations of a rank.
struct GoalDependency
{
    uint32_t before;
    uint32_t after;
    bool onStart; ///< "irequires": after the start of the other, not after its end
};

/// The operations of one rank and their order.
class GoalProgram
{
  public:
    /// Add an operation. @return its number
    uint32_t Add(const GoalOperation& operation);

    /// Add a dependency of operations that are there.
    void Add(const GoalDependency& dependency);

    /// Sort what was added. @return an operation on a cycle, or the number of operations if all can
    /// run
    std::size_t Finish();

    const std::vector<GoalOperation>& Operations() const
    {
        return m_operations;
    }

    /// @return the dependencies on an operation; after Finish()
    std::span<const GoalDependency> After(uint32_t operation) const;

    /// @return the operations that an operation depends on; after Finish()
    std::span<const uint64_t> Before(uint32_t operation) const;

  private:
    std::size_t FindCycle() const;

    std::vector<GoalOperation> m_operations;
    std::vector<GoalDependency> m_dependencies; ///< by GoalDependency::before
    std::vector<std::size_t> m_firstAfter;      ///< of each operation, in m_dependencies
    std::vector<uint64_t> m_before;
    std::vector<std::size_t> m_firstBefore; ///< of each operation, in m_before
};

} // namespace AstraSim

#endif /* GOAL_PROGRAM_H */
