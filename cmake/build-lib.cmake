# SPDX-License-Identifier: GPL-2.0-only
#
# ns-3's own build_lib() and build_lib_example(), reduced to what an out-of-tree build against an
# installed ns-3 needs, so that contrib/*/CMakeLists.txt are the same files in both builds.
#
# Each module becomes a static library that is linked whole (TypeIds register themselves in static
# initialisers, which a plain archive would drop), or with BUILD_SHARED_LIBS a shared one, which shortens links.
# Headers are reachable as "ns3/<name>.h" through one-line stubs, as in an ns-3 build directory.

include(${CMAKE_CURRENT_LIST_DIR}/find-ns3.cmake)

set(NS3_MODULE_HEADERS ${CMAKE_BINARY_DIR}/include)

# Relative paths keep the stubs the same in every checkout, which lets ccache share results.
function(stub_headers headers)
  foreach(header ${headers})
    get_filename_component(name ${header} NAME)
    get_filename_component(path ${header} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    file(RELATIVE_PATH relative ${NS3_MODULE_HEADERS}/ns3 ${path})
    file(CONFIGURE OUTPUT ${NS3_MODULE_HEADERS}/ns3/${name} CONTENT "#include \"${relative}\"\n" @ONLY)
  endforeach()
endfunction()

function(build_lib)
  cmake_parse_arguments(
    LIB "IGNORE_PCH" "LIBNAME"
    "SOURCE_FILES;HEADER_FILES;PRIVATE_HEADER_FILES;LIBRARIES_TO_LINK;TEST_SOURCES;TEST_LIBRARIES_TO_LINK;MODULE_ENABLED_FEATURES"
    ${ARGN})
  stub_headers("${LIB_HEADER_FILES}")
  if(NOT LIB_SOURCE_FILES)
    set(LIB_SOURCE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${LIB_LIBNAME}-without-sources.cc)
    file(CONFIGURE OUTPUT ${LIB_SOURCE_FILES} CONTENT "" @ONLY)
  endif()
  add_library(${LIB_LIBNAME} ${LIB_SOURCE_FILES})
  set_property(GLOBAL APPEND PROPERTY MODULES_OF_THIS_TREE ${LIB_LIBNAME})
  set_target_properties(${LIB_LIBNAME} PROPERTIES UNITY_BUILD_UNIQUE_ID g_log) # each source keeps its log component
  target_include_directories(${LIB_LIBNAME} PUBLIC ${NS3_MODULE_HEADERS})
  target_link_libraries(${LIB_LIBNAME} PUBLIC ${LIB_LIBRARIES_TO_LINK} project-options)
  target_compile_options(${LIB_LIBNAME}
                         PRIVATE $<TARGET_PROPERTY:program-options,INTERFACE_COMPILE_OPTIONS>)
  if(COVERAGE)
    # Counters are not atomic, which would make the tests take seven times as long: threads lose a count now and then.
    # Paths from the root find the sources wherever the program runs; ccache would make them relative to the build.
    target_compile_options(${LIB_LIBNAME} PRIVATE --coverage -fprofile-abs-path)
    set(launcher ${CMAKE_CXX_COMPILER_LAUNCHER})
    list(REMOVE_ITEM launcher "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}")
    set_target_properties(${LIB_LIBNAME} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
  endif()
  if(BUILD_SHARED_LIBS)
    set(lib${LIB_LIBNAME} ${LIB_LIBNAME})
    target_link_options(${LIB_LIBNAME} INTERFACE -Wl,--no-as-needed)
  else()
    set(lib${LIB_LIBNAME} "$<LINK_LIBRARY:WHOLE_ARCHIVE,${LIB_LIBNAME}>")
  endif()
  set(lib${LIB_LIBNAME} ${lib${LIB_LIBNAME}} CACHE INTERNAL "how to link ${LIB_LIBNAME}")
  if(LIB_TEST_SOURCES)
    add_library(${LIB_LIBNAME}-test OBJECT ${LIB_TEST_SOURCES})
    target_link_libraries(${LIB_LIBNAME}-test PUBLIC ${lib${LIB_LIBNAME}} ${LIB_TEST_LIBRARIES_TO_LINK})
    set_property(GLOBAL APPEND PROPERTY NS3_MODULE_TESTS ${LIB_LIBNAME}-test)
  endif()
  foreach(folder example examples)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()

function(build_lib_example)
  cmake_parse_arguments(EXAMPLE "IGNORE_PCH" "NAME" "SOURCE_FILES;HEADER_FILES;LIBRARIES_TO_LINK"
                        ${ARGN})
  add_executable(${EXAMPLE_NAME} ${EXAMPLE_SOURCE_FILES})
  target_link_libraries(${EXAMPLE_NAME} PRIVATE ${EXAMPLE_LIBRARIES_TO_LINK} project-options)
endfunction()
