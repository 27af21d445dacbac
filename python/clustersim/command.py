# SPDX-License-Identifier: GPL-2.0-only
"""How every command of scripts/ ends: with a line for people and a status, never with a traceback.

    if __name__ == "__main__":
        command.run("plot.py", main)
"""
import argparse
import io
import math
import os
import signal
import sys
import time
import types
import typing
from collections.abc import Callable, Iterable, Sequence

from clustersim import notices
from clustersim.errors import InputError, nearest
from clustersim.message import Messages, printable, shortened_path  # noqa: F401 (printable is for others)
from clustersim.version import __version__

Status = int | str | None  # as sys.exit() takes it
Refusals = type[Exception] | tuple[type[Exception], ...]
ONE_WISH_S = 1  # timeout(1) signals a process and then its group: one wish comes as several signals


def name() -> str:
    """@return what the command was called by"""
    return os.path.basename(sys.argv[0])


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """--help with the value of a flag behind the last of its names, not behind each."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        text = super()._format_action_invocation(action)
        if not action.option_strings or action.nargs == 0:
            return text
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


class Parser(argparse.ArgumentParser):
    """Flags of a command. A wrong one is a line like every mistake, and numbers are finite.

    @raise InputError where argparse would print the usage and exit"""

    def __init__(self, *arguments: typing.Any, **named: typing.Any) -> None:
        super().__init__(*arguments, **named)
        self.register("type", float, _finite)

    def error(self, message: str) -> typing.NoReturn:
        raise InputError(message if "; expected " in message else f"{message}; expected the flags of --help")

    def parse_args(self, args: Sequence[str] | None = None,  # type: ignore[override]
                   namespace: None = None) -> argparse.Namespace:
        given, more = self.parse_known_args(args, namespace)
        for word in more:
            flag = word.partition("=")[0]
            kind = "flag" if flag.startswith("-") else "word of these flags"
            raise InputError(f'"{flag}" is not a {kind}; expected the flags of '
                             f'--help{nearest(flag, self._option_string_actions)}')
        return given

    def _check_value(self, action: argparse.Action, value: typing.Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            flag = action.option_strings[0] if action.option_strings else action.metavar or action.dest
            raise InputError(f'{flag} is "{value}"; expected {", ".join(names)}{nearest(value, names)}')


def tell_idle(parser: argparse.ArgumentParser, given: argparse.Namespace,
              rules: Iterable[tuple[bool, str, Iterable[str]]]) -> None:
    """Warns of flags that change nothing.
    @param parser argparse's @param given what it has read
    @param rules of each: whether the flags have an effect, why they have none, and their names in `given`"""
    for has_effect, why, names in rules:
        for dest in names:
            if not has_effect and getattr(given, dest) != parser.get_default(dest):
                flag = next(action.option_strings[0] for action in parser._actions if action.dest == dest)
                notices.warn(f"{flag} has no effect: {why}", parser.prog)


def tell_repetitions(parser: argparse.ArgumentParser, words: Sequence[object]) -> None:
    """Warns of values that a later one replaces, by whichever name of the flag.
    @param parser argparse's @param words of the command line"""
    names: dict[str, str] = {}
    for word in words:
        flag = str(word).partition("=")[0]
        action = parser._option_string_actions.get(flag)
        if action is None and flag.startswith(
            "-"
        ):  # first letters of a flag, or a short flag and its value in one word
            meant = {id(option[0]): option[0] for option in parser._get_option_tuples(str(word))}
            action = next(iter(meant.values())) if len(meant) == 1 else None
        if action is None or action.nargs == 0 or isinstance(action, argparse._AppendAction):
            continue
        if action.dest in names:
            notices.warn(f"{flag} replaces the {names[action.dest]} before it", parser.prog)
        names[action.dest] = flag


class _Terminated(BaseException):
    pass


class _EndingSignals:
    """Raises what ends the program at the first signal, and again at one that comes later than the same wish's."""

    def __init__(self) -> None:
        self.first: float | None = None

    def __call__(self, number: int, frame: types.FrameType | None) -> None:
        now = time.monotonic()
        if self.first is not None and now - self.first < ONE_WISH_S:
            return
        self.first = self.first or now
        raise KeyboardInterrupt() if number == signal.SIGINT else _Terminated(number)


