/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_WRITER_H
#define COLLECTIVES_WRITER_H

#include "run-observer.h"

#include "ns3/output-file.h"

#include <string>

namespace AstraSim
{

/// Writes collectives.csv: a row per collective, as it ends.
class CollectivesWriter : public RunObserver
{
  public:
    /// @param path the file to write @throw ns3::InputError if it cannot be opened
    explicit CollectivesWriter(const std::string& path);

    void CollectiveEnded(const CollectiveRecord& record) override;

    /// @throw ns3::InputError if something could not be written
    void Finish();

  private:
    ns3::OutputFile m_file;
};

} // namespace AstraSim

#endif /* COLLECTIVES_WRITER_H */
