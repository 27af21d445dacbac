/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERIALIZATION_DELAY_H
#define SERIALIZATION_DELAY_H

#include <cstdint>

namespace ns3
{

// Hot path: once per packet and hop, without a division or a branch.

/**
 * @ingroup rdma-qbb
 * @brief Time that a line of one rate is busy with a number of bytes: SerializationPs() for a port,
 * which asks for every frame.
 *
 * Picoseconds, rounded up. Exact where bytes times rate are below 2^64: at 2.88 Tb/s up to 6 MB;
 * beyond, a result may be one picosecond too small.
 */
class SerializationDelay
{
  public:
    /// Of a line that is never busy.
    SerializationDelay() = default;

    /// @param rateBps line rate in bit/s, above 0
    explicit SerializationDelay(uint64_t rateBps)
        : m_whole(PS_PER_8S / rateBps),
          m_fraction(static_cast<uint64_t>((Wide{PS_PER_8S % rateBps} << 64) / rateBps))
    {
    }

    /// @return time for @p bytes, in picoseconds
    int64_t operator()(uint32_t bytes) const
    {
        const Wide fraction = Wide{m_fraction} * bytes;
        const auto high = static_cast<uint64_t>(fraction >> 64);
        const bool rest = static_cast<uint64_t>(fraction) != 0;
        return static_cast<int64_t>(bytes * m_whole + high + rest);
    }

  private:
    __extension__ using Wide = unsigned __int128;
    static constexpr uint64_t PS_PER_8S = 8'000'000'000'000;

    uint64_t m_whole{0};    ///< whole picoseconds per byte
    uint64_t m_fraction{0}; ///< the rest, in units of 2^-64 ps
};

} // namespace ns3

#endif /* SERIALIZATION_DELAY_H */