def _catch_ending_signals() -> None:
    end = _EndingSignals()
    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup's
        return
    # A closed terminal is none any more for who asks then; to write there would fail.
    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]

    def leave_terminal(number: int, frame: types.FrameType | None) -> None:
        for terminal in terminals:
            os.dup2(os.open(os.devnull, os.O_WRONLY), terminal)
        end(number, frame)

    signal.signal(signal.SIGHUP, leave_terminal)


def _open_closed_streams() -> None:
    """A file that is opened must not become standard output because the caller closed that; writing there fails."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)


def run(name: str, main: Callable[[list[str]], int | None], refusals: Refusals = (),
        after_interruption: str = "") -> typing.NoReturn:
    """Calls main(arguments) and ends the program with what it returns.

    --version alone is answered here. 2: a file cannot be read, or it or standard output not be written; 1: memory has
    run out; 129, 130 and 143: SIGHUP, SIGINT and SIGTERM.

    @param refusals exceptions whose text is the line for people; they end the program with 2
    @param after_interruption what to say to who interrupts it, besides that
    """
    _open_closed_streams()
    sys.stdout, sys.stderr = typing.cast(typing.TextIO, _Output(sys.stdout)), typing.cast(typing.TextIO,
        Messages(sys.stderr))
    _catch_ending_signals()
    sys.exit(_status_with_output(name, _status_of(name, main, refusals,
                                                  f"; {after_interruption}" if after_interruption else "")))


def _status_of(name: str, main: Callable[[list[str]], int | None], refusals: Refusals, hint: str) -> Status:
    refused: tuple[type[Exception], ...] = (InputError, *(refusals if isinstance(refusals, tuple) else (refusals,)))
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"{name} {__version__}")
            return 0
        return main(sys.argv[1:])
    except SystemExit as ended:  # argparse's, also after --help
        return ended.code
    except KeyboardInterrupt:
        return _say(name, f"interrupted{hint}", 130)
    except _Terminated as terminated:
        (number,) = terminated.args
        return _say(name, f"{'terminal closed' if number == signal.SIGHUP else 'terminated'}{hint}", 128 + number)
    except BrokenPipeError:  # whoever read the output has had enough of it
        return 141
    except OSError as error:
        if error is getattr(sys.stdout, "lost", None):
            return 0  # _status_with_output() says so
        place = f"{shortened_path(error.filename)}: " if error.filename else ""
        text = f"{place}{error.strerror or error}"
        expected = "" if "; expected " in text else "; expected a file that can be read or written"
        return _say(name, f"{text}{expected}", 2)
    except refused as error:
        return _say(name, error, 2)
    except MemoryError:
        return _say(name, "out of memory", 1)
    except RecursionError:
        return _say(name, "an input is nested too deeply; expected a hundred levels at most", 2)


class _Output:
    """Standard output that knows whether some of it was lost, which argparse may not tell."""

    def __init__(self, stream: typing.TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        return self._noting(self._stream.write, text)

    def flush(self) -> None:
        return self._noting(self._stream.flush)

    def _noting(self, act: Callable[..., typing.Any], *arguments: typing.Any) -> typing.Any:
        try:
            return act(*arguments)
        except OSError as error:
            self.lost = self.lost or error
            raise

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._stream, name)


def _status_with_output(name: str, status: Status) -> Status:
    """Output that is cut off must not count as whole. @param status of the script @return that of the program"""
    late: OSError | None = None
    try:
        sys.stdout.flush()
        os.close(os.dup(sys.stdout.fileno()))  # a network's file system tells of a full disk only now
    except io.UnsupportedOperation:
        pass  # a stream without a file, of a program that calls this one
    except OSError as error:
        late = error
    lost = getattr(sys.stdout, "lost", None) or late
    if lost is None:
        return status
    os.dup2(os.open(os.devnull, os.O_WRONLY),
            sys.stdout.fileno())  # the rest of it would fail once more at the interpreter's end
    if status:
        return status
    if isinstance(lost, BrokenPipeError):
        return 141
    return _say(name, f"standard output: cannot be written: {lost.strerror}; expected a file or a pipe that takes all "
                f"of it", 2)


def _say(name: str, text: object, status: int) -> int:
    print(f"{name}: {text}", file=sys.stderr)
    return status
