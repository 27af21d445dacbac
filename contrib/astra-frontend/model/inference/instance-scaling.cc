/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Off -> Starting (weights, then start-up) -> Serving -> Stopping (until its requests have ended)
 * -> Off. The instances with the lowest numbers start first, those with the highest stop first.
 */
#include "instance-scaling.h"

#include "astra-frontend/model/system/sys.h"

#include "ns3/clock-range.h"
#include "ns3/columns.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// Tags of weights are told from those of caches and pipelines by this bit.
constexpr uint32_t WEIGHTS_TAG = 1U << 27;

/// Something that has happened to an instance.
struct ScalingEvent
{
    TimePs time;
    const char* event;
    uint32_t instance;
    uint32_t serving;
    uint32_t starting;
    uint32_t stopping;
};

const ns3::Columns<ScalingEvent>&
ScalingColumns()
{
    using Of = const ScalingEvent&;
    static const ns3::Columns<ScalingEvent> columns{
        {"time_us", "time", [](Of each) { return static_cast<double>(each.time) / 1e6; }, 6},
        {"event",
         "``start`` (it gets its GPUs and loads its weights), ``serve`` (it gets requests), "
         "``drain`` (it gets no more) or ``stop`` (it gives its GPUs back)",
         [](Of each) { return std::string(each.event); }},
        {"instance", "its number", [](Of each) { return each.instance; }},
        {"serving", "instances that get requests after that", [](Of each) { return each.serving; }},
        {"starting", "instances that start", [](Of each) { return each.starting; }},
        {"stopping", "instances that finish their requests", [](Of each) {
             return each.stopping;
         }}};
    return columns;
}

} // namespace

InstanceScaling::InstanceScaling(const ServingConfig& config,
                                 const Instances& instances,
                                 Hooks hooks,
                                 uint32_t layer)
    : m_config(config),
      m_its(config.pools.front().autoscale),
      m_instances(instances),
      m_hooks(std::move(hooks)),
      m_layer(layer),
      m_autoscaler(m_its, static_cast<uint32_t>(instances.size())),
      m_states(instances.size())
{
    for (uint32_t number = 0; number < instances.size(); ++number)
    {
        m_ready.push_back({this, number});
        if (number < m_its.least)
        {
            m_states[number].phase = Phase::Serving;
            m_states[number].since = config.requests.front().arrival;
        }
    }
}

void
InstanceScaling::Start(Sys& clock)
{
    m_clock = &clock;
    m_clock->get_observer().WorkloadResult("scaling", ScalingColumns().GetHeader());
    m_clock->Schedule(m_its.interval, &InstanceScaling::Ticked, this);
}

void
InstanceScaling::Ticked(void* scaling)
{
    static_cast<InstanceScaling*>(scaling)->Tick();
}

uint32_t
InstanceScaling::Count(Phase phase) const
{
    return static_cast<uint32_t>(std::ranges::count(m_states, phase, &State::phase));
}

double
InstanceScaling::GetLoad(const ServingInstance& instance) const
{
    double load = 0;
    for (const BatchScheduler& scheduler : instance.GetSchedulers())
    {
        const auto waiting = static_cast<double>(scheduler.CountWaiting());
        switch (m_its.metric)
        {
        case AutoscaleConfig::Metric::None:
            break;
        case AutoscaleConfig::Metric::Concurrency:
            load += waiting + static_cast<double>(scheduler.CountRunning());
            break;
        case AutoscaleConfig::Metric::Queue:
            load += waiting;
            break;
        case AutoscaleConfig::Metric::KvUse:
            load += static_cast<double>(scheduler.GetBlocks().GetUsed()) /
                    static_cast<double>(instance.GetPool().blocks * instance.GetPool().dp);
        }
    }
    return load;
}

void
InstanceScaling::Tick()
{
    if (m_finished >= 0)
    {
        return;
    }
    double load = 0;
    for (uint32_t number = 0; number < m_states.size(); ++number)
    {
        load += Serves(number) ? GetLoad(*m_instances[number]) : 0;
    }
    uint32_t present = Count(Phase::Serving) + Count(Phase::Starting);
    const uint32_t wanted = m_autoscaler.Decide(present, load, m_clock->Now());
    for (; present < wanted && Grow(); ++present)
    {
    }
    for (; present > wanted && Shrink(); --present)
    {
    }
    m_clock->Schedule(m_its.interval, &InstanceScaling::Ticked, this);
}

