/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "workload-format.h"

#include <map>
#include <utility>

namespace AstraSim
{

namespace
{

std::map<std::string, WorkloadFormat::Reader>&
Readers()
{
    // Made by the first format: objects of other files may be constructed before those of this one.
    static std::map<std::string, WorkloadFormat::Reader> readers;
    return readers;
}

} // namespace

WorkloadFormat::WorkloadFormat(const std::string& word, Reader read)
{
    Readers()[word] = std::move(read);
}

WorkloadFormat::Reader
WorkloadFormat::Find(const std::string& word)
{
    const auto found = Readers().find(word);
    return found == Readers().end() ? Reader() : found->second;
}

} // namespace AstraSim
