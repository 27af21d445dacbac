/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GUARDED_MAIN_H
#define GUARDED_MAIN_H

#include <functional>
#include <string>

namespace AstraSim
{

/**
 * Run a program's body and turn its exceptions into an exit status: 2 and one line for an
 * InputError, 1 and one line for memory that has run out and for anything else. Text that standard
 * output does not take (a full disk) is 2 and one line, too. Only a program that returns 0 frees
 * its memory; one that fails leaves that to the operating system.
 * @return the body's exit status, if it is 0
 */
int GuardedMain(const std::function<int()>& body);

/// @return the error for memory that has run out, "out of memory: ..."; later calls return the
/// first one's text, as printing takes memory, too
std::string DescribeOutOfMemory();

/**
 * @ingroup programs
 * @brief Calls a function, as long as the object lives, if memory runs out in a place that cannot
 * throw. The program then ends with status 1, as it does with an exception.
 */
class LastResort
{
  public:
    /// @param act may take little memory, and frees some first; returns the message for the user
    explicit LastResort(std::function<std::string()> act);
    ~LastResort();

    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;

  private:
    std::function<std::string()> m_before;
};

} // namespace AstraSim

#endif /* GUARDED_MAIN_H */
