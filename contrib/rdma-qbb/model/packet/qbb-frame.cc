/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-frame.h"

#include <ostream>

namespace ns3
{

std::ostream&
operator<<(std::ostream& text, const QbbFrame& frame)
{
    switch (frame.kind)
    {
    case QbbFrameKind::Data:
        text << "bytes " << frame.seq << " to " << frame.seq + frame.payloadBytes;
        break;
    case QbbFrameKind::Ack:
        text << "ACK of byte " << frame.expectedSeq;
        break;
    case QbbFrameKind::Nack:
        text << "NACK of byte " << frame.expectedSeq;
        break;
    case QbbFrameKind::Control:
        text << "control frame " << frame.controlType << " of value " << frame.value;
        break;
    case QbbFrameKind::Cnp:
        text << "CNP";
        break;
    case QbbFrameKind::Pfc:
        return text << (frame.quanta ? "pause" : "resume") << " of priority " << +frame.priority;
    case QbbFrameKind::LinkControl:
        return text << "ordered set " << frame.controlType << " of value " << frame.value;
    case QbbFrameKind::Other:
        text << "packet";
        break;
    }
    return text << " of host " << frame.src << " for host " << frame.dst << ", priority "
                << +frame.priority;
}

} // namespace ns3
