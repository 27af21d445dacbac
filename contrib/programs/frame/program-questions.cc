/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program-questions.h"

#include "ns3-flags.h"
#include "run-record.h"

#include "ns3/fabric-conf.h"

#include <iostream>

namespace AstraSim
{

void
AddQuestions(ProgramFlags& flags, ProgramQuestions& questions, bool hasFabric)
{
    using enum FlagSubject;
    flags.Add(Question, "help,h", questions.help, "print this text and exit");
    if (hasFabric)
    {
        flags.Add(Question,
                  "help-conf",
                  questions.configuration,
                  "print the keys of configuration files and exit");
        flags.Add(Question,
                  "PrintAttributes CLASS",
                  questions.attributes,
                  "print the attributes of a class of ns-3, such as ns3::RdmaDcqcn, and exit");
    }
    flags.Add(Question, "version", questions.version, "print the version and exit");
}

std::string
Answer(const ProgramQuestions& questions,
       const ProgramFlags& flags,
       const std::string& program,
       const std::string& notes)
{
    return questions.help                  ? flags.Help() + notes
           : questions.configuration       ? ns3::FabricConfHelp()
           : !questions.attributes.empty() ? ns3::AttributesHelp(questions.attributes)
           : questions.version             ? program + " " + ProgramVersion() + "\n"
                                           : "";
}

bool
PrintAnswer(const std::string& answer)
{
    std::cout << answer;
    return !answer.empty();
}

} // namespace AstraSim
