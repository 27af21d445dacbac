/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "input-lines.h"

#include "input-error.h"
#include "input-file.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{

constexpr std::string_view BLANKS = " \t\r\v\f";
constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF"; ///< editors on Windows write it
constexpr std::streamsize LONGEST_LINE = 4 << 20;

} // namespace

InputLines::InputLines(const std::string& path)
    : m_file(OpenInputFile(path)),
      m_text(m_file.get()),
      m_name(path),
      m_buffer(std::make_unique_for_overwrite<char[]>(LONGEST_LINE))
{
}

InputLines::InputLines(std::istream& text, std::string name)
    : m_text(&text),
      m_name(std::move(name)),
      m_buffer(std::make_unique_for_overwrite<char[]>(LONGEST_LINE))
{
}

bool
InputLines::NextEvenIfBlank()
{
    m_fields.clear();
    if (m_text->eof())
    {
        return false;
    }
    m_text->getline(m_buffer.get(), LONGEST_LINE);
    auto length = static_cast<std::size_t>(m_text->gcount());
    if (m_text->bad())
    {
        throw InputError(m_name, m_number + 1, "cannot be read from here on", "a file");
    }
    if (m_text->fail())
    {
        if (length == 0)
        {
            return false;
        }
        throw InputError(m_name,
                         m_number + 1,
                         "this line is longer than " + std::to_string(LONGEST_LINE >> 20) + " MiB",
                         "a text file");
    }
    length -= m_text->eof() ? 0 : 1; // the end of the line
    ++m_number;
    std::string_view line(m_buffer.get(), length);
    if (m_number == 1 && line.starts_with(BYTE_ORDER_MARK))
    {
        line.remove_prefix(BYTE_ORDER_MARK.size());
    }
    const std::size_t carriageReturn = line.find('\r');
    if (line.find_first_not_of('\r', std::min(carriageReturn, line.size())) !=
        std::string_view::npos)
    {
        Fail("a carriage return without a line feed ends a line",
             "lines that end with a line feed");
    }
    const std::string_view text = line.substr(0, line.find('#'));
    if (const std::size_t null = text.find('\0'); null != std::string_view::npos)
    {
        const std::size_t first = text.find_last_of(BLANKS, null) + 1; // 0 if there is no blank
        const std::string_view word = text.substr(first, text.find_first_of(BLANKS, null) - first);
        Fail("\"" + std::string(word) + "\" has a NUL character", "text");
    }
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
InputLines::RestFrom(std::size_t field, std::size_t end) const
{
    if (field >= std::min(end, m_fields.size()))
    {
        return {};
    }
    const std::string_view last = m_fields[std::min(end, m_fields.size()) - 1];
    const char* begin = m_fields[field].data();
    return {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
}

void
InputLines::Fail(const std::string& what, const std::string& expected) const
{
    throw InputError(m_name, Line(), what, expected);
}

} // namespace ns3
