/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "disk-store.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sqlite3.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

// The store is one table of SQLite: key, checksum, time of last use, value. SQLite's locks let
// several runs use it at once; the journal is truncated instead of a write-ahead log, as logs do
// not work on network file systems, and nothing waits for the disk. Trouble is sorted into three
// kinds. A value with a wrong checksum counts as missing. A file that SQLite finds damaged, but
// that has the marks of a store (LooksLikeStore), is emptied under the lock of a writer, unless
// another run was faster (Empty). After other errors the run goes on without the store, with one
// warning. When the file reaches its limit, MakeRoom() deletes the eighth that was used least
// recently.

namespace
{

namespace fs = std::filesystem;

/// "ffst" in SQLite's header, where file(1) and we tell the files of programs apart.
constexpr int64_t APPLICATION = 0x66667374;
constexpr int64_t FORMAT = 2;       ///< 1 was a directory with a file per value
constexpr int PATIENCE_MS = 60'000; ///< wait for other writers

/// Schema as SQLite keeps it on the first page of the file.
constexpr std::string_view TABLE = "CREATE TABLE outcomes (key BLOB PRIMARY KEY, sum BLOB NOT NULL,"
                                   " used INTEGER NOT NULL, value BLOB NOT NULL)";

// SQLite's file format: the header, the place of the application's number in it, and the first page
// as we make it.
constexpr std::size_t HEADER_BYTES = 100;
constexpr std::size_t APPLICATION_PLACE = 68;
constexpr std::size_t FIRST_PAGE_BYTES = 4096;
constexpr std::string_view APPLICATION_BYTES = "ffst";
constexpr off_t LOCK_PLACE = 0x40000000; ///< of the bytes that SQLite locks
constexpr off_t LOCK_BYTES = 512;

constexpr const char* EXPECTED = "an SQLite file of --fast-forward-store, or one that can be made";

int64_t
NowUs()
{
    using namespace std::chrono;
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

Sha256::Value
ChecksumOf(const DiskStore::Key& key, const void* value, std::size_t count)
{
    Sha256 sum;
    sum.Add(key.data(), key.size());
    sum.Add(value, count);
    return sum.Finish();
}

/// @return whether an error of SQLite means that the file is damaged or not SQLite's
bool
IsDamage(int error)
{
    switch (error & 0xff) // the low byte is the class of an extended error
    {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_ERROR: // such as a table that is missing, or a format that is not known
        return true;
    default:
        return false;
    }
}

std::string
FirstPageOf(const std::string& file)
{
    std::ifstream stream(file, std::ios::binary);
    std::string page(FIRST_PAGE_BYTES, '\0');
    stream.read(page.data(), static_cast<std::streamsize>(page.size()));
    page.resize(static_cast<std::size_t>(stream.gcount()));
    return page;
}

void
BindKey(sqlite3_stmt* statement, int place, const Sha256::Value& key)
{
    sqlite3_bind_blob(statement, place, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
}

} // namespace

void
DiskStore::Closer::operator()(sqlite3* database) const
{
    sqlite3_close_v2(database);
}

void
DiskStore::Closer::operator()(sqlite3_stmt* statement) const
{
    sqlite3_finalize(statement);
}

DiskStore::DiskStore(std::string file, uint64_t limit)
    : m_file(std::move(file)),
      m_limit(limit)
{
    Open();
}

DiskStore::~DiskStore()
{
    NoteUses();
}

void
DiskStore::Refuse(const std::string& what) const
{
    throw ns3::InputError(m_file, 0, what, EXPECTED);
}

void
DiskStore::Open()
{
    std::error_code error;
    if (fs::is_directory(m_file, error))
    {
        Refuse(fs::exists(m_file + "/CACHEDIR.TAG", error)
                   ? "is a directory, as stores of earlier versions were"
                   : "is a directory");
    }
    if (!TryToOpen())
    {
        BeginAnew();
    }
}

bool
DiskStore::TryToOpen()
{
    std::error_code error;
    if (const fs::path parent = fs::path(m_file).parent_path(); !parent.empty())
    {
        fs::create_directories(parent, error);
    }
    sqlite3* database = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int opened = sqlite3_open_v2(m_file.c_str(), &database, flags, nullptr);
    m_database.reset(database);
    if (opened != SQLITE_OK)
    {
        Refuse(std::string("cannot be opened: ") +
               (error ? error.message() : std::strerror(sqlite3_system_errno(database))));
    }
    sqlite3_busy_timeout(database, PATIENCE_MS);
    // No wait for the disk: a power failure may damage the file, but checksums or SQLite find the
    // damage.
    Execute("PRAGMA synchronous = OFF");
    const std::optional<bool> isNew = IsNew();
    if (!isNew)
    {
        return false;
    }
    if (*isNew)
    {
        MakeTable();
    }
    // The store's files are neither auto-vacuumed nor read-only: SQLite reads that from a damaged
    // header.
    const bool isReadOnly = sqlite3_db_readonly(database, "main") == 1;
    if (Ask("PRAGMA auto_vacuum") != 0 || (isReadOnly && ::access(m_file.c_str(), W_OK) == 0))
    {
        return false;
    }
    // Rollback journals, unlike write-ahead logs, work on a network's file system.
    Execute("PRAGMA journal_mode = TRUNCATE");
    const auto page = static_cast<uint64_t>(Ask("PRAGMA page_size").value_or(1));
    Ask(fmt::format("PRAGMA max_page_count = {}", m_limit / page));
    m_find = Prepare("SELECT sum, value FROM outcomes WHERE key = ?1");
    m_insert = Prepare("INSERT OR REPLACE INTO outcomes VALUES (?1, ?2, ?3, ?4)");
    return m_find && m_insert;
}

std::optional<bool>
DiskStore::IsNew()
{
    // Another run may be making the table: one transaction sees all of that, or nothing.
    Execute("BEGIN");
    const auto application = Ask("PRAGMA application_id");
    const auto format = Ask("PRAGMA user_version");
    const auto tables = Ask("SELECT count(*) FROM sqlite_master");
    if (!application || !format || !tables)
    {
        if (IsDamage(sqlite3_errcode(m_database.get())))
        {
            return std::nullopt;
        }
        Refuse(std::string("cannot be used: ") + sqlite3_errmsg(m_database.get()));
    }
    if (*tables > 0 && *application != APPLICATION)
    {
        if (LooksLikeStore())
        {
            return std::nullopt;
        }
        Refuse("belongs to another program");
    }
    if (*tables > 0 && *format != FORMAT)
    {
        Refuse(fmt::format("is of another version of this program (format {}, not {})",
                           *format,
                           FORMAT));
    }
    Execute("COMMIT");
    return *tables == 0;
}

bool
DiskStore::LooksLikeStore() const
{
    // Either mark may be damaged. A header has zeros, other than texts that mention the table.
    const std::string page = FirstPageOf(m_file);
    return page.substr(0, HEADER_BYTES).find('\0') != std::string::npos &&
           (page.find(TABLE) != std::string::npos ||
            page.compare(std::min(page.size(), APPLICATION_PLACE),
                         APPLICATION_BYTES.size(),
                         APPLICATION_BYTES) == 0);
}

void
DiskStore::BeginAnew()
{
    m_find.reset();
    m_insert.reset();
    m_database.reset();
    if (!LooksLikeStore())
    {
        Refuse("is not a store, or is damaged beyond recognition");
    }
    Empty();
    WarnOnce("is damaged, and begins anew");
    if (!TryToOpen())
    {
        Refuse(std::string("is damaged, and cannot begin anew: ") +
               sqlite3_errmsg(m_database.get()));
    }
}

void
DiskStore::Empty()
{
    const std::string damaged = FirstPageOf(m_file);
    const int file = ::open(m_file.c_str(), O_RDWR | O_CLOEXEC);
    // The lock of a transaction that writes: no other run is in the middle of one. Unlike SQLite's
    // own, this kind stays when the first page has been read once more.
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = LOCK_PLACE;
    lock.l_len = LOCK_BYTES;
    const bool isAlone = file >= 0 && ::fcntl(file, F_OFD_SETLKW, &lock) == 0;
    if (isAlone && FirstPageOf(m_file) == damaged) // else another run has emptied it meanwhile
    {
        std::error_code ignored;                  // the file is tried again
        fs::remove(m_file + "-journal", ignored); // SQLite would bring the old pages back
        fs::resize_file(m_file, 0, ignored);
    }
    if (file >= 0)
    {
        ::close(file);
    }
}

void
DiskStore::Repair()
{
    try
    {
        BeginAnew();
    }
    catch (const ns3::InputError& error)
    {
        m_canWrite = false;
        WarnOnce(std::string("cannot be used any more: ") + error.what());
    }
}

void
DiskStore::MakeTable()
{
    // Another run may be making it, too.
    const bool isMade =
        Execute("BEGIN IMMEDIATE;CREATE TABLE IF NOT EXISTS" +
                std::string(TABLE.substr(TABLE.find(" outcomes"))) +
                ";CREATE INDEX IF NOT EXISTS by_use ON outcomes (used);" +
                fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                            APPLICATION,
                            FORMAT));
    if (!isMade)
    {
        Refuse(std::string("cannot be written: ") + sqlite3_errmsg(m_database.get()));
    }
}

DiskStore::Statement
DiskStore::Prepare(const char* sql)
{
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(m_database.get(), sql, -1, &statement, nullptr);
    return Statement(statement);
}

std::optional<int64_t>
DiskStore::Ask(const std::string& sql)
{
    const Statement statement = Prepare(sql.c_str());
    return statement && sqlite3_step(statement.get()) == SQLITE_ROW
               ? std::optional<int64_t>(sqlite3_column_int64(statement.get(), 0))
               : std::nullopt;
}

bool
DiskStore::Execute(const std::string& sql)
{
    return sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

void
DiskStore::WarnOnce(const std::string& what)
{
    if (!std::exchange(m_hasWarned, true))
    {
        m_warnings.push_back(fmt::format("--fast-forward-store: {} {}", m_file, what));
    }
}

std::vector<std::string>
DiskStore::TakeWarnings()
{
    return std::exchange(m_warnings, {});
}

std::optional<ns3::QbbBytes>
DiskStore::Find(const Key& key)
{
    sqlite3_stmt* statement = m_find.get();
    if (!statement)
    {
        return std::nullopt;
    }
    BindKey(statement, 1, key);
    const int status = sqlite3_step(statement);
    std::optional<ns3::QbbBytes> found;
    if (status == SQLITE_ROW)
    {
        const auto count = static_cast<std::size_t>(sqlite3_column_bytes(statement, 1));
        const auto* value = static_cast<const std::byte*>(sqlite3_column_blob(statement, 1));
        const Sha256::Value sum = ChecksumOf(key, value, count);
        const bool isWhole =
            sqlite3_column_bytes(statement, 0) == static_cast<int>(sum.size()) &&
            std::memcmp(sqlite3_column_blob(statement, 0), sum.data(), sum.size()) == 0;
        if (isWhole)
        {
            found.emplace(value, value + count);
            m_used.push_back(key);
        }
        else
        {
            WarnOnce("is damaged; missing outcomes are simulated again");
        }
    }
    else if (IsDamage(status))
    {
        Repair();
        return std::nullopt;
    }
    else if (status != SQLITE_DONE)
    {
        WarnOnce(fmt::format("cannot be read: {}", sqlite3_errmsg(m_database.get())));
    }
    sqlite3_reset(statement);
    return found;
}

void
DiskStore::Put(const Key& key, const ns3::QbbBytes& value)
{
    if (!m_canWrite || value.size() > m_limit / 4)
    {
        return;
    }
    // SQLITE_FULL: the file is at its limit, which MakeRoom() helps, or the disk is full.
    int status = Insert(key, value);
    while (status == SQLITE_FULL && MakeRoom())
    {
        status = Insert(key, value);
    }
    if (IsDamage(status))
    {
        Repair();
        status = m_canWrite ? Insert(key, value) : SQLITE_DONE;
    }
    if (status != SQLITE_DONE)
    {
        m_canWrite = false;
        WarnOnce(
            fmt::format("cannot be written: {}; nothing more is kept", sqlite3_errstr(status)));
    }
}

int
DiskStore::Insert(const Key& key, const ns3::QbbBytes& value)
{
    const Sha256::Value sum = ChecksumOf(key, value.data(), value.size());
    sqlite3_stmt* statement = m_insert.get();
    BindKey(statement, 1, key);
    BindKey(statement, 2, sum);
    // A null address would be NULL instead of an empty value.
    sqlite3_bind_blob64(statement,
                        4,
                        value.empty() ? "" : static_cast<const void*>(value.data()),
                        value.size(),
                        SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, NowUs());
    const int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status;
}

bool
DiskStore::MakeRoom()
{
    NoteUses();
    return Execute("DELETE FROM outcomes WHERE key IN (SELECT key FROM outcomes ORDER BY used"
                   " LIMIT (SELECT 1 + count(*) / 8 FROM outcomes))") &&
           sqlite3_changes(m_database.get()) > 0;
}

void
DiskStore::NoteUses()
{
    if (m_used.empty() || !Execute("BEGIN IMMEDIATE"))
    {
        return; // then they count as unused, and go earlier
    }
    const Statement update = Prepare("UPDATE outcomes SET used = ?2 WHERE key = ?1");
    for (const Key& key : std::exchange(m_used, {}))
    {
        BindKey(update.get(), 1, key);
        sqlite3_bind_int64(update.get(), 2, NowUs());
        sqlite3_step(update.get());
        sqlite3_reset(update.get());
    }
    Execute("COMMIT");
}

} // namespace AstraSim
