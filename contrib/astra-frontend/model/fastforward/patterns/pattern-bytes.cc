/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pattern-bytes.h"

namespace AstraSim
{

namespace
{

/// The members of a message's info that decide when it arrives; those for records are left out.
void
PutInfo(ns3::QbbBytes& bytes, const MessageInfo& info)
{
    ns3::PutValue(bytes, info.collective > 0);
    ns3::PutValue(bytes, info.channel);
    ns3::PutValue(bytes, info.plane);
    ns3::PutValue(bytes, info.isCredit);
    ns3::PutValue(bytes, info.sendLatency);
    ns3::PutValue(bytes, info.wireInflation);
    ns3::PutValue(bytes, info.rateCapBps);
}

MessageInfo
GetInfo(ns3::QbbByteReader& reader)
{
    MessageInfo info;
    info.collective = reader.Get<bool>() ? 1 : 0;
    reader.GetTo(info.channel);
    reader.GetTo(info.plane);
    reader.GetTo(info.isCredit);
    reader.GetTo(info.sendLatency);
    reader.GetTo(info.wireInflation);
    reader.GetTo(info.rateCapBps);
    return info;
}

} // namespace

ns3::QbbBytes
ToBytes(const PartPattern& pattern)
{
    ns3::QbbBytes bytes;
    ns3::PutValue(bytes, uint64_t{pattern.size()});
    for (const TimedOperation& timed : pattern)
    {
        const PartOperation& operation = *timed.operation;
        ns3::PutValue(bytes, operation.isMessage);
        ns3::PutValue(bytes, operation.group.kind);
        ns3::PutValues(bytes, operation.group.ranks);
        ns3::PutValue(bytes, operation.request.op);
        ns3::PutValue(bytes, operation.request.bytes);
        ns3::PutValue(bytes, operation.request.root);
        ns3::PutValues(bytes, operation.request.bytesPerPair);
        PutInfo(bytes, operation.info);
        ns3::PutValues(bytes, timed.starts);
    }
    return bytes;
}

OwnedPattern
PatternFromBytes(const ns3::QbbBytes& bytes)
{
    ns3::QbbByteReader reader(bytes);
    OwnedPattern pattern(reader.Get<uint64_t>());
    for (OwnedOperation& timed : pattern)
    {
        PartOperation& operation = timed.operation;
        reader.GetTo(operation.isMessage);
        reader.GetTo(operation.group.kind);
        reader.GetValues(operation.group.ranks);
        reader.GetTo(operation.request.op);
        reader.GetTo(operation.request.bytes);
        reader.GetTo(operation.request.root);
        reader.GetValues(operation.request.bytesPerPair);
        operation.info = GetInfo(reader);
        reader.GetValues(timed.starts);
    }
    return pattern;
}

ns3::QbbBytes
ToBytes(const PartOutcome& outcome)
{
    ns3::QbbBytes bytes;
    ns3::PutValue(bytes, outcome.traffic);
    ns3::PutValue(bytes, outcome.doubtPs);
    ns3::PutValue(bytes, outcome.isByFlows);
    ns3::PutValue(bytes, uint64_t{outcome.ends.size()});
    for (const auto& ends : outcome.ends)
    {
        ns3::PutValues(bytes, ends);
    }
    return bytes;
}

PartOutcome
OutcomeFromBytes(const ns3::QbbBytes& bytes)
{
    ns3::QbbByteReader reader(bytes);
    PartOutcome outcome;
    reader.GetTo(outcome.traffic);
    reader.GetTo(outcome.doubtPs);
    reader.GetTo(outcome.isByFlows);
    outcome.ends.resize(reader.Get<uint64_t>());
    for (auto& ends : outcome.ends)
    {
        reader.GetValues(ends);
    }
    return outcome;
}

} // namespace AstraSim