bool
InstanceScaling::Grow()
{
    const auto stopping = std::ranges::find(m_states, Phase::Stopping, &State::phase);
    if (stopping != m_states.end())
    {
        stopping->phase = Phase::Serving;
        Record("serve", static_cast<uint32_t>(stopping - m_states.begin()));
        m_hooks.changed();
        return true;
    }
    const auto off = std::ranges::find(m_states, Phase::Off, &State::phase);
    if (off == m_states.end())
    {
        return false;
    }
    Begin(static_cast<uint32_t>(off - m_states.begin()));
    return true;
}

bool
InstanceScaling::Shrink()
{
    if (Count(Phase::Serving) < 2)
    {
        return false; // the last one serves while others start
    }
    uint32_t number = static_cast<uint32_t>(m_states.size()) - 1;
    while (!Serves(number))
    {
        --number;
    }
    m_states[number].phase = Phase::Stopping;
    Record("drain", number);
    m_hooks.changed();
    StopIfIdle(number);
    return true;
}

void
InstanceScaling::Begin(uint32_t number)
{
    m_states[number].phase = Phase::Starting;
    m_states[number].since = m_clock->Now();
    m_instances[number]->CountStart();
    Record("start", number);
    m_its.weightBytes > 0 ? LoadWeights(number) : StartUp(number);
}

void
InstanceScaling::LoadWeights(uint32_t number)
{
    const ServingInstance& instance = *m_instances[number];
    m_states[number].left = instance.CountRanks();
    m_loading += instance.CountRanks();
    for (uint32_t place = 0; place < instance.CountRanks(); ++place)
    {
        const auto& store = m_config.weightsStore;
        const uint32_t rank = instance.JobRankAt(place);
        Sys& sender = m_hooks.sys(store[rank % store.size()]);
        Sys& receiver = m_hooks.sys(rank);
        const uint32_t tag = WEIGHTS_TAG | (m_nextTag++ & (WEIGHTS_TAG - 1));
        const WorkloadPosition position{m_layer, 0, TrainingPhase::Forward};
        receiver.ReceiveMessage(sender.get_rank(), m_its.weightBytes, tag, [this, number](TimePs) {
            --m_loading;
            if (--m_states[number].left == 0)
            {
                StartUp(number);
            }
        });
        sender.SendMessage(receiver.get_rank(), m_its.weightBytes, tag, position, {}, 0);
    }
}

void
InstanceScaling::StartUp(uint32_t number)
{
    if (m_finished < 0)
    {
        m_clock->Schedule(m_its.startup, &InstanceScaling::StartedUp, &m_ready[number]);
    }
    else if (m_loading == 0)
    {
        m_hooks.idle();
    }
}

void
InstanceScaling::StartedUp(void* argument)
{
    const auto& [scaling, number] = *static_cast<Ready*>(argument);
    if (scaling->m_finished < 0)
    {
        scaling->m_states[number].phase = Phase::Serving;
        scaling->Record("serve", number);
        scaling->m_hooks.changed();
    }
}

void
InstanceScaling::RequestEnded(uint32_t number)
{
    if (m_states[number].phase == Phase::Stopping)
    {
        StopIfIdle(number);
    }
}

void
InstanceScaling::StopIfIdle(uint32_t number)
{
    if (!m_instances[number]->IsIdle())
    {
        return;
    }
    State& state = m_states[number];
    state.held = ns3::AddPs(state.held, m_clock->Now() - state.since);
    state.phase = Phase::Off;
    m_instances[number]->ForgetCache();
    Record("stop", number);
}

bool
InstanceScaling::Finish()
{
    m_finished = m_clock->Now();
    return m_loading == 0;
}

TimePs
InstanceScaling::GetHeld(uint32_t number) const
{
    const State& state = m_states[number];
    return state.held + (state.phase == Phase::Off ? 0 : m_clock->Now() - state.since);
}

void
InstanceScaling::Record(const char* event, uint32_t number) const
{
    m_clock->get_observer().WorkloadResult("scaling",
                                           ScalingColumns().RowOf({m_clock->Now(),
                                                                   event,
                                                                   number,
                                                                   Count(Phase::Serving),
                                                                   Count(Phase::Starting),
                                                                   Count(Phase::Stopping)}));
}

std::string
DescribeScalingColumns()
{
    return ScalingColumns().ToCsv();
}

} // namespace AstraSim
