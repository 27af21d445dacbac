/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/scratch-directory.h"
#include "astra-frontend/model/fastforward/patterns/disk-store.h"

#include "ns3/input-error.h"
#include "ns3/qbb-bytes.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sqlite3.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using AstraSim::DiskStore;
using ns3::QbbBytes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

namespace
{

constexpr uint64_t MIB = 1 << 20;

class DiskStoreTest : public testing::Test
{
  protected:
    /// @return the error of opening that file; empty if there is none
    std::string ErrorOf(const std::string& file) const
    {
        try
        {
            DiskStore(file, MIB);
            return "";
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
    }

    void Execute(const std::string& sql) const
    {
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(m_file.c_str(), &database), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << sqlite3_errmsg(database);
        sqlite3_close(database);
    }

    ns3::ScratchDirectory m_root;
    const std::string m_file{m_root / "s"};
};

DiskStore::Key
StoreKey(uint32_t number)
{
    DiskStore::Key key{};
    for (std::size_t i = 0; i < sizeof(number); ++i)
    {
        key[i] = static_cast<uint8_t>(number >> (8 * i));
    }
    return key;
}

QbbBytes
ValueOf(uint32_t number, std::size_t bytes)
{
    return QbbBytes(bytes, std::byte(number % 251));
}

void
WriteText(const std::string& path, const std::string& text)
{
    std::ofstream(path) << text;
}

} // namespace

TEST_F(DiskStoreTest, KeepsValuesBetweenRuns)
{
    const std::string file = m_root / "made/on/the/way";
    {
        DiskStore store(file, MIB);
        EXPECT_EQ(store.Find(StoreKey(1)), std::nullopt);
        store.Put(StoreKey(1), ValueOf(1, 100));
        store.Put(StoreKey(15), ValueOf(2, 0));
    }
    DiskStore store(file, MIB);
    EXPECT_EQ(store.Find(StoreKey(1)), ValueOf(1, 100));
    EXPECT_EQ(store.Find(StoreKey(15)), QbbBytes()) << "an empty value is one";
    EXPECT_EQ(store.Find(StoreKey(2)), std::nullopt);
    store.Put(StoreKey(1), ValueOf(3, 10));
    EXPECT_EQ(store.Find(StoreKey(1)), ValueOf(3, 10));
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, ADamagedValueCountsAsMissingAndIsReplaced)
{
    for (const char* damage : {"value = zeroblob(20)",
                               "value = zeroblob(0)",
                               "sum = zeroblob(32)",
                               "sum = 'text'",
                               "key = zeroblob(32)"})
    {
        DiskStore(m_file, MIB).Put(StoreKey(1), ValueOf(1, 20));
        Execute(std::string("DELETE FROM outcomes WHERE key = zeroblob(32);"
                            "UPDATE outcomes SET ") +
                damage);
        DiskStore store(m_file, MIB);
        for (const uint32_t number : {0U, 1U, 1U})
        {
            EXPECT_EQ(store.Find(StoreKey(number)), std::nullopt) << damage;
        }
        EXPECT_THAT(store.TakeWarnings(),
                    ElementsAre("--fast-forward-store: " + m_file +
                                " is damaged; missing outcomes are simulated again"))
            << "said once";
        store.Put(StoreKey(1), ValueOf(1, 20));
        EXPECT_EQ(store.Find(StoreKey(1)), ValueOf(1, 20));
    }
}

TEST_F(DiskStoreTest, AFileThatIsDamagedWhereverItMayBeIsNotBelieved)
{
    for (int i = 0; i < 100; ++i)
    {
        DiskStore(m_file, MIB).Put(StoreKey(static_cast<uint32_t>(i)), ValueOf(1, 300));
    }
    std::ifstream whole(m_file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(whole), {});
    std::mt19937 random(1);
    for (int round = 0; round < 30; ++round)
    {
        std::string damaged = text;
        for (int i = 0; i < 20; ++i)
        {
            damaged[random() % damaged.size()] ^= 1;
        }
        WriteText(m_file, damaged);
        DiskStore store(m_file, MIB);
        for (uint32_t i = 0; i < 100; ++i)
        {
            const auto found = store.Find(StoreKey(i));
            EXPECT_TRUE(!found || *found == ValueOf(1, 300)) << round;
            store.Put(StoreKey(i), ValueOf(1, 300));
        }
        // A place in the index that is wrong may hide an outcome for good; it is simulated again.
    }
}

TEST_F(DiskStoreTest, ADamagedHeaderIsRepaired)
{
    constexpr std::size_t HEADER = 100;
    constexpr std::size_t VERSION = 60; // four bytes, which no other tells from another version's
    DiskStore(m_file, MIB).Put(StoreKey(1), ValueOf(1, 300));
    std::ifstream whole(m_file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(whole), {});
    std::vector<std::string> damages;
    for (std::size_t place = 0; place < HEADER; ++place)
    {
        damages.push_back(text);
        damages.back()[place] = static_cast<char>(damages.back()[place] ^ 0xff);
    }
    damages.push_back(std::string(HEADER, '\0') + text.substr(HEADER));
    damages.push_back(text.substr(0, HEADER));
    damages.push_back(text.substr(0, 5000));
    damages.push_back(text.substr(0, HEADER) + std::string(5000, 'x'));
    for (std::size_t i = 0; i < damages.size(); ++i)
    {
        WriteText(m_file, damages[i]);
        if (i >= VERSION && i < VERSION + 4)
        {
            EXPECT_THAT(ErrorOf(m_file), HasSubstr("another version"));
            continue;
        }
        {
            DiskStore store(m_file, MIB);
            const auto found = store.Find(StoreKey(1));
            EXPECT_TRUE(!found || *found == ValueOf(1, 300)) << i;
            EXPECT_EQ(!found, !store.TakeWarnings().empty()) << "damage " << i;
            store.Put(StoreKey(1), ValueOf(1, 300));
        }
        DiskStore repaired(m_file, MIB);
        EXPECT_EQ(repaired.Find(StoreKey(1)), ValueOf(1, 300)) << "damage " << i;
        EXPECT_THAT(repaired.TakeWarnings(), IsEmpty()) << "damage " << i;
    }
}

TEST_F(DiskStoreTest, ARepairLeavesARunAlone)
{
    DiskStore(m_file, MIB).Put(StoreKey(1), ValueOf(1, 300));
    DiskStore other(m_file, MIB);
    EXPECT_TRUE(other.Find(StoreKey(1)));
    std::fstream(m_file, std::ios::binary | std::ios::in | std::ios::out) << "nonsense";
    DiskStore(m_file, MIB).Put(StoreKey(2), ValueOf(2, 300));
    other.Put(StoreKey(3), ValueOf(3, 300));
    const auto found = other.Find(StoreKey(3));
    EXPECT_TRUE(!found || *found == ValueOf(3, 300));
    DiskStore store(m_file, MIB);
    const auto kept = store.Find(StoreKey(2));
    EXPECT_TRUE(!kept || *kept == ValueOf(2, 300));
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, TheLeastRecentlyUsedGoFirst)
{
    constexpr uint32_t VALUES = 400; // of 4 KiB and more, so that a MiB holds half of them
    for (uint32_t i = 0; i < VALUES; i += 20)
    {
        DiskStore store(m_file, MIB);
        for (uint32_t each = i; each < i + 20; ++each)
        {
            store.Put(StoreKey(each), ValueOf(each, 4000));
        }
        EXPECT_EQ(store.Find(StoreKey(0)), ValueOf(0, 4000)) << "used after each twenty";
        EXPECT_THAT(store.TakeWarnings(), IsEmpty());
    }
    DiskStore store(m_file, MIB);
    EXPECT_TRUE(store.Find(StoreKey(VALUES - 1)));
    EXPECT_TRUE(store.Find(StoreKey(VALUES - 100))) << "no more went than had to";
    EXPECT_FALSE(store.Find(StoreKey(1)));
}

TEST_F(DiskStoreTest, KeepsToItsBoundWhateverIsPut)
{
    std::mt19937 random(1);
    DiskStore store(m_file, 2 * MIB);
    for (uint32_t i = 0; i < 2000; ++i)
    {
        store.Put(StoreKey(i), ValueOf(i, random() % 30'000));
        if (i % 50 == 0)
        {
            EXPECT_LE(fs::file_size(m_file), 2 * MIB);
        }
    }
    EXPECT_GT(fs::file_size(m_file), MIB);
    store.Put(StoreKey(9999), ValueOf(0, MIB));
    EXPECT_EQ(store.Find(StoreKey(9999)), std::nullopt) << "larger than a fourth of it";
    EXPECT_TRUE(store.Find(StoreKey(1999))) << "and nothing goes for it";
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, SeveralProcessesMayUseItAtOnce)
{
    std::vector<pid_t> children;
    for (uint32_t child = 0; child < 4; ++child)
    {
        const pid_t pid = ::fork();
        if (pid == 0)
        {
            std::mt19937 random(child);
            int status = 0;
            {
                DiskStore store(m_file, MIB); // so small that values go all the time
                for (uint32_t i = 0; i < 300; ++i)
                {
                    const uint32_t number = random() % 300;
                    const auto found = store.Find(StoreKey(number));
                    if (found && *found != ValueOf(number, 1000 + 100 * number))
                    {
                        status = 1;
                    }
                    store.Put(StoreKey(number), ValueOf(number, 1000 + 100 * number));
                }
                status = store.TakeWarnings().empty() ? status : 2;
            }
            ::_exit(status);
        }
        children.push_back(pid);
    }
    for (const pid_t child : children)
    {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
}

TEST_F(DiskStoreTest, SeveralProcessesMayMakeItAtOnce)
{
    for (int round = 0; round < 200; ++round)
    {
        const std::string file = m_root / std::to_string(round);
        const pid_t pid = ::fork();
        if (pid == 0)
        {
            ::_exit(ErrorOf(file).empty() ? 0 : 1);
        }
        EXPECT_EQ(ErrorOf(file), "");
        int status = -1;
        ::waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
    }
}

TEST_F(DiskStoreTest, AKilledRunDoesNoHarm)
{
    DiskStore(m_file, MIB).Put(StoreKey(1), ValueOf(1, 10));
    const pid_t pid = ::fork();
    if (pid == 0)
    {
        DiskStore store(m_file, MIB);
        for (uint32_t i = 2;; ++i)
        {
            store.Put(StoreKey(i), ValueOf(i, 5000));
            if (i == 20)
            {
                ::kill(::getpid(), SIGKILL);
            }
        }
    }
    ::waitpid(pid, nullptr, 0);
    DiskStore store(m_file, MIB);
    EXPECT_EQ(store.Find(StoreKey(1)), ValueOf(1, 10));
    EXPECT_EQ(store.Find(StoreKey(20)), ValueOf(20, 5000));
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, AFullDiskIsAWarningAndNothingMoreIsKept)
{
    DiskStore store(m_file, MIB);
    store.Put(StoreKey(1), ValueOf(1, 10));
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{10'000, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small); // a write beyond fails as on a full disk
    store.Put(StoreKey(2), ValueOf(2, 50'000));
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, before);
    store.Put(StoreKey(3), ValueOf(3, 10));

    EXPECT_THAT(store.TakeWarnings(),
                ElementsAre("--fast-forward-store: " + m_file +
                            " cannot be written: disk I/O error; nothing more is kept"));
    EXPECT_EQ(store.Find(StoreKey(1)), ValueOf(1, 10)) << "it can still be read";
    EXPECT_EQ(store.Find(StoreKey(2)), std::nullopt);
    EXPECT_EQ(store.Find(StoreKey(3)), std::nullopt);
}

TEST_F(DiskStoreTest, OtherFilesAreLeftAlone)
{
    const std::string expected =
        "; expected an SQLite file of --fast-forward-store, or one that can be made";
    WriteText(m_root / "thesis", std::string(5000, 'x'));
    EXPECT_EQ(ErrorOf(m_root / "thesis"),
              std::string(m_root / "thesis") +
                  ": is not a store, or is damaged beyond recognition" + expected);
    const std::string dump = "CREATE TABLE outcomes (key BLOB PRIMARY KEY, sum BLOB NOT NULL, used "
                             "INTEGER NOT NULL, value BLOB NOT NULL);\n";
    WriteText(m_root / "dump.sql", dump);
    EXPECT_THAT(ErrorOf(m_root / "dump.sql"), HasSubstr("is not a store"));
    EXPECT_EQ(fs::file_size(m_root / "dump.sql"), dump.size());
    Execute("CREATE TABLE photos (name TEXT)");
    EXPECT_EQ(ErrorOf(m_file), m_file + ": belongs to another program" + expected);
    WriteText(m_root / "empty", "");
    EXPECT_EQ(ErrorOf(m_root / "empty"), "");
}

TEST_F(DiskStoreTest, DirectoriesAreRefusedStoresOfEarlierVersionsAmongThem)
{
    fs::create_directories(m_file);
    EXPECT_THAT(ErrorOf(m_file), HasSubstr("s: is a directory; expected an SQLite file"));
    WriteText(m_file + "/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    EXPECT_THAT(ErrorOf(m_file),
                HasSubstr("s: is a directory, as stores of earlier versions were; expected an"));
}

TEST_F(DiskStoreTest, OtherVersionsAreRefused)
{
    DiskStore(m_file, MIB).Put(StoreKey(1), ValueOf(1, 10));
    Execute("PRAGMA user_version = 3");
    EXPECT_THAT(ErrorOf(m_file),
                HasSubstr("s: is of another version of this program (format 3, not 2); expected"));
}

TEST_F(DiskStoreTest, AFileThatCannotBeMadeIsRefused)
{
    WriteText(m_root / "file", "");
    EXPECT_THAT(ErrorOf((m_root / "file") + "/below"), HasSubstr("below: cannot be opened: Not a"));
    EXPECT_THAT(ErrorOf("/proc/none"), HasSubstr("/proc/none: cannot be opened: "));
}
