/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MPI_LINK_H
#define MPI_LINK_H

#include <cstdint>

/**
 * @file
 * A simulator's part of MPI. It is loaded when a run is started by mpirun or srun, so that no
 * simulator needs MPI otherwise, or waits for it to be loaded.
 */

extern "C"
{
    /// Functions of the loaded library.
    struct SimAiMpiLink
    {
        /// Join the processes that were started together. @param rank,count number of this one, and
        /// of all
        void (*join)(uint32_t* rank, uint32_t* count);

        /**
         * Send @p bytes[p] bytes to each other process p, and receive from each.
         * @param data the bytes for each process
         * @param room called with the number of bytes that come from a process; says where to
         * @param wait called again and again while another process keeps this one waiting; may
         * throw
         */
        void (*exchange)(const void* const* data,
                         const uint64_t* bytes,
                         void* (*room)(void* arg, uint32_t process, uint64_t bytes),
                         void (*wait)(void* arg),
                         void* arg);

        /// All processes end.
        void (*leave)();
    };

    /// @return the functions
    const SimAiMpiLink* GetSimAiMpiLink();
}

#endif /* MPI_LINK_H */
