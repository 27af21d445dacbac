/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_CALL_H
#define QBB_CALL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Base of objects that are called by number, from other partitions of a run.
 *
 * Objects are numbered in the order in which they are made, which is the same in every process of
 * a run, as each builds the whole fabric.
 */
class QbbAddressee
{
  public:
    QbbAddressee(const QbbAddressee&) = delete;
    QbbAddressee& operator=(const QbbAddressee&) = delete;

    uint32_t GetAddress() const
    {
        return m_address;
    }

    /// @return the object that has a number
    static QbbAddressee& At(uint32_t address)
    {
        return *All()[address];
    }

  protected:
    QbbAddressee();
    ~QbbAddressee();

  private:
    static std::vector<QbbAddressee*>& All();

    uint32_t m_address;
};

/// Functions that take a record, by number.
class QbbCallKinds
{
  public:
    using Handler = void (*)(QbbAddressee& target, const std::byte* record, std::string_view text);

    /// Register calls of Record, a plain value without addresses, at a Target: Call(). @return the
    /// number of this kind of call
    /// @return the number of that
    template <typename Target, typename Record>
    static uint32_t Of()
    {
        return KIND<Target, Record>;
    }

    /// Call @p record with @p target, and with @p text if it takes one.
    template <typename Target, typename Record>
    static void Call(const Record& record, Target& target, std::string_view text)
    {
        if constexpr (std::is_invocable_v<const Record&, Target&, std::string_view>)
        {
            record(target, text);
        }
        else
        {
            record(target);
        }
    }

    static void Do(uint32_t kind, uint32_t address, const std::byte* record, std::string_view text)
    {
        All()[kind](QbbAddressee::At(address), record, text);
    }

  private:
    static std::vector<Handler>& All();
    static uint32_t Add(Handler handler);

    template <typename Target, typename Record>
    static void Handle(QbbAddressee& target, const std::byte* bytes, std::string_view text)
    {
        static_assert(std::is_trivially_copyable_v<Record> &&
                      std::is_base_of_v<QbbAddressee, Target>);
        alignas(Record) std::array<std::byte, sizeof(Record)> room;
        std::memcpy(room.data(), bytes, sizeof(Record));
        Call(*reinterpret_cast<const Record*>(room.data()), static_cast<Target&>(target), text);
    }

    // Set before main(), in an order that is the same in every process of a program.
    template <typename Target, typename Record>
    inline static const uint32_t KIND = Add(&Handle<Target, Record>);
};

/**
 * @ingroup rdma-qbb
 * @brief A small call of an object, stored in place as bytes that mean the same in every process of
 * a run.
 * @tparam Room bytes of the largest record
 */
template <std::size_t Room>
class QbbCallOf
{
  public:
    /// Nothing.
    QbbCallOf() = default;

    template <typename Target, typename Record>
    QbbCallOf(const Target& target, const Record& record)
        : m_kind(QbbCallKinds::Of<Target, Record>() + 1),
          m_address(target.GetAddress())
    {
        static_assert(sizeof(Record) <= Room);
        std::memcpy(m_room.data(), &record, sizeof(Record));
    }

    explicit operator bool() const
    {
        return m_kind != 0;
    }

    void operator()() const
    {
        QbbCallKinds::Do(m_kind - 1, m_address, m_room.data(), {});
    }

  private:
    uint32_t m_kind{0}; ///< 0: nothing; else one more than that of QbbCallKinds
    uint32_t m_address{0};
    alignas(8) std::array<std::byte, Room> m_room;
};

/// A call of a node to another.
using QbbCall = QbbCallOf<112>;

} // namespace ns3

#endif /* QBB_CALL_H */
