/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Runs the ns-3 test suites of both modules: --list names them, --suite=NAME --verbose runs one.

#include "ns3/test.h"

int
main(int argc, char** argv)
{
    return ns3::TestRunner::Run(argc, argv);
}
