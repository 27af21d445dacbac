/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INPUT_LINES_H
#define INPUT_LINES_H

#include <cstddef>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/**
 * @ingroup base
 * @brief Reads a text file of blank-separated fields line by line and knows where it is.
 *
 * Everything from a '#' on is a comment; lines without fields are skipped. One line is in memory at
 * a time, so files of any length can be read.
 *
 * @code
 * InputLines lines("flow.txt");
 * while (lines.Next())
 * {
 *     if (lines.Fields().size() != 6)
 *     {
 *         lines.Fail("this line has the wrong number of fields", "6 fields");
 *     }
 * }
 * @endcode
 */
class InputLines
{
  public:
    /// @param path file to open @throw InputError if it cannot be read
    explicit InputLines(const std::string& path);

    /**
     * @param text stream to read from; must outlive the object
     * @param name the stream's name in errors
     */
    InputLines(std::istream& text, std::string name);

    /// Go to the next line that has fields. @return false at the end of the file
    bool Next();

    /// Go to the next line even if it has no fields. @return false at the end of the file
    bool NextEvenIfBlank();

    /// @return the fields of the current line; valid until the next call of Next()
    const std::vector<std::string_view>& Fields() const
    {
        return m_fields;
    }

    /// @return everything from the given field to the line's end, or before the field @p end,
    /// blanks inside included
    std::string_view RestFrom(std::size_t field, std::size_t end = SIZE_MAX) const;

    /// Give no numbers in errors: the text is one line that no file has.
    void LeaveOutNumbers()
    {
        m_isNumbered = false;
    }

    /// @return the current line's number, from 1; 0 before the first, or if numbers are left out
    std::size_t Line() const
    {
        return m_isNumbered ? m_number : 0;
    }

    /// @return the name used in errors
    const std::string& Name() const
    {
        return m_name;
    }

    /// @throw InputError about the current line
    [[noreturn]] void Fail(const std::string& what, const std::string& expected) const;

  private:
    std::unique_ptr<std::istream> m_file;
    std::istream* m_text;
    std::string m_name;
    std::unique_ptr<char[]> m_buffer; ///< of the current line
    std::size_t m_number{0};
    bool m_isNumbered{true};
    std::vector<std::string_view> m_fields;
};

} // namespace ns3

#endif /* INPUT_LINES_H */
