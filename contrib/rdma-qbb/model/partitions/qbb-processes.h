/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PROCESSES_H
#define QBB_PROCESSES_H

#include "ns3/qbb-bytes.h"

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief The processes that share the partitions of one run, on one machine or several.
 *
 * Each process builds the whole fabric and runs the events of its own partitions; the other nodes
 * are there to be named, and nothing happens at them. Events of no node run in every process. All
 * processes take the same steps: each of these functions waits until all processes have called it.
 */
class QbbProcesses
{
  public:
    virtual ~QbbProcesses();

    /// @return number of this process, from 0
    virtual uint32_t GetRank() const = 0;

    /// @return how many processes there are
    virtual uint32_t GetCount() const = 0;

    /**
     * Send bytes to each other process and receive bytes from each.
     * @param outgoing bytes by receiving process; this process's own entry is ignored
     * @param incoming becomes the bytes by sending process; this process's own entry stays empty
     */
    virtual void Exchange(const std::vector<QbbBytes>& outgoing,
                          std::vector<QbbBytes>& incoming) = 0;

    /// @return the bytes of each process, by process
    std::vector<QbbBytes> GatherAll(const QbbBytes& bytes);

    /// @return the process that runs a partition @param count of partitions
    uint32_t Of(uint32_t partition, uint32_t count) const
    {
        return static_cast<uint32_t>(uint64_t{partition} * GetCount() / count);
    }

    /// @return whether this process runs a partition @param count of partitions
    static bool IsHere(uint32_t partition, uint32_t count)
    {
        const QbbProcesses* processes = Get();
        return !processes || processes->Of(partition, count) == processes->GetRank();
    }

    /// @return the processes of this run; null where there is only one
    static QbbProcesses* Get();

    /// Before the fabric is built. @param processes outlive the run; null: there is only one
    static void Set(QbbProcesses* processes);
};

/// Failure of a process, as it tells the others.
struct QbbFailure
{
    /// Cause of the failure.
    enum class Kind : uint8_t
    {
        None,
        WrongInput, ///< an InputError
        Other,
    };

    Kind kind{Kind::None};
    std::string text;

    /// @param failure an exception; null: none
    static QbbFailure Of(const std::exception_ptr& failure);

    /// @return an exception that says the same; null: none
    std::exception_ptr ToException() const;

    void Put(QbbBytes& bytes) const;
    static QbbFailure TakeFrom(QbbByteReader& reader);
};

/// Throw @p failure, unless it is null; then, if another process has one, an error with its text.
void ThrowInAllProcesses(const std::exception_ptr& failure);

// Values of all processes of a run, or of this one if there is no other.

/// @return the bytes of each process, by process
std::vector<QbbBytes> FromAllProcesses(const QbbBytes& bytes);

/// @return the value of each process, by process
template <typename T>
std::vector<T>
ValueOfAllProcesses(const T& value)
{
    QbbBytes bytes;
    PutValue(bytes, value);
    std::vector<T> all;
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        all.push_back(QbbByteReader(each).Get<T>());
    }
    return all;
}

/// @return the values of each process, by process
template <typename T>
std::vector<std::vector<T>>
ValuesOfAllProcesses(const std::vector<T>& values)
{
    QbbBytes bytes;
    PutValues(bytes, values);
    std::vector<std::vector<T>> all;
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        all.push_back(QbbByteReader(each).GetValues<std::vector<T>>());
    }
    return all;
}

/// @return whether @p isSo is true in one of the processes at least
bool IsInAnyProcess(bool isSo);

/// @return the lines of all processes, one after the other
std::vector<std::string> LinesOfAllProcesses(std::vector<std::string> lines);

} // namespace ns3

#endif /* QBB_PROCESSES_H */
