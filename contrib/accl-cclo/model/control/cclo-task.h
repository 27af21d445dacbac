/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_TASK_H
#define CCLO_TASK_H

#include <coroutine>
#include <cstdint>
#include <utility>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief A routine of the firmware: a coroutine that returns a status when it has ended.
 *
 * Lazy: it begins when awaited, or by Start(). The holder of the outermost task owns all.
 *
 * @code
 * CcloTask Send(CcloCall call) { co_await StartMove(...); co_return co_await EndMove(); }
 * @endcode
 */
class CcloTask
{
  public:
    struct promise_type
    {
        uint32_t value{0};
        std::coroutine_handle<> awaiting;

        CcloTask get_return_object()
        {
            return CcloTask(std::coroutine_handle<promise_type>::from_promise(*this));
        }

        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }

        /// When a routine ends, the one that awaits it goes on.
        struct FinalAwaiter
        {
            bool await_ready() noexcept
            {
                return false;
            }

            std::coroutine_handle<> await_suspend(
                std::coroutine_handle<promise_type> ended) noexcept
            {
                const std::coroutine_handle<> awaiting = ended.promise().awaiting;
                return awaiting ? awaiting : std::noop_coroutine();
            }

            void await_resume() noexcept
            {
            }
        };

        FinalAwaiter final_suspend() noexcept
        {
            return {};
        }

        void return_value(uint32_t result)
        {
            value = result;
        }

        void unhandled_exception()
        {
            throw; // to the event that resumed the routine, past routines that await it
        }
    };

    CcloTask() = default;

    explicit CcloTask(std::coroutine_handle<promise_type> handle)
        : m_handle(handle)
    {
    }

    CcloTask(CcloTask&& other) noexcept
        : m_handle(std::exchange(other.m_handle, nullptr))
    {
    }

    CcloTask& operator=(CcloTask&& other) noexcept
    {
        std::swap(m_handle, other.m_handle);
        return *this;
    }

    CcloTask(const CcloTask&) = delete;
    CcloTask& operator=(const CcloTask&) = delete;

    ~CcloTask()
    {
        if (m_handle)
        {
            m_handle.destroy();
        }
    }

    /// Begin the outermost routine.
    void Start()
    {
        m_handle.resume();
    }

    bool await_ready() const noexcept
    {
        return false;
    }

    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept
    {
        m_handle.promise().awaiting = awaiting;
        return m_handle;
    }

    uint32_t await_resume() const noexcept
    {
        return m_handle.promise().value;
    }

  private:
    std::coroutine_handle<promise_type> m_handle;
};

} // namespace ns3

#endif /* CCLO_TASK_H */
