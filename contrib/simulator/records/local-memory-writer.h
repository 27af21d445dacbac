/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LOCAL_MEMORY_WRITER_H
#define LOCAL_MEMORY_WRITER_H

#include "astra-frontend/model/system/run-observer.h"

#include "ns3/output-file.h"

#include <string>

namespace AstraSim
{

/// Writes how many bytes of tensors the running nodes of each rank hold: `time_ns,rank,bytes`.
class LocalMemoryWriter : public RunObserver
{
  public:
    /// @param path the file to write @throw ns3::InputError if it cannot be opened
    explicit LocalMemoryWriter(const std::string& path);

    void LocalMemoryChanged(int rank, uint64_t bytes, TimePs now) override;

    /// @throw ns3::InputError if something could not be written
    void Finish();

    /// @return the file's path
    const std::string& Path() const
    {
        return m_file.Path();
    }

  private:
    ns3::OutputFile m_file;
};

} // namespace AstraSim

#endif /* LOCAL_MEMORY_WRITER_H */
