/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OUTPUT_DIRECTORY_H
#define OUTPUT_DIRECTORY_H

#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup base
 * @brief The directory of a run's results: one run at a time, and of one run only.
 *
 * As long as the object lives, no other program gets the directory. Files of an earlier run are
 * removed when the new one begins to simulate, not before: a run that is refused leaves them as
 * they were.
 *
 * @code
 * OutputDirectory directory("results/a");
 * OutputFile file(directory.Path("fct.txt")); // fct.txt.part until file.Finish()
 * directory.RemoveEarlierResults({});
 * @endcode
 */
class OutputDirectory
{
  public:
    /**
     * Make the directory if need be, and lock it.
     * @param path of the directory
     * @param prefix beginning of the names of all results. Runs with prefixes of their own share a
     * directory; then only the files keep others out.
     * @throw InputError if it cannot be written, or another run is writing to it
     */
    explicit OutputDirectory(const std::string& path, std::string prefix = "");
    ~OutputDirectory();

    OutputDirectory(const OutputDirectory&) = delete;
    OutputDirectory& operator=(const OutputDirectory&) = delete;

    const std::string& Path() const
    {
        return m_path;
    }

    /// @return where a result of that name goes
    std::string Path(const std::string& name) const;

    /// @return whether an earlier run has left its record here
    bool HasRecord() const;

    /**
     * Remove the results of an earlier run.
     * @param names of results besides those that have the same name in every run; a path leaves its
     * last part
     */
    void RemoveEarlierResults(const std::vector<std::string>& names) const;

    /// Remove unfinished files of such names that no process writes any more. Call it before a run
    /// opens its own.
    void RemoveParts(const std::vector<std::string>& names) const;

    /// @return names of the results that are there, sorted @param names as above
    std::vector<std::string> ListResults(const std::vector<std::string>& names) const;

  private:
    std::vector<std::string> FilesThat(const auto& isMeant) const;

    std::string m_path;
    std::string m_prefix;
    int m_descriptor{-1};
};

} // namespace ns3

#endif /* OUTPUT_DIRECTORY_H */
