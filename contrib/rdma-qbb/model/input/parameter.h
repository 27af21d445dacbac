/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PARAMETER_H
#define PARAMETER_H

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace ns3
{

/// Whether a parameter has been read; copies of a configuration share it.
struct ParameterNote
{
    std::shared_ptr<std::atomic<bool>> wasRead{std::make_shared<std::atomic<bool>>(false)};
    std::string replacedBy; ///< the flag that says something else: "-n FILE"; empty: none
};

/// A run's use of its configuration.
struct ConfUse
{
    std::string unread; ///< why a parameter that nobody read changes nothing: "with --network flow"
    bool makesObjects;  ///< the fabric's, which read their attributes' defaults unnoticed
    bool hasWorkload;
};

/**
 * @ingroup rdma-qbb
 * @brief A parameter of a run, which notes that it has been read.
 *
 * A parameter that nobody reads changes nothing, and its user wants to know.
 */
template <typename T>
class Parameter : public ParameterNote
{
  public:
    /// @param flag that gives the value in place of the configuration
    Parameter(T value = {}, std::string flag = "")
        : m_value(std::move(value))
    {
        replacedBy = std::move(flag);
    }

    const T& operator*() const
    {
        *wasRead = true;
        return m_value;
    }

    const T* operator->() const
    {
        return &**this;
    }

    operator const T&() const
    {
        return **this;
    }

    /// @return the value for a description or a check, which is no reading
    const T& Look() const
    {
        return m_value;
    }

    /// @return the value, to be changed
    T& Edit()
    {
        return m_value;
    }

  private:
    T m_value;
};

} // namespace ns3

#endif /* PARAMETER_H */
