/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_FLAGS_H
#define PROGRAM_FLAGS_H

#include <boost/program_options.hpp>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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
    Model,   ///< way in which a network carries traffic
    Traffic, ///< the traffic itself; files count by their contents
    Output,  ///< place and kind of the results and messages
    Limit,   ///< time, memory and threads that a run may use
};

/**
 * @ingroup programs
 * @brief The flags of a program, a row each: name, subject, target of the value and a sentence for
 * --help, and for some rows further names, a check and a name in run.json.
 *
 * All programs spell flags alike: a flag of several letters has one dash or two, and underscores or
 * dashes within; --topology and --topo are --network-topo, --conf and --config are --network-conf,
 * where a program has these.
 *
 * @code
 * FlagTable flags("program FILE [flags]");
 * flags.Add(FlagSubject::Traffic, "passes,p", options.passes, "number of iterations")
 *     .AtLeast(1)
 *     .Record("passes");
 * const auto unknown = flags.Read({"-p", "3"});
 * flags.Check();
 * @endcode
 */
class FlagTable
{
  public:
    /// One flag. Its checks are made by FlagTable::Check(), if the flag is given.
    class Row
    {
      public:
        /// It has these names, too, written with dashes.
        Row& Alias(std::initializer_list<const char*> names);
        /// run.json has its value among the options, by that name.
        Row& Record(const char* key);
        /// Refuse a whole number below @p least. @param expected "1 or more" if empty
        Row& AtLeast(uint64_t least, const std::string& expected = "");
        /// Refuse a number outside the range.
        Row& Within(double least, double most, const std::string& expected);
        /// Refuse text that is no number above 0.
        Row& AboveZero();
        /// Refuse a number above @p most, for a number that stands for a choice.
        Row& Choices(double most, const std::string& expected);
        /// Warn that it has no effect without @p other unless @p hasEffect.
        Row& Needs(const char* other, std::function<bool()> hasEffect);
        /// Warn that it has no effect, for that reason, if it @p isAsked for something.
        Row& HasNone(const std::string& reason, std::function<bool()> isAsked);

      private:
        friend class FlagTable;

        /// Refuse a number that does not hold. @param joint between the name and the number
        Row& Expect(std::function<bool(double)> holds, const char* joint, std::string expected);
        /// @return the name as people write it: its letter, or its long name
        std::string Spelt() const;

        std::string name;
        char letter{0};
        const void* target{nullptr}; ///< where the value goes; null: to a function
        FlagSubject subject{FlagSubject::Model};
        std::vector<std::string> aliases;
        std::string key;                               ///< in run.json; empty: it is not there
        std::function<nlohmann::ordered_json()> value; ///< for run.json
        std::function<double()> number;                ///< empty: the flag is none
        std::function<std::string()> text;             ///< of a number, for errors
        std::vector<std::function<void()>> checks;
        std::string idle;                ///< warning where it has no effect
        std::function<bool()> hasEffect; ///< empty: it has
    };

    /// @param usage first line of --help
    explicit FlagTable(const std::string& usage);

    FlagTable(const FlagTable&) = delete;
    FlagTable& operator=(const FlagTable&) = delete;

    /**
     * Add a flag.
     * @param names the long name, or "name,l" with a letter
     * @param target where the value goes if the flag is given: a bool becomes true; a list gets one
     * value more each time; outlives the table
     */
    template <typename T>
    Row& Add(FlagSubject subject, const char* names, T& target, const std::string& help)
    {
        namespace po = boost::program_options;
        if constexpr (std::is_same_v<T, bool>)
        {
            return AddRow(subject,
                          names,
                          po::bool_switch()->notifier(
                              [&target](bool isGiven) { target = target || isGiven; }),
                          help,
                          target);
        }
        else if constexpr (requires {
                               typename T::value_type;
                               target.push_back(*target.begin());
                           } &&
                           !std::is_same_v<T, std::string>)
        {
            return AddRow(subject, names, po::value(&target)->composing(), help, target);
        }
        else if constexpr (requires { target.has_value(); })
        {
            return AddRow(subject,
                          names,
                          po::value<typename T::value_type>()->notifier(
                              [&target](const auto& value) { target = value; }),
                          help,
                          target);
        }
        else
        {
            return AddRow(subject, names, po::value(&target), help, target);
        }
    }

