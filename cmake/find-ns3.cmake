# SPDX-License-Identifier: GPL-2.0-only
#
# Finds the installed ns-3; ns3_modules lists its targets. Debian's name the headers of Python and libxml2, too, and GSL,
# SQLite and libxml2 to link: nothing here needs them through ns-3, whose libraries find their own.
find_package(ns3 REQUIRED)
get_property(ns3_modules DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER ns3_modules INCLUDE REGEX "^ns3::lib")
foreach(target ${ns3_modules})
  set_property(TARGET ${target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "")
  get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  list(FILTER linked EXCLUDE REGEX "^/")
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${linked}")
endforeach()
