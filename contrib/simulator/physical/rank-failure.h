/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RANK_FAILURE_H
#define RANK_FAILURE_H

#include <stdexcept>
#include <string>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief A failure that ends the run on all ranks: this rank's own, or one that another rank
 * reported.
 *
 * Its text is the cause, without the rank.
 */
class RankFailure : public std::runtime_error
{
  public:
    static constexpr int THIS_RANK = -1;

    /**
     * @param rank where the cause lies
     * @param cause for people
     * @param status of run.json: "failed", "interrupted" or "stopped"
     * @param exitStatus of every process
     */
    RankFailure(int rank,
                const std::string& cause,
                std::string status = "failed",
                int exitStatus = 1)
        : std::runtime_error(cause),
          m_rank(rank),
          m_status(std::move(status)),
          m_exitStatus(exitStatus)
    {
    }

    /// A failure of this rank's own.
    explicit RankFailure(const std::string& cause)
        : RankFailure(THIS_RANK, cause)
    {
    }

    int GetRank() const
    {
        return m_rank;
    }

    const std::string& GetStatus() const
    {
        return m_status;
    }

    int GetExitStatus() const
    {
        return m_exitStatus;
    }

    /// @return whether this rank was told of it, so that another has printed it
    bool WasTold() const
    {
        return m_wasTold;
    }

    /// @return the same failure, marked as told
    RankFailure Told() const
    {
        RankFailure failure = *this;
        failure.m_wasTold = true;
        return failure;
    }

  private:
    int m_rank;
    std::string m_status;
    int m_exitStatus;
    bool m_wasTold{false};
};

} // namespace AstraSim

#endif /* RANK_FAILURE_H */
