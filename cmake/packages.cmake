# SPDX-License-Identifier: GPL-2.0-only
#
# What `cmake --install` and `cpack` put where. Programs go to bin/; everything that scripts find beside
# themselves keeps its place in a copy of the checkout's tree under lib/cluster-sim/, and scripts are linked
# from bin/ as cluster-sim-NAME. scripts/maintain/package.sh builds the package and tries it.
include(GNUInstallDirs)
set(tree_in_prefix lib/cluster-sim)

file(GLOB sources CONFIGURE_DEPENDS scratch/*.cc)
if(NOT PHYSICAL_BACK_END)
  list(FILTER sources EXCLUDE REGEX SimAI_phynet)
endif()
foreach(source ${sources})
  get_filename_component(program ${source} NAME_WE)
  list(APPEND programs ${program})
endforeach()
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
get_property(names GLOBAL PROPERTY OTHER_NAMES_OF_COLLECTIVE_PERF)
foreach(name ${names})
  install(CODE "file(CREATE_LINK collective-perf \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${name} SYMBOLIC)")
  list(APPEND commands ${name})
endforeach()
install(FILES VERSION DESTINATION ${tree_in_prefix})
install(DIRECTORY python topologies conf workloads sweeps DESTINATION ${tree_in_prefix}
        USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN "*.pyc" EXCLUDE)
foreach(program ${programs})
  install(CODE "file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${tree_in_prefix}/bin)
    file(CREATE_LINK ../../../bin/${program}
         \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${tree_in_prefix}/bin/${program} SYMBOLIC)")
endforeach()

file(GLOB scripts CONFIGURE_DEPENDS scripts/*.py)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} first_bytes LIMIT 2 HEX)
  if(NOT first_bytes STREQUAL 2321) # "#!"
    install(FILES ${script} DESTINATION ${tree_in_prefix}/scripts)
    continue()
  endif()
  install(PROGRAMS ${script} DESTINATION ${tree_in_prefix}/scripts)
  string(REPLACE _ - command cluster-sim-${name})
  list(APPEND commands ${command})
  install(CODE "file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin)
    file(CREATE_LINK ../${tree_in_prefix}/scripts/${name}.py
         \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${command} SYMBOLIC)")
endforeach()
install(CODE "file(CREATE_LINK ../${tree_in_prefix}/topologies/gen_Topo_Template.py
  \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/cluster-sim-topology SYMBOLIC)")
list(APPEND commands cluster-sim-topology)

# Completion asks a program's --help when it is used, so it is never out of date.
set(completions share/bash-completion/completions)
install(FILES packaging/completion.bash DESTINATION ${completions} RENAME cluster-sim)
foreach(command ${programs} ${commands})
  install(CODE "file(CREATE_LINK cluster-sim
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${completions}/${command} SYMBOLIC)")
endforeach()

# Man pages are made of --help by scripts/maintain/package.sh before it calls cpack.
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION share/man/man1 OPTIONAL)
install(FILES packaging/copyright README.md DESTINATION share/doc/cluster-sim)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz ${CMAKE_BINARY_DIR}/cluster-sim.spdx.json
        DESTINATION share/doc/cluster-sim OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cluster-sim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "the authors <maintainers@cluster-sim.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "packet-level simulator of AI clusters")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Simulates collectives and training jobs on a RoCEv2 fabric packet by packet,
with PFC, ECN and a choice of congestion controls, on top of ns-3. It reads
the files of SimAI, ASTRA-sim and the HPCC simulator.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
string(CONCAT CPACK_DEBIAN_PACKAGE_DEPENDS
    "python3, python3-numpy, python3-pandas, python3-matplotlib, python3-yaml, python3-jinja2, python3-networkx, "
    "python3-pydantic")
# To start several processes, to write Chakra traces, and for the runs of sweeps.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, protobuf-compiler, python3-protobuf, snakemake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
