# SPDX-License-Identifier: GPL-2.0-only
"""How every command of scripts/ ends: with a line for people and a status, never with a traceback.

    if __name__ == "__main__":
        command.run("plot.py", main)
"""
import argparse
import os
import re
import signal
import sys

from clustersim.version import __version__

LONGEST_WORD = 512  # characters of a word in a message; of a longer one the first are shown
SHOWN = 60


def name():
    """@return what the command was called by"""
    return os.path.basename(sys.argv[0])


def printable(text, keep=""):
    """@return the text with escapes in the place of characters that move the cursor, cut a line or stand for no character"""
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in str(text))


def tell_idle(parser, given, rules):
    """Warns of flags that change nothing.
    @param parser argparse's @param given what it has read
    @param rules of each: whether the flags have an effect, why they have none, and their names in `given`"""
    for has_effect, why, names in rules:
        for dest in names:
            if not has_effect and getattr(given, dest) != parser.get_default(dest):
                flag = next(action.option_strings[0] for action in parser._actions if action.dest == dest)
                print(f"{parser.prog}: warning: {flag} has no effect: {why}", file=sys.stderr)


def tell_repetitions(parser, words):
    """Warns of values that a later one replaces, by whichever name of the flag.
    @param parser argparse's @param words of the command line"""
    names = {}
    for word in words:
        flag = str(word).partition("=")[0]
        action = parser._option_string_actions.get(flag)
        if action is None and flag.startswith("-"):  # first letters of a flag, or a short flag and its value in one word
            meant = {id(option[0]): option[0] for option in parser._get_option_tuples(str(word))}
            action = next(iter(meant.values())) if len(meant) == 1 else None
        if action is None or action.nargs == 0 or isinstance(action, argparse._AppendAction):
            continue
        if action.dest in names:
            print(f"{parser.prog}: warning: {flag} replaces the {names[action.dest]} before it", file=sys.stderr)
        names[action.dest] = flag


class _Terminated(BaseException):
    pass


def _terminate(number, frame):
    raise _Terminated(number)


def _catch_ending_signals():
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup's
        return
    # A closed terminal is none any more for who asks then; to write there would fail.
    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]

    def leave_terminal(number, frame):
        for terminal in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), terminal)
        _terminate(number, frame)

    signal.signal(signal.SIGHUP, leave_terminal)


def run(name, main, refusals=(), after_interruption=""):
    """Calls main(arguments) and ends the program with what it returns.

    --version alone is answered here. 2: a file cannot be read or written; 1: memory has run out; 129, 130 and 143: SIGHUP, SIGINT and SIGTERM.

    @param refusals exceptions whose text is the line for people; they end the program with 2
    @param after_interruption what to say to who interrupts it, besides that
    """
    _catch_ending_signals()
    if sys.argv[1:] == ["--version"]:
        print(f"{name} {__version__}")
        sys.exit(0)
    hint = f"; {after_interruption}" if after_interruption else ""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = _say(name, f"interrupted{hint}", 130)
    except _Terminated as terminated:
        (number,) = terminated.args
        status = _say(name, f"{'terminal closed' if number == signal.SIGHUP else 'terminated'}{hint}", 128 + number)
    except BrokenPipeError:  # whoever read the output has had enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        text = f"{place}{error.strerror or error}"
        expected = "" if "; expected " in text else "; expected a file that can be read or written"
        status = _say(name, f"{text}{expected}", 2)
    except refusals as error:
        status = _say(name, error, 2)
    except MemoryError:
        status = _say(name, "out of memory", 1)
    except RecursionError:
        status = _say(name, "an input is nested too deeply; expected a hundred levels at most", 2)
    sys.exit(status)


def _cut(word):
    ends = len(word[0].rstrip("'\",;:)"))
    return f"{word[0][:SHOWN]}...{word[0][ends:]}"


def _short(text):
    """@return the text, in which words that no path is as long as are cut, and nothing moves the cursor"""
    text = re.sub(rf"\S{{{LONGEST_WORD},}}", _cut, str(text))
    return printable(text, keep="\n")


def _say(name, text, status):
    print(f"{name}: {_short(text)}", file=sys.stderr)
    return status
