/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lists of plug-ins by name.
 */
#include "ns3/named-kind.h"

#include <cstdint>
#include <cstdlib>
#include <gmock/gmock.h>
#include <string>
#include <utility>
#include <vector>

namespace
{

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Shape : public ns3::NamedKind<Shape>
{
  public:
    Shape(std::string name, uint32_t corners)
        : NamedKind(std::move(name)),
          m_corners(corners)
    {
    }

    uint32_t GetCorners() const
    {
        return m_corners;
    }

  private:
    uint32_t m_corners;
};

/// A shape of another list, by its corners.
class Regular : public Shape, public ns3::Listed<Regular, uint32_t>
{
  public:
    using Listed<Regular, uint32_t>::GetAll;

    Regular(std::string name, uint32_t corners)
        : Shape(std::move(name), corners),
          Listed<Regular, uint32_t>(corners)
    {
    }
};

/// A program's static object that is destroyed after the first kinds are: they register during its
/// life.
struct LastUser
{
    ~LastUser()
    {
        const Shape late("late", 0);
        if (Shape::GetNames() != std::vector<std::string>{"late"})
        {
            std::abort();
        }
    }
};

const LastUser lastUser;

TEST(NamedKind, ObjectsAreListedByNameWhileTheyExist)
{
    EXPECT_THAT(Shape::GetNames(), IsEmpty());
    const Shape triangle("triangle", 3);
    {
        const Shape square("square", 4);
        EXPECT_THAT(Shape::GetAll(), ElementsAre(&square, &triangle));
    }
    EXPECT_THAT(Shape::GetNames(), ElementsAre("triangle"));
}

TEST(NamedKind, FindTakesUpperAndLowerCaseForTheSame)
{
    const Shape square("Square", 4);
    ASSERT_EQ(Shape::Find("sQUARE"), &square);
    EXPECT_EQ(Shape::Find("sQUARE")->GetCorners(), 4U);
    EXPECT_EQ(Shape::Find("squar"), nullptr);
    EXPECT_EQ(Shape::Find(""), nullptr);
}

TEST(NamedKind, HintsAtTheNearestName)
{
    EXPECT_EQ(Shape::HintFor("square"), "") << "nothing is known";
    const Shape square("square", 4);
    const Shape triangle("triangle", 3);
    EXPECT_EQ(Shape::HintFor("sqare"), "; the nearest is square");
    EXPECT_EQ(Shape::HintFor("circle"), "");
}

TEST(NamedKind, OfEqualNamesTheFirstIsFound)
{
    const Shape first("square", 4);
    const Shape second("square", 5);
    EXPECT_EQ(Shape::Find("square"), &first);
    EXPECT_THAT(Shape::GetAll(), ElementsAre(&first, &second));
}

TEST(Listed, AClassMayHaveAListOfItsOwnInAnotherOrder)
{
    const Regular octagon("octagon", 8);
    const Regular pentagon("pentagon", 5);
    const Shape star("star", 10);
    EXPECT_THAT(Regular::GetAll(), ElementsAre(&pentagon, &octagon));
    EXPECT_THAT(Shape::GetAll(), ElementsAre(&octagon, &pentagon, &star));
}

} // namespace
