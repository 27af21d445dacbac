/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DISK_STORE_H
#define DISK_STORE_H

#include "ns3/qbb-bytes.h"
#include "ns3/sha256.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Values by key in an SQLite file, kept between runs: a cache of bounded size. The least
 * recently used go first.
 *
 * Any number of programs may use a file at once, and a killed one does no harm. Each value has a
 * checksum; a damaged one counts as missing. A file that is damaged elsewhere begins anew, empty.
 * After any other error the run goes on without the file. Each has its warning.
 *
 * A key stands for all that its value depends on, so a file may hold those of many programs.
 */
class DiskStore
{
  public:
    using Key = Sha256::Value;

    /**
     * @param file is made if need be, with the directories above it
     * @param limit of its size, in bytes
     * @throw ns3::InputError if the file cannot be opened or written, or holds something else
     */
    DiskStore(std::string file, uint64_t limit);
    /// Note which values have been used.
    ~DiskStore();
    DiskStore(const DiskStore&) = delete;
    DiskStore& operator=(const DiskStore&) = delete;

    /// @return the value of @p key; nothing if it is missing
    std::optional<ns3::QbbBytes> Find(const Key& key);

    /// Keep a value. If that fails, nothing is kept from then on.
    void Put(const Key& key, const ns3::QbbBytes& value);

    /// @return warnings, a line each; forgotten with the call
    std::vector<std::string> TakeWarnings();

  private:
    struct Closer
    {
        void operator()(sqlite3* database) const;
        void operator()(sqlite3_stmt* statement) const;
    };

    using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

    void Open();
    /// @return whether the file can be used; false: it is damaged @throw ns3::InputError if it
    /// cannot be opened or made, or belongs to something else
    bool TryToOpen();
    /// @return whether the file is empty; nothing if it is damaged @throw ns3::InputError if it
    /// belongs to something else
    std::optional<bool> IsNew();
    /// @return whether the file, though damaged, has the marks of a store
    bool LooksLikeStore() const;
    /// Empty a damaged store and open it. @throw ns3::InputError if the file is something else
    void BeginAnew();
    /// Empty the file, unless it changes meanwhile.
    void Empty();
    /// As BeginAnew(), while the store is in use: if that fails, nothing is kept from then on.
    void Repair();
    /// @throw ns3::InputError if the file cannot be written
    void MakeTable();
    /// @return the first number of the result; nothing after an error
    std::optional<int64_t> Ask(const std::string& sql);
    /// @return whether all went well
    bool Execute(const std::string& sql);
    Statement Prepare(const char* sql);
    /// @return SQLITE_DONE, or an error
    int Insert(const Key& key, const ns3::QbbBytes& value);
    /// Remove an eighth of the values, those that were not used longest. @return whether any was
    bool MakeRoom();
    void NoteUses();
    [[noreturn]] void Refuse(const std::string& what) const;
    void WarnOnce(const std::string& what);

    std::string m_file;
    uint64_t m_limit;
    std::unique_ptr<sqlite3, Closer> m_database;
    Statement m_find;
    Statement m_insert;
    std::vector<Key> m_used; ///< not noted in the file yet
    bool m_canWrite{true};
    bool m_hasWarned{false};
    std::vector<std::string> m_warnings;
};

} // namespace AstraSim

#endif /* DISK_STORE_H */
