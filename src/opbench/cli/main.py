"""The `opbench` command: finds the verb, runs it, turns exceptions into messages and exit codes.

Exit codes: 0 fine; 1 cases failed; 2 wrong usage or a wrong document; 70 a bug in opbench;
130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from opbench import __version__
from opbench.cases.errors import OpbenchError, UsageError
from opbench.cases.suggest import nearest
from opbench.cli.parser import VERBS, Parser
from opbench.cli.screen import choose_color, prepare_streams, say, say_error

EXIT_FINE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
# What a disk says that takes no more; nothing that opbench could have known.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments[:1] or os.environ.get("OPBENCH_DEBUG", "") not in ("", "0")
    if arguments[:1] == ["--debug"]:
        del arguments[0]
    prepare_streams()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except OpbenchError as error:
        say_error(error)
        return EXIT_USAGE
    except BrokenPipeError:
        _leave_stdout()
        return EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        say("opbench: interrupted")
        return EXIT_INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            return _bug(error, arguments, debug)
        _leave_stdout()
        say(f"opbench: the output cannot be written: {error.strerror}")
        return EXIT_USAGE
    except Exception as error:
        return _bug(error, arguments, debug)


def _leave_stdout() -> None:
    # Python flushes stdout once more when it exits, and would complain then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception, arguments: Sequence[str], debug: bool) -> int:
    if debug:
        raise error
    say(f"opbench: this is a bug in opbench: {type(error).__name__}: {ascii(str(error))[1:-1][:300]}")
    say(f"opbench: please report it, with what this prints: opbench --debug {_quoted(arguments)}")
    return EXIT_BUG


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        if len(arguments) > 1 and arguments[0] == "help":
            return _dispatch([arguments[1], "--help"])
        print(_overview(), end="")
        return EXIT_FINE
    verb = arguments[0]
    if verb in ("--version", "-V"):
        print(f"opbench {__version__}")
        return EXIT_FINE
    if verb not in VERBS:
        what = "flag" if verb.startswith("-") else "command"
        near = nearest(verb, [*VERBS, "--help", "--version", "--debug"])
        hint = f"; did you mean {near}?" if near else f" (there are {', '.join(VERBS)})"
        raise UsageError(f"opbench has no {what} {verb!r}{hint}")
    module = importlib.import_module(f"opbench.cli.{verb}")
    parser = Parser(prog=f"opbench {verb}", description=module.__doc__)
    module.add_arguments(parser)
    try:
        parsed = parser.parse(arguments[1:])
    except SystemExit as ended:
        # argparse leaves this way after it has printed the help.
        return int(ended.code or 0)
    choose_color(parsed.color)
    code: int = module.run(parsed)
    return code


def _overview() -> str:
    parser = argparse.ArgumentParser(
        prog="opbench",
        usage="opbench COMMAND ...",
        description="Micro-benchmarks for deep-learning operators that you can believe.",
        epilog="Try: opbench run quick. More: opbench COMMAND --help",
        add_help=False,
    )
    verbs = parser.add_argument_group("commands")
    for verb, text in VERBS.items():
        verbs.add_argument(verb, help=text)
    other = parser.add_argument_group("anywhere")
    other.add_argument("-h", "--help", action="store_true", help="what there is to say")
    other.add_argument("--version", action="store_true", help="the version of opbench")
    other.add_argument("--debug", action="store_true", help="before the command: show tracebacks of bugs")
    return parser.format_help()


def _quoted(arguments: Sequence[str]) -> str:
    import shlex

    return ascii(shlex.join(arguments))[1:-1]
