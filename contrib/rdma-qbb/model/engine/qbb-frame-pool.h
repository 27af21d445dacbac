/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_FRAME_POOL_H
#define QBB_FRAME_POOL_H

#include "link-engine.h"

#include "ns3/ptr.h"
#include "ns3/qbb-frame.h"
#include "ns3/simple-ref-count.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

// Hot path: Allocate() and Free() run once per packet and allocate only when the pool grows.

/**
 * @ingroup rdma-qbb
 * @brief Allocates the frames and telemetry records of a partition.
 *
 * Devices of one partition that a QbbChannel joins share one pool: a frame is taken at one end of
 * the fabric and given back at another. Each device starts with a pool of its own; Merge() makes
 * two into one. A frame that goes to another partition moves into the pool there: Take().
 */
class QbbFramePool : public SimpleRefCount<QbbFramePool>
{
  public:
    ~QbbFramePool();

    /// @return a frame with all fields zero
    QbbFrame* Allocate()
    {
        if (!m_freeFrames)
        {
            GrowFrames();
        }
        QbbFrame* frame = m_freeFrames;
        m_freeFrames = frame->next;
        *frame = QbbFrame{};
        ++m_inUse;
        return frame;
    }

    /// Give back @p frame and all that it carries.
    void Free(QbbFrame* frame)
    {
        if (frame->telemetry)
        {
            FreeCargo(frame);
        }
        frame->next = m_freeFrames;
        m_freeFrames = frame;
        --m_inUse;
    }

    /// @return a telemetry record without hops
    QbbTelemetry* AllocateTelemetry();

    /// @return a copy of @p telemetry with all its parts
    QbbTelemetry* CopyTelemetry(const QbbTelemetry& telemetry);

    /// Add a record at the end, and a part for it if need be.
    void AddHop(QbbTelemetry& telemetry, const QbbIntHop& hop)
    {
        if (telemetry.hopCount < QbbTelemetry::PART_HOPS) [[likely]]
        {
            telemetry.hops[telemetry.hopCount++] = hop;
            return;
        }
        AddHopBehind(telemetry, hop);
    }

    /// @return the copy of @p frame, which goes back to @p from
    QbbFrame* Take(QbbFrame* frame, QbbFramePool& from);

    /// @return frames taken and not given back
    uint64_t GetInUse() const
    {
        return m_inUse;
    }

    /// @return the engine of the fabric's links
    LinkEngine& GetEngine()
    {
        if (!m_engine)
        {
            m_engine = CreateObject<LinkEngine>();
        }
        return *m_engine;
    }

    /// Make @p a and @p b one pool. @return the pool that serves both from now on
    static Ptr<QbbFramePool> Merge(Ptr<QbbFramePool> a, Ptr<QbbFramePool> b);

    /// @return the pool that serves this one's users (itself unless it was merged)
    Ptr<QbbFramePool> Resolve();

  private:
    static constexpr uint32_t SLAB = 256; ///< frames or records per allocation

    template <typename T>
    struct Slab
    {
        std::array<T, SLAB> items;
    };

    void GrowFrames();
    /// AddHop() where the first part is full.
    void AddHopBehind(QbbTelemetry& telemetry, const QbbIntHop& hop);
    void FreeCargo(QbbFrame* frame);

    QbbFrame* m_freeFrames{nullptr};
    QbbTelemetry* m_freeTelemetry{nullptr};
    std::vector<std::unique_ptr<Slab<QbbFrame>>> m_frameSlabs;
    std::vector<std::unique_ptr<Slab<QbbTelemetry>>> m_telemetrySlabs;
    uint64_t m_inUse{0};
    uint32_t m_members{1}; ///< pools that have become one with this
    Ptr<QbbFramePool> m_mergedInto;
    Ptr<LinkEngine> m_engine;
};

} // namespace ns3

#endif /* QBB_FRAME_POOL_H */
