/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_FLAGS_H
#define PROGRAM_FLAGS_H

#include "ns3/rows.h"

#include <boost/program_options.hpp>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace AstraSim
{

/// @throw ns3::InputError about the command line
[[noreturn]] void RefuseFlag(const std::string& what, const std::string& expected);

/// A sentence for --help on the spelling of flags.
inline constexpr const char* SPELLING_NOTE =
    "\nFlags of several letters take one dash or two, and _ or - within.\n";

/// The subject of a flag.
enum class FlagSubject : uint8_t
{
    Model,    ///< way in which a network carries traffic
    Traffic,  ///< the traffic itself; files count by their contents
    Output,   ///< place and kind of the results and messages
    Limit,    ///< time, memory and threads that a run may use
    Question, ///< answered instead of a run; other flags are not looked at
};

/// A number within bounds. @param target outlives the row, here and below
/// @param expected description of legal values
template <typename T>
ns3::RowValue
Within(T& target, double least, double most, const std::string& expected)
{
    using Held = typename decltype(std::optional(std::declval<T>()))::value_type;
    if constexpr (std::is_integral_v<Held>)
    {
        ns3::RowValue value =
            ns3::Whole(target, static_cast<uint64_t>(least), static_cast<uint64_t>(most));
        value.expected = expected;
        return value;
    }
    else
    {
        const auto parse = [=](std::string_view text) {
            return ns3::RealWithin(text, least, most);
        };
        const std::optional<double> now = target;
        const auto standard = now && *now >= least && *now <= most ? fmt::format("{:g}", *now) : "";
        return ns3::Parsed(target, parse, expected, standard, ns3::RowValue::Kind::Number);
    }
}

/// A whole number of @p least or more. @param expected "1 or more" if empty
template <typename T>
ns3::RowValue
AtLeast(T& target, uint64_t least, const std::string& expected = "")
{
    using Held = typename decltype(std::optional(std::declval<T>()))::value_type;
    ns3::RowValue value =
        ns3::Whole(target, least, static_cast<uint64_t>(std::numeric_limits<Held>::max()));
    value.expected = expected.empty() ? std::to_string(least) + " or more" : expected;
    return value;
}

/// A number above 0.
template <typename T>
ns3::RowValue
AboveZero(T& target)
{
    using Held = typename decltype(std::optional(std::declval<T>()))::value_type;
    constexpr const char* EXPECTED = "a number above 0";
    if constexpr (std::is_integral_v<Held>)
    {
        return AtLeast(target, 1, EXPECTED);
    }
    else
    {
        using Limits = std::numeric_limits<double>;
        return Within(target, Limits::denorm_min(), Limits::max(), EXPECTED);
    }
}

/// One of some words. @param choices each word and its value
template <typename T, std::size_t N>
ns3::RowValue
Choice(T& target, const std::pair<const char*, T> (&choices)[N])
{
    const std::vector<std::pair<std::string, T>> words(std::begin(choices), std::end(choices));
    return ns3::Word(target, words);
}

/// true or false, in one of the ways in which ASTRA-sim's scripts write them.
ns3::RowValue Truth(bool& target);

/// A value that is read elsewhere, or not at all.
ns3::RowValue Ignored();

/// Any text, which a list gets as one more, or any whole number.
ns3::RowValue Any(std::string& target);
ns3::RowValue Any(std::vector<std::string>& target);

template <typename T>
requires std::is_integral_v<T> ns3::RowValue
Any(T& target)
{
    return ns3::Whole(target, 0, static_cast<uint64_t>(std::numeric_limits<T>::max()));
}

/**
 * @ingroup programs
 * @brief The flags of a program, a row of the parameters' each. Values, --help and errors come from
 * it.
 *
 * All programs spell flags alike: a flag of several letters has one dash or two, and underscores or
 * dashes within; --topology and --topo are --network-topo, --conf and --config are --network-conf,
 * where a program has these.
 *
 * @code
 * ProgramFlags flags("program FILE [flags]");
 * flags.Add(FlagSubject::Traffic, {"passes,p N", AtLeast(options.passes, 1), "iterations"})
 *     .Record("passes", options.passes);
 * const auto unknown = flags.Read({"-p", "3"});
 * @endcode
 */
class ProgramFlags
{
  public:
    /// A flag: its row, and its part in a program.
    struct Flag : ns3::Row
    {
        /// Add names of the flag, written with dashes.
        Flag& Alias(std::initializer_list<const char*> names);

        /// run.json has the value among the options, by that name. @param target outlives the row
        template <typename T>
        Flag& Record(const char* key, const T& target)
        {
            recordedAs = key;
            recorded = [&target] { return nlohmann::ordered_json(target); };
            return *this;
        }

        /// The flag may be given without a value, and then has @p word.
        Flag& Alone(const char* word);
        /// It is another name of a flag of --help.
        Flag& SameAs(const char* other);
        /// Warn that it has no effect without @p other unless @p hasEffect.
        Flag& Needs(const char* other, std::function<bool()> hasEffect);
        /// Warn that it has no effect, for that reason, if it @p isAsked for something.
        Flag& HasNone(const std::string& reason, std::function<bool()> isAsked);

        /// @return the name as people write it: its letter, or its long name
        std::string Spelt() const;

        FlagSubject subject{FlagSubject::Model};
        std::vector<std::string> names{}; ///< the long one first
        char letter{0};
        bool isSwitch{false};      ///< without a value
        std::string placeholder{}; ///< the value in --help, such as FILE
        std::string alone{};
        std::string sameAs{};
        std::string recordedAs{}; ///< empty: run.json does not have it
        std::function<nlohmann::ordered_json()> recorded{};
        bool isGiven{false};
    };

    /// @param usage first line of --help @param purpose sentences below it
    explicit ProgramFlags(std::string usage, std::string purpose = "");

    ProgramFlags(const ProgramFlags&) = delete;
    ProgramFlags& operator=(const ProgramFlags&) = delete;

    /// Add a flag. @param row its name is the long name, or "name,l" with a letter; then a blank
    /// and the placeholder of its value in --help may follow
    Flag& Add(FlagSubject subject, ns3::Row row);

    /// Add a flag with any text or any whole number. A list gets one value more each time.
    template <typename T>
    Flag& Add(FlagSubject subject, const char* names, T& target, const std::string& help)
    {
        constexpr bool IS_LIST = std::is_same_v<T, std::vector<std::string>>;
        return Add(subject, {names, Any(target), help, IS_LIST});
    }

    /// Add a flag without a value: a given one is true.
    Flag& Add(FlagSubject subject, const char* names, bool& target, const std::string& help);

    /**
     * Read flags.
     * @return arguments that are no known flag
     * @throw ns3::InputError for an illegal value, a flag that is given twice, and an unknown word
     * with one dash
     */
    std::vector<std::string> Read(const std::vector<std::string>& arguments);

    /// @return warnings about flags that have no effect, a line each
    std::vector<std::string> DescribeIdle() const;

    /// Refuse @p flag and name the nearest one. @throw ns3::InputError
    [[noreturn]] void RefuseUnknown(const std::string& flag) const;

    /// @return whether a flag was given, by any of its names
    bool IsGiven(const std::string& name) const;

    /**
     * @return the flags of the subject Model that were given, unknown ones included, however they
     * were spelt: "name", or "name=value" for each value, in order
     */
    std::vector<std::string> GetModelFlags() const;

    /// @return the values of Flag::Record(), given or not, by their names
    nlohmann::ordered_json GetRecorded() const;

    /// @return usage, purpose, and the flags with their sentences and defaults, for --help
    std::string Help() const;

  private:
    /// @return the flag of a name, written with dashes or underscores; null if there is none
    const Flag* Find(const std::string& written) const;
    boost::program_options::options_description Describe() const;
    std::vector<std::string> Normalise(const std::vector<std::string>& arguments) const;
    static void Take(Flag& flag, const std::string& text);
    /// Refuse two flags that set one value: one of them would win without a word.
    void RefuseTwice() const;

    std::string m_usage;
    std::string m_purpose;
    std::deque<Flag> m_flags; ///< a flag stays where it is
    std::vector<boost::program_options::option> m_given;
};

/// The unit of a size, and its bytes.
using SizeUnit = std::pair<std::string_view, int64_t>;

/// @return the bytes of a number with a unit, or without one
std::optional<int64_t> ParseBytes(std::string_view text, std::initializer_list<SizeUnit> units);

/**
 * @param flag that has it, for the error
 * @return bytes of a size as nccl-tests reads it: 8, 1.5K, 32M, 1G
 * @throw ns3::InputError if it is none
 */
uint64_t ParseSizeFlag(const std::string& flag, const std::string& text);

/// @return the word that stands for a value in a list of choices
template <typename T, std::size_t N>
const char*
WordOf(T value, const std::pair<const char*, T> (&choices)[N])
{
    for (const auto& [word, meaning] : choices)
    {
        if (meaning == value)
        {
            return word;
        }
    }
    return "";
}

} // namespace AstraSim

#endif /* PROGRAM_FLAGS_H */
