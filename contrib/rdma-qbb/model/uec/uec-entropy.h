/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_ENTROPY_H
#define UEC_ENTROPY_H

#include "ns3/attribute-helper.h"

#include <cstdint>
#include <iosfwd>
#include <memory>

namespace ns3
{

/// How a connection chooses the entropy value of a packet, from which switches choose its path.
enum class UecSpreading : uint8_t
{
    Oblivious, ///< all values in turn
    Avoid,     ///< in turn, but those that were marked, trimmed or lost sit out
    Recycle,   ///< REPS: values that came back without a mark again, else new ones
};

std::ostream& operator<<(std::ostream& text, const UecSpreading& spreading);
std::istream& operator>>(std::istream& text, UecSpreading& spreading);

ATTRIBUTE_HELPER_HEADER(UecSpreading);

/**
 * @ingroup rdma-qbb
 * @brief Gives each packet of a connection its entropy value.
 *
 * Draws are a hash of the connection and a counter, so that they need no random stream and are the
 * same on every machine.
 */
class UecEntropy
{
  public:
    /// Fate of a packet.
    enum class Outcome : uint8_t
    {
        Good,
        Marked,
        Trimmed,
        Lost,
    };

    /// @param values how many values there are, a power of two
    /// @param seed of the connection
    static std::unique_ptr<UecEntropy> Make(UecSpreading spreading, uint32_t values, uint32_t seed);

    virtual ~UecEntropy() = default;

    /// @return the value of the next packet
    virtual uint16_t Next(int64_t nowPs) = 0;

    /// A packet's fate is known.
    virtual void OnOutcome([[maybe_unused]] uint16_t value,
                           [[maybe_unused]] Outcome outcome,
                           [[maybe_unused]] int64_t nowPs)
    {
    }

  protected:
    UecEntropy(uint32_t values, uint32_t seed)
        : m_mask(values - 1),
          m_seed(seed)
    {
    }

    /// @return a value drawn at random
    uint16_t Draw();

    uint32_t m_mask;

  private:
    uint32_t m_seed;
    uint32_t m_draws{0};
};

} // namespace ns3

#endif /* UEC_ENTROPY_H */
