# SPDX-License-Identifier: GPL-2.0-only
#
# Finds the installed ns-3. ns3_modules lists its targets, and libcore, libnetwork ... are the targets: "ns3::libcore" in ns-3.37,
# "ns3::core" in newer releases. Debian's name the headers of Python and libxml2, too, and GSL, SQLite and libxml2 to link: nothing
# here needs them through ns-3, whose libraries find their own. Debian 13's also define NS3_LOG_ENABLE, which is for CHECKED_BUILD.
find_package(ns3 REQUIRED)
get_property(ns3_modules DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER ns3_modules INCLUDE REGEX "^ns3::")
list(FILTER ns3_modules EXCLUDE REGEX "-creator$") # programs
foreach(target ${ns3_modules})
  string(REGEX REPLACE "^ns3::(lib)?" "lib" module ${target})
  set(${module} ${target})
  get_target_property(included ${target} INTERFACE_INCLUDE_DIRECTORIES)
  list(FILTER included EXCLUDE REGEX "^/usr(/include.*)?$")
  set_property(TARGET ${target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${included}")
  get_target_property(linked ${target} INTERFACE_LINK_LIBRARIES)
  list(FILTER linked EXCLUDE REGEX "^/")
  set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${linked}")
  set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS "")
endforeach()
