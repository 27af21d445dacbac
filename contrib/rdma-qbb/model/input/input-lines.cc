/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "input-lines.h"

#include "input-error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace ns3
{

namespace
{

constexpr std::string_view BLANKS = " \t\r\v\f";

} // namespace

InputLines::InputLines(const std::string& path)
    : m_file(std::make_unique<std::ifstream>(path)),
      m_text(m_file.get()),
      m_name(path)
{
    if (!*m_file)
    {
        throw InputError(path,
                         0,
                         std::string("cannot be read: ") + std::strerror(errno),
                         "a file that can be read");
    }
    if (std::filesystem::is_directory(path))
    {
        throw InputError(path, 0, "is a directory", "a file");
    }
}

InputLines::InputLines(std::istream& text, std::string name)
    : m_text(&text),
      m_name(std::move(name))
{
}

bool
InputLines::NextEvenIfBlank()
{
    m_fields.clear();
    if (!std::getline(*m_text, m_line))
    {
        return false;
    }
    ++m_number;
    const std::string_view text = std::string_view(m_line).substr(0, m_line.find('#'));
    std::size_t begin = text.find_first_not_of(BLANKS);
    while (begin != std::string_view::npos)
    {
        const std::size_t end = std::min(text.find_first_of(BLANKS, begin), text.size());
        m_fields.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(BLANKS, end);
    }
    return true;
}

bool
InputLines::Next()
{
    while (NextEvenIfBlank())
    {
        if (!m_fields.empty())
        {
            return true;
        }
    }
    return false;
}

std::string_view
InputLines::RestFrom(std::size_t field) const
{
    if (field >= m_fields.size())
    {
        return {};
    }
    const char* end = m_fields.back().data() + m_fields.back().size();
    return {m_fields[field].data(), static_cast<std::size_t>(end - m_fields[field].data())};
}

void
InputLines::Fail(const std::string& what, const std::string& expected) const
{
    throw InputError(m_name, m_number, what, expected);
}

} // namespace ns3
