/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/scratch-directory.h"
#include "astra-frontend/model/fastforward/patterns/disk-store.h"

#include "ns3/input-error.h"
#include "ns3/qbb-bytes.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
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
    std::string Root(const std::string& name) const
    {
        return m_root / name;
    }

    /// @return the error of opening that directory; empty if there is none
    std::string ErrorOf(const std::string& directory) const
    {
        try
        {
            DiskStore(directory, MIB);
            return "";
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
    }

    ns3::ScratchDirectory m_root;
};

/// @return a key whose value is in a share of its own for each first number
DiskStore::Key
KeyOf(uint8_t share, uint32_t number)
{
    DiskStore::Key key{};
    key[0] = static_cast<uint8_t>(share << 4);
    for (std::size_t i = 0; i < sizeof(number); ++i)
    {
        key[i + 1] = static_cast<uint8_t>(number >> (8 * i));
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

/// @return bytes that the files below take on the disk
uint64_t
BytesOnDisk(const std::string& directory)
{
    uint64_t bytes = 0;
    for (const auto& each : fs::recursive_directory_iterator(directory))
    {
        struct stat status
        {
        };

        if (each.is_regular_file() && ::stat(each.path().c_str(), &status) == 0)
        {
            bytes += static_cast<uint64_t>(status.st_blocks) * 512;
        }
    }
    return bytes;
}

} // namespace

TEST_F(DiskStoreTest, KeepsValuesForWhoComesLater)
{
    {
        DiskStore store(Root("made/on/the/way"), MIB);
        EXPECT_EQ(store.Find(KeyOf(1, 1)), std::nullopt);
        store.Put(KeyOf(1, 1), ValueOf(1, 100));
        store.Put(KeyOf(15, 1), ValueOf(2, 0));
    }
    DiskStore store(Root("made/on/the/way"), MIB);
    EXPECT_EQ(store.Find(KeyOf(1, 1)), ValueOf(1, 100));
    EXPECT_EQ(store.Find(KeyOf(15, 1)), QbbBytes()) << "an empty value is one";
    EXPECT_EQ(store.Find(KeyOf(1, 2)), std::nullopt);
    store.Put(KeyOf(1, 1), ValueOf(3, 10));
    EXPECT_EQ(store.Find(KeyOf(1, 1)), ValueOf(3, 10));
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, AFileThatIsDamagedAnywhereCountsAsNotThere)
{
    DiskStore store(Root("s"), MIB);
    const DiskStore::Key key = KeyOf(0, 1);
    store.Put(key, ValueOf(1, 20));
    const std::string path = store.PathOf(key);
    std::ifstream file(path, std::ios::binary);
    const std::string whole(std::istreambuf_iterator<char>(file), {});
    ASSERT_EQ(whole.size(), 32U + 20U) << "a checksum and the value";
    for (std::size_t i = 0; i < whole.size(); ++i)
    {
        std::string damaged = whole;
        damaged[i] ^= 1;
        WriteText(path, damaged);
        EXPECT_EQ(store.Find(key), std::nullopt) << "byte " << i;
        WriteText(path, whole.substr(0, i));
        EXPECT_EQ(store.Find(key), std::nullopt) << i << " bytes of it";
        WriteText(path, whole + whole.substr(0, i + 1));
        EXPECT_EQ(store.Find(key), std::nullopt) << i + 1 << " bytes more";
    }
    EXPECT_THAT(store.TakeWarnings(), ElementsAre(HasSubstr(path + " is damaged"))) << "said once";

    store.Put(key, ValueOf(1, 20));
    EXPECT_EQ(store.Find(key), ValueOf(1, 20)) << "and replaced";
}

TEST_F(DiskStoreTest, AFileUnderAnothersNameCountsAsNotThere)
{
    DiskStore store(Root("s"), MIB);
    store.Put(KeyOf(0, 1), ValueOf(1, 20));
    fs::rename(store.PathOf(KeyOf(0, 1)), store.PathOf(KeyOf(0, 2)));
    EXPECT_EQ(store.Find(KeyOf(0, 2)), std::nullopt);
}

TEST_F(DiskStoreTest, WhatIsNoFileCountsAsNotThere)
{
    DiskStore store(Root("s"), MIB);
    fs::create_directories(store.PathOf(KeyOf(0, 1)));
    EXPECT_EQ(store.Find(KeyOf(0, 1)), std::nullopt);
    store.Put(KeyOf(0, 1), ValueOf(1, 20));
    EXPECT_EQ(store.Find(KeyOf(0, 1)), std::nullopt);
    EXPECT_THAT(store.TakeWarnings(), testing::SizeIs(1));
}

// A sixteenth of 16 x 64 KiB is a share; a value with its checksum takes a block of 4 KiB.
TEST_F(DiskStoreTest, WhatWasNotAskedForLongestGoesFirst)
{
    constexpr uint32_t VALUES = 40;
    DiskStore store(Root("s"), MIB);
    for (uint32_t i = 0; i < VALUES; ++i)
    {
        store.Put(KeyOf(3, i), ValueOf(i, 4000));
        EXPECT_LE(BytesOnDisk(Root("s/3")), MIB / 16);
        EXPECT_EQ(store.Find(KeyOf(3, 0)), ValueOf(0, 4000)) << "asked for after each";
    }
    std::vector<uint32_t> left;
    for (uint32_t i = 1; i < VALUES; ++i)
    {
        if (fs::exists(store.PathOf(KeyOf(3, i))))
        {
            left.push_back(i);
        }
    }
    ASSERT_FALSE(left.empty());
    EXPECT_EQ(left.back(), VALUES - 1);
    EXPECT_EQ(left.back() - left.front(), left.size() - 1) << "the last ones, without gaps";
    EXPECT_GE(left.size(), 10U) << "no more went than had to";
}

TEST_F(DiskStoreTest, KeepsToItsBoundWhateverIsPut)
{
    std::mt19937 random(1);
    DiskStore store(Root("s"), 2 * MIB);
    for (uint32_t i = 0; i < 2000; ++i)
    {
        store.Put(KeyOf(static_cast<uint8_t>(random() % 16), i), ValueOf(i, random() % 30'000));
        if (i % 50 == 0)
        {
            EXPECT_LE(BytesOnDisk(Root("s")), 2 * MIB + 4096) << "and the tag";
        }
    }
    EXPECT_GT(BytesOnDisk(Root("s")), MIB);
    store.Put(KeyOf(0, 9999), ValueOf(0, MIB));
    EXPECT_EQ(store.Find(KeyOf(0, 9999)), std::nullopt) << "larger than a share";
    EXPECT_GT(BytesOnDisk(Root("s")), MIB) << "and nothing goes for it";
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
            DiskStore store(Root("s"), MIB); // so small that files go all the time
            for (uint32_t i = 0; i < 2000; ++i)
            {
                const uint32_t number = random() % 300;
                const DiskStore::Key key = KeyOf(static_cast<uint8_t>(number % 3), number);
                const auto found = store.Find(key);
                if (found && *found != ValueOf(number, 1000 + 10 * number))
                {
                    ::_exit(1);
                }
                store.Put(key, ValueOf(number, 1000 + 10 * number));
            }
            ::_exit(store.TakeWarnings().empty() ? 0 : 2);
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

TEST_F(DiskStoreTest, WhatAKilledRunLeftIsIgnoredAndRemovedAfterAnHour)
{
    DiskStore(Root("s"), MIB).Put(KeyOf(0, 1), ValueOf(1, 10));
    const std::string left = Root("s/0/.new-1234");
    const std::string written = Root("s/0/.new-5678");
    WriteText(left, "half");
    WriteText(written, "half");
    fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
    WriteText(Root("s/.new-9"), "half of a tag");
    DiskStore store(Root("s"), MIB);
    EXPECT_EQ(store.Find(KeyOf(0, 1)), ValueOf(1, 10));
    store.Put(KeyOf(0, 2), ValueOf(2, 10));
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(written)) << "another run may be writing it";
    EXPECT_THAT(store.TakeWarnings(), IsEmpty());
}

TEST_F(DiskStoreTest, AFullDiskIsAWarningAndNothingMoreIsKept)
{
    DiskStore store(Root("s"), MIB);
    store.Put(KeyOf(0, 1), ValueOf(1, 10));
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit small{1000, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small); // what is beyond fails as on a full disk
    store.Put(KeyOf(0, 2), ValueOf(2, 5000));
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, before);
    store.Put(KeyOf(0, 3), ValueOf(3, 10));

    EXPECT_THAT(store.TakeWarnings(),
                ElementsAre("--fast-forward-store: " + Root("s") +
                            " cannot be written: File too large; nothing more is kept"));
    EXPECT_EQ(store.Find(KeyOf(0, 1)), ValueOf(1, 10)) << "what is there can still be used";
    EXPECT_EQ(store.Find(KeyOf(0, 2)), std::nullopt);
    EXPECT_EQ(store.Find(KeyOf(0, 3)), std::nullopt);
    EXPECT_EQ(std::distance(fs::directory_iterator(Root("s/0")), fs::directory_iterator()), 1);
}

TEST_F(DiskStoreTest, IsMarkedAsACacheForBackups)
{
    DiskStore store(Root("s"), MIB);
    std::ifstream tag(Root("s/CACHEDIR.TAG"));
    std::string line;
    std::getline(tag, line);
    EXPECT_EQ(line, "Signature: 8a477f597d28d172789f06886806bc55");
}

TEST_F(DiskStoreTest, OtherDirectoriesAreLeftAlone)
{
    fs::create_directories(Root("documents"));
    WriteText(Root("documents/thesis"), "...");
    EXPECT_THAT(ErrorOf(Root("documents")),
                Root("documents") +
                    ": holds other files; expected a directory of --fast-forward-store, an empty "
                    "one, or one that can be made");
    fs::create_directories(Root("other"));
    WriteText(Root("other/CACHEDIR.TAG"),
              "Signature: 8a477f597d28d172789f06886806bc55\n# ccache\n");
    EXPECT_THAT(ErrorOf(Root("other")), HasSubstr("other: holds other files; expected"));

    fs::create_directories(Root("empty"));
    EXPECT_EQ(ErrorOf(Root("empty")), "");
}

TEST_F(DiskStoreTest, OtherVersionsAreRefused)
{
    DiskStore store(Root("s"), MIB);
    std::ifstream file(Root("s/CACHEDIR.TAG"));
    std::string text(std::istreambuf_iterator<char>(file), {});
    const auto format = text.rfind("format 1");
    ASSERT_NE(format, std::string::npos);
    WriteText(Root("s/CACHEDIR.TAG"), text.replace(format, 8, "format 2"));
    EXPECT_EQ(ErrorOf(Root("s")),
              Root("s") + ": is of another version of this program (format 2); expected format 1, "
                          "or another directory");
}

TEST_F(DiskStoreTest, WhatCannotBeADirectoryIsRefused)
{
    WriteText(Root("file"), "");
    EXPECT_THAT(ErrorOf(Root("file")), HasSubstr("file: is not a directory; expected"));
    EXPECT_THAT(ErrorOf(Root("file") + "/below"),
                HasSubstr("below: cannot be used: Not a directory"));
    EXPECT_THAT(ErrorOf("/proc/none"), HasSubstr("/proc/none: cannot be used: No such file"));
}
