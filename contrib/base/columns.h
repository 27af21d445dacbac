/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "csv-cell.h"

#include <concepts>
#include <fmt/format.h>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ns3
{

/// A column of a table: name, meaning and value. @tparam Record a row of the table
template <typename Record>
struct Column
{
    std::string name;
    std::string kind;    ///< "integer", "number" (with decimals), "text", and "... or empty"
    std::string meaning; ///< for users
    std::function<void(fmt::memory_buffer& line, const Record& record)> write;

    /**
     * @param theName of the column
     * @param theMeaning for users
     * @param get value of a record: an integer, a number, text as it is written, or an optional
     * one, of which none is an empty cell
     * @param decimals of numbers
     */
    template <typename Get>
    Column(std::string theName, std::string theMeaning, Get get, int decimals = 3)
        : name(std::move(theName)),
          kind(KindOf<std::invoke_result_t<Get, const Record&>>()),
          meaning(std::move(theMeaning)),
          write([get = std::move(get), decimals](fmt::memory_buffer& line, const Record& record) {
              Append(line, get(record), decimals);
          })
    {
    }

  private:
    template <typename Value>
    static constexpr bool IS_OPTIONAL = requires(Value value)
    {
        value.has_value();
    };

    template <typename Value>
    static std::string KindOf()
    {
        if constexpr (IS_OPTIONAL<Value>)
        {
            return KindOf<typename Value::value_type>() + " or empty";
        }
        else
        {
            return std::integral<Value>         ? "integer"
                   : std::floating_point<Value> ? "number"
                                                : "text";
        }
    }

    template <typename Value>
    static void Append(fmt::memory_buffer& line, const Value& value, int decimals)
    {
        if constexpr (IS_OPTIONAL<Value>)
        {
            if (value)
            {
                Append(line, *value, decimals);
            }
        }
        else if constexpr (std::floating_point<Value>)
        {
            fmt::format_to(std::back_inserter(line), "{:.{}f}", value, decimals);
        }
        else
        {
            fmt::format_to(std::back_inserter(line), "{}", value);
        }
    }
};

/**
 * @ingroup base
 * @brief The columns of a table, a row each, which write its header, its rows and its
 * documentation. A new column is a row.
 *
 * @code
 * const Columns<Port> PORTS{
 *     {"node", "the sender", [](const Port& port) { return port.node; }},
 *     {"busy_ns", "time spent sending", [](const Port& port) { return port.busyNs; }}};
 * file.Write(PORTS.GetHeader() + "\n" + PORTS.RowOf(port) + "\n"); // "node,busy_ns" "3,259.680"
 * @endcode
 */
template <typename Record>
class Columns
{
  public:
    Columns(std::initializer_list<Column<Record>> columns)
        : m_columns(columns)
    {
    }

    void Add(Column<Record> column)
    {
        m_columns.push_back(std::move(column));
    }

    /// @return these columns with more behind them
    Columns With(std::initializer_list<Column<Record>> more) const
    {
        Columns all = *this;
        all.m_columns.insert(all.m_columns.end(), more);
        return all;
    }

    /// @return the names, with commas between them
    std::string GetHeader() const
    {
        std::string line;
        for (const auto& column : m_columns)
        {
            line += (line.empty() ? "" : ",") + column.name;
        }
        return line;
    }

    /// @return the cells of a record, with commas between them
    std::string RowOf(const Record& record) const
    {
        fmt::memory_buffer line;
        for (const auto& column : m_columns)
        {
            if (&column != &m_columns.front())
            {
                line.push_back(',');
            }
            column.write(line, record);
        }
        return fmt::to_string(line);
    }

    /// @return a line for each column: name, kind, meaning; the documentation's and Python's
    std::string ToCsv() const
    {
        std::string lines;
        for (const auto& column : m_columns)
        {
            lines += column.name + "," + column.kind + "," + CsvCell(column.meaning) + "\n";
        }
        return lines;
    }

  private:
    std::vector<Column<Record>> m_columns;
};

} // namespace ns3

#endif /* COLUMNS_H */
