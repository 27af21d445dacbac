/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROWS_H
#define ROWS_H

#include "units.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * @file
 * Keys and variables, a row each: name, place and range of the value, and a sentence. The same row
 * reads the value, refuses a wrong one and documents the key.
 *
 * @code
 * uint32_t layers{1};
 * Rows rows("serve.txt", {{"layers", Whole(layers, 1, 1000), "of the model"}});
 * rows.Read("layers", "80", 3); // 0 is refused: "serve.txt:3: layers is '0'; expected ..."
 * @endcode
 */

/// The legal values of a key, and the object that receives them.
struct RowValue
{
    /// Notation in files that know types, such as JSON.
    enum class Kind : uint8_t
    {
        Number,
        Flag,
        Text,
        List, ///< several values
        Own,  ///< a notation that only `take` knows
    };

    std::string expected; ///< description of legal values
    /// Store a value. @return false if it is illegal
    std::function<bool(std::string_view text)> take;
    std::string standard{}; ///< the default; empty: none
    Kind kind{Kind::Own};
    std::vector<std::string> words{}; ///< all legal values, where these are words
};

/// A key of a file or a variable of the environment.
struct Row
{
    std::string name; ///< "name", or "name,other" with other names
    RowValue value;
    std::string sentence; ///< meaning, for users
    bool repeats{false};  ///< may be given more than once
    /// @return the reason, such as "without trace", if the other keys make this one idle; else an
    /// empty text
    std::function<std::string()> idle{};
};

/// @throw InputError for a name that is none of @p known
[[noreturn]] void RefuseUnknownKey(const std::string& source,
                                   std::size_t line,
                                   std::string_view name,
                                   const std::vector<std::string>& known);

/// @return words as a sentence lists them: "packet, analytical or flow"
std::string ListWords(const std::vector<std::string>& words);

/// @return the number in a text, within bounds
std::optional<uint64_t> WholeWithin(std::string_view text, uint64_t least, uint64_t most);
std::optional<double> RealWithin(std::string_view text, double least, double most);
/// @return numbers with blanks between them, of which there are @p fewest or more
std::optional<std::vector<uint32_t>> WholesWithin(std::string_view text,
                                                  uint64_t least,
                                                  uint64_t most,
                                                  std::size_t fewest);

/// @return "bytes from 1 to 8" @param noun "bytes"
std::string RangeText(const std::string& noun, double least, double most);
std::string RangeText(const std::string& noun, uint64_t least, uint64_t most);

/// Text that a function understands. @param target outlives the row, here and below
/// @param parse gives the value, or nothing for an illegal text
template <typename T, typename Parse>
RowValue
Parsed(T& target,
       Parse parse,
       std::string expected,
       std::string standard = "",
       RowValue::Kind kind = RowValue::Kind::Own)
{
    return {std::move(expected),
            [&target, parse](std::string_view text) {
                const auto value = parse(text);
                target = value ? static_cast<T>(*value) : target;
                return value.has_value();
            },
            std::move(standard),
            kind};
}

/// A whole number. Its default is not shown where it is out of range, here and below.
template <typename T>
RowValue
Whole(T& target, uint64_t least, uint64_t most, const std::string& noun = "a whole number")
{
    const std::optional<uint64_t> now = target;
    return Parsed(
        target,
        [least, most](std::string_view text) { return WholeWithin(text, least, most); },
        RangeText(noun, least, most),
        now && *now >= least && *now <= most ? std::to_string(*now) : "",
        RowValue::Kind::Number);
}

/// A finite number.
RowValue Real(double& target, double least, double most, const std::string& noun = "a number");

/// 0 or 1; JSON has true and false, too.
template <typename T>
RowValue
Flag(T& target)
{
    RowValue value = Whole(target, 0, 1);
    value.expected = "0 or 1";
    value.kind = RowValue::Kind::Flag;
    return value;
}

/// One of some words, each with its value.
template <typename T>
RowValue
Word(T& target, const std::vector<std::pair<std::string, T>>& words)
{
    std::vector<std::string> names;
    std::string standard;
    for (const auto& [name, value] : words)
    {
        names.push_back(name);
        standard = value == target && standard.empty() ? name : standard;
    }
    const auto find = [words](std::string_view text) -> std::optional<T> {
        for (const auto& [name, value] : words)
        {
            if (name == text)
            {
                return value;
            }
        }
        return std::nullopt;
    };
    RowValue value = Parsed(target, find, ListWords(names), standard, RowValue::Kind::Text);
    value.words = std::move(names);
    return value;
}

/// A decimal number, of which the target counts @p scale to one. @param expected "nanoseconds"
template <typename T>
RowValue
Scaled(T& target, int64_t scale, int64_t least, const std::string& expected)
{
    const std::optional<int64_t> now = target;
    const auto parse = [scale, least](std::string_view text) {
        const auto value = ParseScaled(text, scale);
        return value && *value >= least ? value : std::nullopt;
    };
    const bool isLegal = now && *now >= least;
    return Parsed(target,
                  parse,
                  expected,
                  isLegal ? std::to_string(*now / scale) : "",
                  RowValue::Kind::Number);
}

/// Text of any kind, but not none.
RowValue Text(std::string& target, const std::string& expected);

/// Whole numbers with blanks between them. @param fewest how many there are at least
RowValue Wholes(std::vector<uint32_t>& target,
                uint64_t least,
                uint64_t most,
                std::size_t fewest = 1);

/**
 * @ingroup base
 * @brief The keys of a file, or the variables of the environment, and which of them were given.
 */
class Rows
{
  public:
    /// @param source the file's name in errors, or "environment"
    Rows(std::string source, std::vector<Row> rows);

    bool Has(std::string_view name) const
    {
        return Find(name) != nullptr;
    }

    /// @return the row with the name @param line of the name, for the error
    /// @throw InputError if there is none
    const Row& Get(std::string_view name, std::size_t line) const;

    /// Store a value. @param line of the key, 0 if there are no lines
    /// @throw InputError for an unknown key, one that was given before, or an illegal value
    void Read(std::string_view name, std::string_view text, std::size_t line);

    /// Store the values in fields that are name, value, name, value, ...
    void ReadPairs(std::span<const std::string_view> fields, std::size_t line);

    /// Store the values of all names that have one. @param lookup gives the value of a variable of
    /// the environment; none and an empty one are alike
    void ReadVariables(
        const std::function<std::optional<std::string>(const std::string& name)>& lookup);

    /// @throw InputError that @p text is no value of a row
    [[noreturn]] void Refuse(std::string_view name, std::string_view text, std::size_t line) const;

    bool IsGiven(std::string_view name) const;

    /// @return the line of a key, 0 if it is not given
    std::size_t LineOf(std::string_view name) const;

    /// @return the names, other names included
    std::vector<std::string> GetNames() const;

    /// A given key that changes nothing.
    struct Idle
    {
        std::size_t line;
        std::string what; ///< "time_scale has no effect without trace"
    };

    std::vector<Idle> FindIdle() const;

    /// @throw InputError if a given key changes nothing
    void RefuseIdle() const;

    /// @return a line for each row: names, legal values, default, meaning; the documentation's
    std::string ToCsv() const;

  private:
    /// A row, and where it was given.
    struct Entry
    {
        Row row;
        std::vector<std::string> names; ///< the row's, apart
        std::optional<std::size_t> line;
    };

    const Entry* Find(std::string_view name) const;

    std::string m_source;
    std::vector<Entry> m_entries;
};

} // namespace ns3

#endif /* ROWS_H */
