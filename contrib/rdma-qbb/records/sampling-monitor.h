/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SAMPLING_MONITOR_H
#define SAMPLING_MONITOR_H

#include "file-monitor.h"

#include "ns3/event-id.h"
#include "ns3/output-file.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-mail.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ns3
{

/// When a monitor looks: at start, start + interval, ... and not after end. Picoseconds.
struct SamplingTimes
{
    int64_t startPs;
    int64_t endPs;
    int64_t intervalPs;
};

/**
 * @ingroup rdma-qbb
 * @brief Base of monitors that look at the fabric at regular times and write rows.
 *
 * Costs one simulator event per sample, however many objects are looked at. StopSampling() when the
 * run is over, since the next sample keeps the event list from draining.
 */
class SamplingMonitor : public QbbAddressee, public FileMonitor
{
  public:
    ~SamplingMonitor() override;

    SamplingMonitor(const SamplingMonitor&) = delete;
    SamplingMonitor& operator=(const SamplingMonitor&) = delete;

    void StopSampling() override;

    void Finish() override
    {
        m_file.Finish();
    }

  protected:
    /**
     * @param times when to sample; the first sample is scheduled at once
     * @param path file to write
     * @param header its first line
     */
    SamplingMonitor(const SamplingTimes& times, const std::string& path, std::string_view header);

    /// Write a row about a node. @param context its ns-3 id
    void Write(uint32_t context, const TextLine& row)
    {
        QbbMail::Note(context, *this, Row{}, row.View());
    }

    /// Look at the fabric. @param nowPs the current time @param first whether it is the first
    /// sample
    virtual void Sample(int64_t nowPs, bool first) = 0;

    /// @return time between samples in picoseconds
    int64_t IntervalPs() const
    {
        return m_times.intervalPs;
    }

  private:
    struct Row
    {
        void operator()(SamplingMonitor& monitor, std::string_view text) const
        {
            monitor.m_file.Write(text);
        }
    };

    void OnSample();

    OutputFile m_file;
    SamplingTimes m_times;
    bool m_first{true};
    EventId m_event;
};

/// Makes a monitor that looks from MON_START to MON_END, for its FileMonitor::Kind.
/// @tparam interval of the configuration: the time between two samples
template <typename Monitor, auto interval>
std::unique_ptr<FileMonitor>
MakeSampled(const FileMonitor::Site& site)
{
    const SamplingTimes times{site.conf.monStartPs, site.conf.monEndPs, site.conf.*interval};
    return std::make_unique<Monitor>(site.fabric, site.path(), times);
}

} // namespace ns3

#endif /* SAMPLING_MONITOR_H */
