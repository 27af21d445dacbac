/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-processes.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <stdexcept>

namespace ns3
{

namespace
{

QbbProcesses* g_processes = nullptr;

} // namespace

QbbProcesses::~QbbProcesses() = default;

std::vector<QbbBytes>
QbbProcesses::GatherAll(const QbbBytes& bytes)
{
    const std::vector<QbbBytes> outgoing(GetCount(), bytes);
    std::vector<QbbBytes> incoming;
    Exchange(outgoing, incoming);
    incoming[GetRank()] = bytes;
    return incoming;
}

QbbProcesses*
QbbProcesses::Get()
{
    return g_processes;
}

void
QbbProcesses::Set(QbbProcesses* processes)
{
    g_processes = processes;
}

QbbFailure
QbbFailure::Of(const std::exception_ptr& failure)
{
    if (!failure)
    {
        return {};
    }
    try
    {
        std::rethrow_exception(failure);
    }
    catch (const InputError& error)
    {
        return {Kind::WrongInput, error.what()};
    }
    catch (const std::exception& error)
    {
        return {Kind::Other, error.what()};
    }
}

std::exception_ptr
QbbFailure::ToException() const
{
    switch (kind)
    {
    case Kind::None:
        return nullptr;
    case Kind::WrongInput:
        return std::make_exception_ptr(InputError(text));
    default:
        return std::make_exception_ptr(std::runtime_error(text));
    }
}

void
QbbFailure::Put(QbbBytes& bytes) const
{
    PutValue(bytes, kind);
    PutValues(bytes, text);
}

QbbFailure
QbbFailure::TakeFrom(QbbByteReader& reader)
{
    const auto kind = reader.Get<Kind>();
    return {kind, reader.GetValues<std::string>()};
}

void
ThrowInAllProcesses(const std::exception_ptr& failure)
{
    std::exception_ptr first = failure;
    if (QbbProcesses* processes = QbbProcesses::Get())
    {
        QbbBytes bytes;
        QbbFailure::Of(failure).Put(bytes);
        for (const QbbBytes& each : processes->GatherAll(bytes))
        {
            QbbByteReader reader(each);
            first = first ? first : QbbFailure::TakeFrom(reader).ToException();
        }
    }
    if (first)
    {
        std::rethrow_exception(first);
    }
}

std::vector<QbbBytes>
FromAllProcesses(const QbbBytes& bytes)
{
    QbbProcesses* processes = QbbProcesses::Get();
    return processes ? processes->GatherAll(bytes) : std::vector<QbbBytes>{bytes};
}

bool
IsInAnyProcess(bool isSo)
{
    return std::ranges::count(ValueOfAllProcesses(isSo), true) > 0;
}

std::vector<std::string>
LinesOfAllProcesses(std::vector<std::string> lines)
{
    if (!QbbProcesses::Get())
    {
        return lines;
    }
    QbbBytes bytes;
    for (const std::string& line : lines)
    {
        PutValues(bytes, line);
    }
    lines.clear();
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        QbbByteReader reader(each);
        while (!reader.IsAtEnd())
        {
            lines.push_back(reader.GetValues<std::string>());
        }
    }
    return lines;
}

} // namespace ns3
