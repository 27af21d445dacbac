/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NAMED_KIND_H
#define NAMED_KIND_H

#include "nearest-name.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ns3
{

/// The base of a class whose objects are in a list while they exist, in the order of their keys and
/// for equal keys of their construction.
/// @tparam Kind the class
template <typename Kind, typename Key>
class Listed
{
  public:
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

    /// @return all that exist
    static const std::vector<const Kind*>& GetAll()
    {
        return All();
    }

  protected:
    explicit Listed(Key key)
        : m_key(std::move(key))
    {
        const auto keyOf = [](const Kind* kind) -> const Key& { return kind->Listed::m_key; };
        All().insert(std::ranges::upper_bound(All(), m_key, {}, keyOf),
                     static_cast<const Kind*>(this));
    }

    ~Listed()
    {
        std::erase(All(), static_cast<const Kind*>(this));
    }

    const Key& GetKey() const
    {
        return m_key;
    }

  private:
    static std::vector<const Kind*>& All()
    {
        // Made by the first object: those of several files may be constructed in any order. Never
        // destroyed: objects of a library may be destroyed after static objects of the program.
        static auto* all = new std::vector<const Kind*>;
        return *all;
    }

    Key m_key;
};

/**
 * @ingroup base
 * @brief The base of a class of plug-ins that inputs name. A static object makes one known, from
 * any file of a program:
 *
 * @code
 * class Shape : public NamedKind<Shape>
 * {
 *   public:
 *     Shape(std::string name, uint32_t corners)
 *         : NamedKind(std::move(name)),
 *           corners(corners)
 *     {
 *     }
 *
 *     const uint32_t corners;
 * };
 *
 * const Shape square("square", 4);
 *
 * Shape::Find("Square")->corners; // 4
 * Shape::HintFor("sqare");        // "; the nearest is square"
 * @endcode
 */
template <typename Kind>
class NamedKind : public Listed<Kind, std::string>
{
  public:
    const std::string& GetName() const
    {
        return this->GetKey();
    }

    /// @return the one of a name, in upper or lower case; null if there is none
    static const Kind* Find(std::string_view name)
    {
        const auto isSame = [](unsigned char a, unsigned char b) {
            return std::tolower(a) == std::tolower(b);
        };
        const auto& all = NamedKind::GetAll();
        const auto found = std::ranges::find_if(all, [&](const Kind* kind) {
            return std::ranges::equal(kind->GetName(), name, isSame);
        });
        return found == all.end() ? nullptr : *found;
    }

    /// @return the names of all that exist, in their order
    static std::vector<std::string> GetNames()
    {
        std::vector<std::string> names;
        for (const Kind* kind : NamedKind::GetAll())
        {
            names.push_back(kind->GetName());
        }
        return names;
    }

    /// @return "; the nearest is NAME" if a name is near to the user's word; else nothing
    static std::string HintFor(std::string_view word)
    {
        return NearestHint(word, GetNames());
    }

  protected:
    /// @param name that no other object of the class has, in upper or lower case
    explicit NamedKind(std::string name)
        : Listed<Kind, std::string>(std::move(name))
    {
    }
};

} // namespace ns3

#endif /* NAMED_KIND_H */
