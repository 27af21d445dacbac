/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include "text-line.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ns3
{

/**
 * @ingroup base
 * @brief A text file that results are written to as they come, in pieces of whole lines.
 *
 * A piece goes to the operating system when 64 KiB have gathered, at Flush(), and when the object
 * is destroyed. A full disk is an InputError, not a short file.
 *
 * The file has its name only when it is whole: until Finish() it is called `NAME.part`, and stays
 * so if Finish() is never called. Two programs cannot write the same file at once: the second is
 * refused. A path that exists and is no regular file (`/dev/stdout`, say) is written to directly.
 */
class OutputFile
{
  public:
    /// Suffix of a file's name until the file is whole.
    static constexpr const char* PART_SUFFIX = ".part";

    /// @param path file to create or to replace @throw InputError if that is impossible, or if
    /// another program is writing it
    explicit OutputFile(const std::string& path);

    /// Writes the rest of the buffer. A destructor cannot report an error; Finish() does.
    ~OutputFile();

    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// From now on files are made and stay empty: another process writes the results.
    static void DiscardAll();

    /// Append a line, formatted as printf does; a TextLine costs a tenth of it.
    void Print(const char* format, ...) __attribute__((format(printf, 2, 3)));

    /// Append a line that ends in a newline.
    void Write(std::string_view line)
    {
        if (line.size() > BUFFER_BYTES - m_used) [[unlikely]]
        {
            MakeRoom(line);
            return;
        }
        std::memcpy(m_buffer.get() + m_used, line.data(), line.size());
        m_used += line.size();
        ++m_lines;
    }

    /// @return room for a TextLine. The caller gives the line to Take() before it writes any other
    char* Room()
    {
        if (BUFFER_BYTES - m_used < TextLine::ROOM) [[unlikely]]
        {
            Flush();
        }
        return m_buffer.get() + m_used;
    }

    /// Append a line that was put into Room().
    void Take(const TextLine& line)
    {
        m_used += line.View().size();
        ++m_lines;
    }

    /// Hand the buffer to the operating system. @throw InputError if it cannot be written
    void Flush();

    /// The file is whole: write the rest of the buffer, close the file and give it its name.
    /// Nothing may be written afterwards. @throw InputError if that is impossible
    void Finish();

    /// @return the file's name once it is whole
    const std::string& Path() const
    {
        return m_path;
    }

    /// @return lines written so far
    uint64_t Lines() const
    {
        return m_lines;
    }

  private:
    static constexpr std::size_t BUFFER_BYTES = 1 << 16;

    /// Empty the buffer, and write a line that does not fit into its rest.
    void MakeRoom(std::string_view line);

    /// @return 0, or the errno of the failed write
    int WriteOut(std::string_view text) const;

    [[noreturn]] void Fail(int error) const;

    std::string m_path;
    std::string m_part; ///< name of the file until it is whole
    std::unique_ptr<char[]> m_buffer;
    std::size_t m_used{0}; ///< bytes in the buffer
    uint64_t m_lines{0};
    int m_descriptor{-1}; ///< -1: closed
};

/// Write a whole file. @throw InputError if that is impossible
void WriteWholeFile(const std::string& path, std::string_view text);

/// Make @p path and the directories above it. @throw InputError unless it is a directory that can
/// be written
void MakeOutputDirectory(const std::string& path);

/**
 * Place of an output that a configuration file names: always in the output directory, so that no
 * run overwrites the files of another. A relative path is relative to that directory. A path that
 * leads out of it, as absolute paths of other machines do, becomes its base name there.
 *
 * @param key name of the configuration key
 * @param path as the user wrote it
 * @param outputDirectory exists
 * @param moved gets key and path if the path is replaced, for WarnOfMoved()
 * @return path of the file; directories on the way to it have been made
 * @throw InputError if the output directory cannot be written
 */
std::string ResolveOutputPath(const std::string& key,
                              const std::string& path,
                              const std::string& outputDirectory,
                              std::vector<std::string>& moved);

/// Add one warning of all that ResolveOutputPath() has moved into the output directory, if any.
void WarnOfMoved(const std::vector<std::string>& moved,
                 const std::string& outputDirectory,
                 std::vector<std::string>& warnings);

} // namespace ns3

#endif /* OUTPUT_FILE_H */
