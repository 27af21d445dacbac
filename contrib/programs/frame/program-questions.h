/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROGRAM_QUESTIONS_H
#define PROGRAM_QUESTIONS_H

#include "program-flags.h"

#include <string>

namespace AstraSim
{

/// Questions that a program answers instead of a run.
struct ProgramQuestions
{
    bool help{false};
    bool configuration{false};
    bool version{false};
    std::string attributes; ///< of a class of ns-3, by its name
};

/**
 * Add --help and --version.
 * @param questions outlives the table
 * @param hasFabric whether the program has packets: --help-conf and --PrintAttributes, too
 */
void AddQuestions(ProgramFlags& flags, ProgramQuestions& questions, bool hasFabric);

/**
 * @param program its name @param notes that follow the flags in --help
 * @return the text that is asked for; empty if a run is
 * @throw ns3::InputError if there is no such class
 */
std::string Answer(const ProgramQuestions& questions,
                   const ProgramFlags& flags,
                   const std::string& program,
                   const std::string& notes);

/// Print an answer. @return whether there is one
bool PrintAnswer(const std::string& answer);

} // namespace AstraSim

#endif /* PROGRAM_QUESTIONS_H */
