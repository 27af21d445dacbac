/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INSTANCE_SCALING_H
#define INSTANCE_SCALING_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "autoscaler.h"
#include "serving-instance.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

class Sys;

/**
 * @ingroup astra-frontend
 * @brief Starts and stops the instances of a pool as an Autoscaler decides.
 *
 * An instance that starts receives its weights as messages from the store, if there is one, and
 * then takes the time of its start-up; from then on it gets requests. One that is to stop gets no
 * more, and gives its GPUs back when its last request has ended, with an empty cache. If it is
 * wanted again before, it goes on.
 */
class InstanceScaling
{
  public:
    using Instances = std::vector<std::unique_ptr<ServingInstance>>;

    /// Functions of the serving engine.
    struct Hooks
    {
        std::function<Sys&(uint32_t jobRank)> sys;
        std::function<void()> changed; ///< other instances get requests now
        std::function<void()> idle;    ///< the last message with weights has come
    };

    /// @param config borrowed @param instances of the only pool; borrowed
    /// @param layer of the workload that messages belong to
    InstanceScaling(const ServingConfig& config,
                    const Instances& instances,
                    Hooks hooks,
                    uint32_t layer);

    /// @param clock of a rank; borrowed
    void Start(Sys& clock);

    /// @return whether requests may go to an instance
    bool Serves(uint32_t number) const
    {
        return m_states[number].phase == Phase::Serving;
    }

    /// A request of @p number has ended.
    void RequestEnded(uint32_t number);

    /// All requests have ended: nothing starts or stops any more. @return whether no weights are
    /// under way; else Hooks::idle() is called when that is so
    bool Finish();

    /// @return time in which an instance had its GPUs
    TimePs GetHeld(uint32_t number) const;

  private:
    enum class Phase : uint8_t
    {
        Off,
        Starting,
        Serving,
        Stopping,
    };

    struct State
    {
        Phase phase{Phase::Off};
        TimePs since{0};  ///< it has its GPUs
        TimePs held{0};   ///< GPUs, before that
        uint32_t left{0}; ///< messages with weights under way
    };

    /// The argument of an event.
    struct Ready
    {
        InstanceScaling* scaling;
        uint32_t number;
    };

    static void Ticked(void* scaling);
    static void StartedUp(void* ready);
    void Tick();
    bool Grow();
    bool Shrink();
    void Begin(uint32_t number);
    void LoadWeights(uint32_t number);
    void StartUp(uint32_t number);
    void StopIfIdle(uint32_t number);
    uint32_t Count(Phase phase) const;
    double GetLoad(const ServingInstance& instance) const;
    void Record(const char* event, uint32_t number) const;

    const ServingConfig& m_config;
    const AutoscaleConfig& m_its;
    const Instances& m_instances;
    Hooks m_hooks;
    uint32_t m_layer;
    Autoscaler m_autoscaler;
    std::vector<State> m_states; ///< by instance
    std::vector<Ready> m_ready;  ///< by instance
    Sys* m_clock{nullptr};
    uint32_t m_nextTag{0};
    uint32_t m_loading{0}; ///< messages with weights under way
    TimePs m_finished{-1};
};

/// @return the columns of scaling.csv, as Columns::ToCsv() has them
std::string DescribeScalingColumns();

} // namespace AstraSim

#endif /* INSTANCE_SCALING_H */
