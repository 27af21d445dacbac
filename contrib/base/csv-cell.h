/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CSV_CELL_H
#define CSV_CELL_H

#include <string>
#include <string_view>

namespace ns3
{

/**
 * How text of a user's (a layer's name, say) reads as one cell of a comma-separated file: quoted as
 * RFC 4180 says where it holds a comma or a quote, behind an apostrophe where its first character
 * would make a spreadsheet take it for a formula (= + - @), and with blanks for control characters,
 * so that a row is a line. Other names stay as they are. clustersim/csv_cell.py is the same in
 * Python, and undoes it.
 */
inline std::string
CsvCell(std::string_view text)
{
    std::string cell;
    if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    {
        cell = "'";
    }
    for (const char c : text)
    {
        cell += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    if (cell.find_first_of(",\"") == std::string::npos)
    {
        return cell;
    }
    std::string quoted = "\"";
    for (const char c : cell)
    {
        quoted += c;
        if (c == '"')
        {
            quoted += c;
        }
    }
    return quoted + '"';
}

} // namespace ns3

#endif /* CSV_CELL_H */
