/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_AGREEMENT_H
#define RANK_AGREEMENT_H

#include "rank-communicator.h"

#include "ns3/input-error.h"

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief An error that all ranks throw together, and that one of them prints.
 */
class Refusal : public ns3::InputError
{
  public:
    /// @param text for people: the rank, if not all have the same reason, and the cause
    Refusal(const std::string& text, int exitStatus)
        : InputError(text),
          m_exitStatus(exitStatus)
    {
    }

    int GetExitStatus() const
    {
        return m_exitStatus;
    }

  private:
    int m_exitStatus;
};

/**
 * Every rank has taken a step, before or after their messages.
 * @param failure of this rank; null if it succeeded
 * @throw Refusal the error of the first rank that failed; the same on all ranks
 */
void Agree(const RankCommunicator& ranks, const std::exception_ptr& failure);

/**
 * Compare the inputs of all ranks.
 * @param facts name and value of each
 * @throw Refusal for the first rank that has something else than rank 0; the same on all ranks
 */
void CompareFacts(const RankCommunicator& ranks,
                  const std::vector<std::pair<std::string, std::string>>& facts);

/// @return the name of this host
std::string HostName();

} // namespace AstraSim

#endif /* RANK_AGREEMENT_H */
