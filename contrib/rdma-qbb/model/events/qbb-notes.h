/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_NOTES_H
#define QBB_NOTES_H

#include "qbb-bytes.h"
#include "qbb-call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Notes about nodes for observers of all of them: records, and the
 * text that comes with some.
 */
class QbbNotes
{
  public:
    /// @param ts when it happened @param context the node
    template <typename Target, typename Record>
    void Add(uint64_t ts,
             uint32_t context,
             const Target& target,
             const Record& record,
             std::string_view text)
    {
        m_entries.push_back({ts,
                             context,
                             QbbCallKinds::Of<Target, Record>(),
                             target.GetAddress(),
                             static_cast<uint32_t>(text.size()),
                             m_bytes.size(),
                             sizeof(Record)});
        PutMemory(m_bytes, &record, sizeof(Record));
        PutMemory(m_bytes, text.data(), text.size());
    }

    bool IsEmpty() const
    {
        return m_entries.empty();
    }

    void Clear()
    {
        m_entries.clear();
        m_bytes.clear();
    }

    /// Add the notes of @p other, and leave it none.
    void Take(QbbNotes& other)
    {
        const std::size_t before = m_bytes.size();
        for (Entry& entry : other.m_entries)
        {
            entry.offset += before;
        }
        m_entries.insert(m_entries.end(), other.m_entries.begin(), other.m_entries.end());
        PutMemory(m_bytes, other.m_bytes.data(), other.m_bytes.size());
        other.Clear();
    }

    /// Append everything.
    void Put(QbbBytes& bytes) const
    {
        PutValues(bytes, m_entries);
        PutValues(bytes, m_bytes);
    }

    /// Add the bytes that another process has Put().
    void TakeFrom(QbbByteReader& reader)
    {
        QbbNotes other;
        reader.GetValues(other.m_entries);
        reader.GetValues(other.m_bytes);
        Take(other);
    }

    /// Tell everything in the order of time and node. @param setTime called with the time of each
    template <typename SetTime>
    void Tell(SetTime setTime)
    {
        std::ranges::stable_sort(m_entries, [](const Entry& a, const Entry& b) {
            return std::tie(a.ts, a.context) < std::tie(b.ts, b.context);
        });
        for (const Entry& entry : m_entries)
        {
            setTime(entry.ts);
            const std::byte* record = m_bytes.data() + entry.offset;
            const auto* text = reinterpret_cast<const char*>(record + entry.recordBytes);
            QbbCallKinds::Do(entry.kind, entry.address, record, {text, entry.textBytes});
        }
    }

  private:
    struct Entry
    {
        uint64_t ts;
        uint32_t context;
        uint32_t kind;
        uint32_t address;
        uint32_t textBytes;
        uint64_t offset;
        uint64_t recordBytes;
    };

    std::vector<Entry> m_entries;
    QbbBytes m_bytes;
};

} // namespace ns3

#endif /* QBB_NOTES_H */
