/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FORKED_PROCESSES_H
#define FORKED_PROCESSES_H

#include "ns3/qbb-processes.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace ns3
{

/// Processes of one run that are copies of a test, joined by sockets.
class ForkedProcesses : public QbbProcesses
{
  public:
    /**
     * @param body what each process does, between the first and the last step that all take
     * @return what it returns, by process; "failed: ..." if it throws
     */
    static std::vector<std::string> Run(uint32_t count, const std::function<std::string()>& body)
    {
        // A pair of sockets for each two processes, and a pipe from each to the test.
        std::vector<std::vector<int>> sockets(count, std::vector<int>(count, -1));
        for (uint32_t a = 0; a < count; ++a)
        {
            for (uint32_t b = a + 1; b < count; ++b)
            {
                int ends[2];
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
                {
                    throw std::runtime_error("no sockets");
                }
                sockets[a][b] = ends[0];
                sockets[b][a] = ends[1];
            }
        }
        std::vector<int> results;
        std::vector<pid_t> children;
        std::fflush(nullptr); // or each process would print it
        for (uint32_t rank = 0; rank < count; ++rank)
        {
            int ends[2];
            if (pipe(ends) != 0)
            {
                throw std::runtime_error("no pipe");
            }
            results.push_back(ends[0]);
            children.push_back(fork());
            if (children.back() == 0)
            {
                RunChild(rank, sockets[rank], ends[1], body);
            }
            close(ends[1]);
        }
        for (const auto& row : sockets)
        {
            for (const int socket : row)
            {
                if (socket >= 0)
                {
                    close(socket);
                }
            }
        }
        std::vector<std::string> texts;
        for (uint32_t rank = 0; rank < count; ++rank)
        {
            std::string& text = texts.emplace_back();
            char piece[4096];
            for (ssize_t got; (got = read(results[rank], piece, sizeof piece)) > 0;)
            {
                text.append(piece, static_cast<std::size_t>(got));
            }
            close(results[rank]);
            waitpid(children[rank], nullptr, 0);
        }
        return texts;
    }

    uint32_t GetRank() const override
    {
        return m_rank;
    }

    uint32_t GetCount() const override
    {
        return static_cast<uint32_t>(m_sockets.size());
    }

    void Exchange(const std::vector<QbbBytes>& outgoing, std::vector<QbbBytes>& incoming) override
    {
        incoming.assign(GetCount(), {});
        for (uint32_t other = 0; other < GetCount(); ++other)
        {
            // Of two, the first one speaks first; pairs come in the same order everywhere.
            if (m_rank < other)
            {
                Send(m_sockets[other], outgoing[other]);
                Receive(m_sockets[other], incoming[other]);
            }
            else if (other < m_rank)
            {
                Receive(m_sockets[other], incoming[other]);
                Send(m_sockets[other], outgoing[other]);
            }
        }
    }

  private:
    ForkedProcesses(uint32_t rank, std::vector<int> sockets)
        : m_rank(rank),
          m_sockets(std::move(sockets))
    {
    }

    [[noreturn]] static void RunChild(uint32_t rank,
                                      const std::vector<int>& sockets,
                                      int result,
                                      const std::function<std::string()>& body)
    {
        std::string text;
        ForkedProcesses processes(rank, sockets);
        QbbProcesses::Set(&processes);
        try
        {
            text = body();
        }
        catch (const std::exception& error)
        {
            text = std::string("failed: ") + error.what();
        }
        WriteAll(result, text.data(), text.size());
        std::exit(0); // without the test's own end; what has been run is counted
    }

    /// Call @p move, which is read() or write(), until all bytes are moved.
    template <typename Move, typename Byte>
    static void MoveAll(Move move, int descriptor, Byte* at, std::size_t bytes)
    {
        while (bytes > 0)
        {
            const ssize_t moved = move(descriptor, at, bytes);
            if (moved <= 0)
            {
                _exit(1);
            }
            at += moved;
            bytes -= static_cast<std::size_t>(moved);
        }
    }

    static void WriteAll(int to, const void* from, std::size_t bytes)
    {
        MoveAll(&write, to, static_cast<const char*>(from), bytes);
    }

    static void ReadAll(int from, void* to, std::size_t bytes)
    {
        MoveAll(&read, from, static_cast<char*>(to), bytes);
    }

    static void Send(int to, const QbbBytes& bytes)
    {
        const uint64_t size = bytes.size();
        WriteAll(to, &size, sizeof size);
        WriteAll(to, bytes.data(), size);
    }

    static void Receive(int from, QbbBytes& bytes)
    {
        uint64_t size = 0;
        ReadAll(from, &size, sizeof size);
        bytes.resize(size);
        ReadAll(from, bytes.data(), size);
    }

    uint32_t m_rank;
    std::vector<int> m_sockets; ///< by process
};

} // namespace ns3

#endif /* FORKED_PROCESSES_H */
