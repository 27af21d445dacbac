/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_DATA_H
#define COLLECTIVE_DATA_H

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The data of one rank's part of a collective, where a network carries real bytes.
 *
 * Lanes and messages are those of the FlowGraph. A simulated network needs none.
 */
class CollectiveData
{
  public:
    virtual ~CollectiveData() = default;

    /// @return the data of a message of an outbound lane; the network copies it when it is sent
    virtual void* GetOutgoing(uint32_t lane, uint64_t message) = 0;

    /// @return where a message of an inbound lane goes; one message of a lane is expected at a time
    virtual void* GetIncoming(uint32_t lane, uint64_t message) = 0;

    /// The message is where GetIncoming() said: add it to the result, or put it in its place.
    virtual void Arrived(uint32_t lane, uint64_t message) = 0;
};

} // namespace AstraSim

#endif /* COLLECTIVE_DATA_H */
