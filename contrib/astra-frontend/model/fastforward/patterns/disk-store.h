/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DISK_STORE_H
#define DISK_STORE_H

#include "ns3/qbb-bytes.h"
#include "ns3/sha256.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Values by key in a directory, kept between runs: a cache of bounded size, from which what
 * was not asked for longest goes first.
 *
 * Each value is a file with its own checksum, which gets its name when it is whole. So any number
 * of programs may use a directory at once, and one that is killed leaves it as it was. A file that
 * is damaged counts as one that is not there. The directory is marked as a cache (CACHEDIR.TAG), so
 * that backups leave it out, and nothing is removed from a directory of another kind.
 *
 * A key stands for all that its value follows from; a directory may hold those of many programs.
 */
class DiskStore
{
  public:
    using Key = Sha256::Value;

    /**
     * @param directory is made if need be
     * @param limit of what its files take on the disk, in bytes
     * @throw ns3::InputError if the directory cannot be written or holds something else
     */
    DiskStore(std::string directory, uint64_t limit);

    /// @return the value of @p key; nothing if it is not there
    std::optional<ns3::QbbBytes> Find(const Key& key);

    /// Keep a value. Where that fails, nothing is kept from then on.
    void Put(const Key& key, const ns3::QbbBytes& value);

    /// @return what the user should know, a line each; forgotten with the call
    std::vector<std::string> TakeWarnings();

    /// @return where the value of a key is kept
    std::string PathOf(const Key& key) const;

  private:
    /// A directory in it, which keeps its own share of the bound.
    static constexpr uint32_t SHARES = 16;

    struct Share
    {
        bool isKnown{false};
        uint64_t written{0}; ///< since it was last looked at
    };

    void Open() const;
    std::string PathOf(uint32_t share) const;
    void Write(const std::string& path, const ns3::QbbBytes& file);
    void MakeRoom(uint32_t share, uint64_t bytes);
    void WarnOnce(const std::string& what);

    std::string m_directory;
    uint64_t m_limit; ///< of a share
    std::array<Share, SHARES> m_shares;
    bool m_canWrite{true};
    bool m_hasWarned{false};
    std::vector<std::string> m_warnings;
};

} // namespace AstraSim

#endif /* DISK_STORE_H */
