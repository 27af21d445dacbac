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
    flags.Add(Question, "help,h", questions.help, "this text");
    if (hasFabric)
    {
        flags.Add(Question,
                  "help-conf",
                  questions.configuration,
                  "the keys of a configuration file");
        flags.Add(Question,
                  "PrintAttributes",
                  questions.attributes,
                  "the attributes of a class of ns-3, such as ns3::RdmaDcqcn");
    }
    flags.Add(Question, "version", questions.version, "the version of the program");
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