    /// Add a flag with a function that reads its value. @param read called by Check(), for its
    /// errors
    Row& AddText(FlagSubject subject,
                 const char* names,
                 std::function<void(const std::string& text)> read,
                 const std::string& help);

    /// Add a flag that is true or false, as its value says.
    Row& AddBool(FlagSubject subject, const char* names, bool& target, const std::string& help);

    /// Add a flag that shows its default in --help.
    template <typename T>
    Row& AddDefault(FlagSubject subject,
                    const char* names,
                    T& target,
                    const T& value,
                    const std::string& help)
    {
        namespace po = boost::program_options;
        return AddRow(subject, names, po::value(&target)->default_value(value), help, target);
    }

    /**
     * Add a flag that takes one of some words.
     * @param choices each word and its value
     * @param alone word that the flag stands for without one; null: it needs one
     */
    template <typename T, std::size_t N>
    Row& AddChoice(FlagSubject subject,
                   const char* names,
                   T& target,
                   const std::pair<const char*, T> (&choices)[N],
                   const std::string& help,
                   const char* alone = nullptr)
    {
        std::vector<std::string> words;
        for (const auto& choice : choices)
        {
            words.emplace_back(choice.first);
        }
        return AddWord(
            subject,
            names,
            std::move(words),
            [&target, &choices](std::size_t index) { target = choices[index].second; },
            help,
            alone);
    }

    /// Add a flag that other programs have: it is accepted, and Check() warns that it does nothing.
    Row& AddIdle(const char* names, const std::string& help);

    /**
     * Read flags.
     * @return arguments that are no known flag
     * @throw ns3::InputError for a value that cannot be read, a negative number, or an unknown word
     * with one dash
     */
    std::vector<std::string> Read(const std::vector<std::string>& arguments);

    /// Check the values that were read. @return warnings, a line each @throw ns3::InputError
    std::vector<std::string> Check() const;

    /// Refuse @p flag and name the nearest one. @throw ns3::InputError
    [[noreturn]] void RefuseUnknown(const std::string& flag) const;

    /// @return whether a flag was given, by any of its names
    bool IsGiven(const std::string& name) const
    {
        return m_values.count(name) > 0 && !m_values[name].defaulted();
    }

    /**
     * @return the flags of the subject Model that were given, unknown ones included, however they
     * were spelt: "name", or "name=value" for each value, in order
     */
    std::vector<std::string> GetModelFlags() const;

    /// @return the values of Row::Record(), given or not, by their names
    nlohmann::ordered_json GetRecorded() const;

    /// @return the flags with their sentences, for --help
    std::string Help() const;

  private:
    Row& AddRow(FlagSubject subject,
                const char* names,
                const boost::program_options::value_semantic* semantic,
                const std::string& help);

    template <typename T>
    Row& AddRow(FlagSubject subject,
                const char* names,
                const boost::program_options::value_semantic* semantic,
                const std::string& help,
                const T& target)
    {
        Row& row = AddRow(subject, names, semantic, help);
        row.target = &target;
        if constexpr (requires { target.has_value(); })
        {
            row.number = [&target] { return static_cast<double>(*target); };
            row.text = [&target] { return fmt::format("{}", *target); };
        }
        else
        {
            row.value = [&target] { return nlohmann::ordered_json(target); };
            if constexpr (std::is_arithmetic_v<T>)
            {
                row.number = [&target] { return static_cast<double>(target); };
                row.text = [&target] { return fmt::format("{}", target); };
            }
        }
        return row;
    }

    Row& AddWord(FlagSubject subject,
                 const char* names,
                 std::vector<std::string> words,
                 std::function<void(std::size_t index)> take,
                 const std::string& help,
                 const char* alone);

    /// Refuse two flags that set one value: one of them would win without a word.
    void RefuseTwice() const;
    /// @return the name that the table has for a flag, or an empty string
    std::string KnownName(const std::string& written) const;
    std::vector<std::string> Normalise(const std::vector<std::string>& arguments) const;

    boost::program_options::options_description m_description;
    std::deque<Row> m_rows; ///< a row stays where it is
    boost::program_options::variables_map m_values;
    std::vector<boost::program_options::option> m_given;
};

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
