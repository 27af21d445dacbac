/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "model-configuration.h"

#include "programs/frame/run-record.h"

#include "ns3/attribute-default.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

namespace
{

/// @return the build ID among the notes of a segment, in hexadecimal; empty if there is none
std::string
BuildIdIn(const std::byte* notes, std::size_t bytes, std::size_t alignment)
{
    const auto padded = [alignment](std::size_t size) {
        const std::size_t to = std::max<std::size_t>(alignment, sizeof(uint32_t));
        return (size + to - 1) / to * to;
    };
    std::size_t place = 0;
    while (place + sizeof(ElfW(Nhdr)) <= bytes)
    {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes + place, sizeof(note));
        const std::size_t name = place + sizeof(note);
        const std::size_t value = name + padded(note.n_namesz);
        const std::size_t end = value + note.n_descsz;
        if (end > bytes)
        {
            break;
        }
        const std::string_view owner(reinterpret_cast<const char*>(notes + name), note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU", sizeof("GNU")))
        {
            const auto* id = reinterpret_cast<const uint8_t*>(notes);
            return fmt::format("{:02x}", fmt::join(id + value, id + end, ""));
        }
        place = value + padded(note.n_descsz);
    }
    return "";
}

std::string
BuildIdOf(const dl_phdr_info& object)
{
    for (std::size_t i = 0; i < object.dlpi_phnum; ++i)
    {
        const auto& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_NOTE)
        {
            continue;
        }
        const auto* notes = reinterpret_cast<const std::byte*>(object.dlpi_addr + segment.p_vaddr);
        const std::string id = BuildIdIn(notes, segment.p_memsz, segment.p_align);
        if (!id.empty())
        {
            return id;
        }
    }
    return "";
}

/**
 * @return a text that differs between builds of this program and its libraries: for each file a
 * line with its GNU build ID, or its SHA-256 where it has none
 */
std::string
DescribeLoadedCode()
{
    std::vector<std::string> lines;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* arg) {
            const std::string_view path = object->dlpi_name;
            if (path.find("vdso") != std::string_view::npos)
            {
                return 0; // part of the kernel, not of the build
            }
            // The program itself has no name here.
            const std::string file = path.empty() ? "/proc/self/exe" : std::string(path);
            const std::string id = BuildIdOf(*object);
            static_cast<std::vector<std::string>*>(arg)->push_back(
                id.empty() ? "SHA-256 " + FileSha256(file) : "build ID " + id);
            return 0;
        },
        &lines);
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
    {
        text += line + "\n";
    }
    return text;
}

} // namespace

std::string
DescribeModels(const RunOptions& options, const RunInputs& inputs)
{
    std::string text = ProgramVersion() + "\n" + DescribeLoadedCode();
    text += fmt::format("network {}\n", ToString(options.network));
    text += options.threads ? "divided\n" : ""; // into how many parts makes no difference
    for (const std::string& flag : options.modelFlags)
    {
        text += "--" + flag + "\n";
    }
    for (const auto& [name, value] : options.environment)
    {
        text += name + "=" + value + "\n";
    }
    for (const std::string& file : {*inputs.conf.topologyFile,
                                    options.conf,
                                    options.nccl.gpuTable,
                                    options.nccl.networkTable,
                                    options.nccl.figuresFile,
                                    options.nccl.GetTunerFile()})
    {
        text += (file.empty() ? "none" : FileSha256(file)) + "\n";
    }
    return text + ns3::DescribeDefaults();
}

Sha256::Value
DigestOfModels(const RunOptions& options, const RunInputs& inputs)
{
    Sha256 sum;
    sum.Add(DescribeModels(options, inputs));
    return sum.Finish();
}

} // namespace AstraSim
