/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PINT_ENCODER_H
#define PINT_ENCODER_H

#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/random-variable-stream.h"

#include <cstdint>
#include <vector>

namespace ns3
{

struct QbbTelemetry;

/// A switch port's state for HPCC-PINT.
struct PintPortState
{
    double utilization{0}; ///< u: smoothed over one base RTT
    int64_t lastPs{0};     ///< time of the last update
};

/**
 * @ingroup rdma-qbb
 * @brief The code of HPCC-PINT's digest: a utilisation as a power of a base.
 *
 * The value is u x 512; powers are rounded at random so that the decoded value is right on average
 * (for u of 1/512 and more; less reads as 1/512).
 */
class PintCode
{
  public:
    /// Utilisations are multiples of 1/SCALE before coding.
    static constexpr double SCALE = 512;

    /// No utilisation is near this: a queue of 2048 bandwidth-delay products.
    static constexpr double MOST_UTILIZATION = 2048;

    /// With a smaller base, a power of 16 bits does not reach MOST_UTILIZATION.
    static constexpr double LEAST_BASE = 1.0003;

    /// @param base base of the powers, at least LEAST_BASE
    explicit PintCode(double base);

    /**
     * @param utilization u
     * @param uniform a random number in [0, 1)
     * @return the power that stands for u
     */
    uint16_t Encode(double utilization, double uniform) const
    {
        return Round(utilization, Floor(utilization), uniform);
    }

    /// @return the power that is at most the utilisation's; it or the next one stands for it
    uint16_t Floor(double utilization) const;

    /// @param floor of the utilisation @return floor or the next power, right on average
    uint16_t Round(double utilization, uint16_t floor, double uniform) const;

    /// @return the utilisation that a power stands for
    double Decode(uint16_t power) const;

  private:
    double m_base;
    double m_inverseLogBase;
    std::vector<double> m_utilizations; ///< by power, up to a utilisation of 2048
};

/**
 * @ingroup rdma-qbb
 * @brief A switch's part of HPCC-PINT (Ben Basat et al., "PINT: Probabilistic In-band Network
 * Telemetry", SIGCOMM 2020): the utilisation of each port, and its code in the frames.
 *
 * One object serves all ports of a switch. Call OnDequeue() for each frame that
 * leaves a port. Floating point logarithms stand for the paper's lookup tables.
 */
class PintEncoder : public Object
{
  public:
    static TypeId GetTypeId();
    PintEncoder();

    /**
     * Update the port with a frame that begins to leave it, and the frame's digest with the port.
     * @param port the port's state
     * @param telemetry the frame's telemetry; null for a frame without
     * @param wireBytes bytes of the frame on the wire
     * @param queueBytes egress queue after the frame left it
     * @param rateBps line rate, bit/s
     * @param nowPs current time
     */
    void OnDequeue(PintPortState& port,
                   QbbTelemetry* telemetry,
                   uint32_t wireBytes,
                   uint64_t queueBytes,
                   uint64_t rateBps,
                   int64_t nowPs) const;

    /// Smooth over this time where BaseRtt is 0. @param baseRtt the longest of the fabric, above 0
    void SetFabricBaseRtt(Time baseRtt)
    {
        m_fabricBaseRtt = baseRtt;
    }

    /// Use this random stream for rounding. @return how many streams were used (1)
    int64_t AssignStreams(int64_t stream);

  private:
    void SetLogBase(double base);
    double GetLogBase() const;

    double m_logBase{0};
    Time m_baseRtt;
    Time m_fabricBaseRtt{MicroSeconds(13)};
    PintCode m_code{1.05};
    Ptr<UniformRandomVariable> m_random;
};

} // namespace ns3

#endif /* PINT_ENCODER_H */
