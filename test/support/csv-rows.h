/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CSV_ROWS_H
#define CSV_ROWS_H

#include <map>
#include <sstream>
#include <string>
#include <vector>

/// @return the cells of a line without quotes
inline std::vector<std::string>
CsvCells(const std::string& line)
{
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');)
    {
        cells.push_back(cell);
    }
    return cells;
}

/// @return the rows of a table, each by the names of its header line
inline std::vector<std::map<std::string, std::string>>
CsvRows(const std::string& table)
{
    std::istringstream file(table);
    std::string line;
    std::getline(file, line);
    const std::vector<std::string> header = CsvCells(line);
    std::vector<std::map<std::string, std::string>> rows;
    while (std::getline(file, line))
    {
        std::vector<std::string> cells = CsvCells(line);
        cells.resize(header.size());
        auto& row = rows.emplace_back();
        for (std::size_t i = 0; i < header.size(); ++i)
        {
            row[header[i]] = cells[i];
        }
    }
    return rows;
}

#endif /* CSV_ROWS_H */
