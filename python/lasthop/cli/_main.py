"""The verbs together, and what holds for all of them: exit codes, one JSON object, no traceback."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from lasthop import LasthopError, __version__, _stop, _streams
from lasthop.cli import _output
from lasthop.cli._compare import compare
from lasthop.cli._describe import describe
from lasthop.cli._explain import explain
from lasthop.cli._export import export, ss
from lasthop.cli._judge import judge
from lasthop.cli._linux import linux
from lasthop.cli._live import live
from lasthop.cli._packetdrill import packetdrill
from lasthop.cli._report import report
from lasthop.cli._results import results
from lasthop.cli._run import run, validate
from lasthop.cli._scenarios import scenarios
from lasthop.cli._shell import completion, man
from lasthop.cli._study import study
from lasthop.cli._survey import rem, survey
from lasthop.cli._sweep import sweep
from lasthop.cli._timeline import timeline
from lasthop.cli._trace import export_trace, import_trace
from lasthop.cli._view import view
from lasthop.cli._wireshark import wireshark_profile

OK, INPUT, USAGE, INTERNAL, SIGNAL = 0, 1, 2, 3, 128

_ISSUE = "This is a bug in Lasthop. Please report it with the lines above and the scenario."


class Lasthop(click.Group):
    """A group of verbs that turns every way to end into an exit code and a message."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Runs a command line and exits."""
        words = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        as_json = "--json" in words
        # Its news (a font cache is built, a folder is temporary) would look like ours.
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        try:
            try:
                code = super().main(words, *rest, **extra)
            except click.exceptions.NoArgsIsHelpError as err:
                click.echo(err.format_message())
                code = OK
            if sys.stdout is not None:
                sys.stdout.flush()
        except click.UsageError as err:
            hint = f"\nTry '{err.ctx.command_path} --help'." if err.ctx else ""
            _fail(as_json, USAGE, "usage", err.format_message(), hint)
        except click.ClickException as err:
            _fail(as_json, INPUT, "input", err.format_message())
        except (KeyboardInterrupt, click.Abort) as err:
            _fail_stopped(as_json, err)
        except LasthopError as err:
            _fail_input(as_json, err)
        except UnicodeEncodeError as err:
            message = f"a text is not valid UTF-8: {err.object[max(err.start - 20, 0) : err.end + 20]!a}"
            _fail(as_json, INPUT, "input", message, "\n  help: write it in UTF-8")
        except OSError as err:
            _fail(as_json, INPUT, "input", f"{err.filename or 'file'}: {err.strerror or err}")
        except Exception as err:
            traceback.print_exc()
            _fail(as_json, INTERNAL, "internal", f"{type(err).__name__}: {err}", f"\n{_ISSUE}")
        sys.exit(code if isinstance(code, int) else OK)


def _fail_stopped(as_json: bool, err: BaseException) -> NoReturn:
    number = _stop.number_of(err)
    _fail(as_json, SIGNAL + number, "interrupted", _stop.message(number, _stop.left_by(err)))


def _fail_input(as_json: bool, err: LasthopError) -> NoReturn:
    found = getattr(err, "diagnostics", [])
    if as_json and found:
        first = "; ".join(d["message"] for d in found)
        _fail(as_json, INPUT, "input", first, rendered=str(err), diagnostics=found)
    _fail(as_json, INPUT, "input", str(err))


def _fail(as_json: bool, code: int, kind: str, message: str, hint: str = "", **more: Any) -> NoReturn:
    shown = as_json and not _streams.cut_off()
    # Where standard output takes nothing, the message goes to standard error, and the code counts.
    with suppress(OSError):
        if shown:
            _output.json_object({"error": {"kind": kind, "message": message, **more}})
        if sys.stdout is not None:
            sys.stdout.flush()
    if not shown or _streams.cut_off():
        text = message if message.startswith(("error", "warning")) else f"error: {message}"
        click.echo(text + hint, err=True)
    sys.exit(code)


@click.group(
    cls=Lasthop,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit codes:
  0    done
  1    a mistake in an input (scenario, trace, folder); the message says where
  2    a mistake in the command line
  3    an internal error of Lasthop
  4    judge --gate: a case has failed; live: events later than --late-limit
  130  stopped with Ctrl-C (129: by SIGHUP, 143: by SIGTERM)

With --json a verb prints exactly one JSON object on standard output, an
{"error": ...} when it fails. NO_COLOR=1 turns colours off.
""",
)
@click.version_option(__version__, "-V", "--version", package_name="lasthop", message="lasthop %(version)s")
def main() -> None:
    """Simulate transport protocols over the radio last hop.

    The input is a scenario file, the result a folder of tables. The same scenario and seed give the
    same bytes.

    \b
    To start:
      lasthop scenarios list          what comes with Lasthop
      lasthop run umts-download       run one of them
      lasthop report results/...      look at what happened
    """


_VERBS = (
    *(run, live, linux, sweep, validate, describe, report, results, compare, explain, timeline, view, export, ss),
    *(study, judge, scenarios),
)

for _verb in (*_VERBS, import_trace, export_trace, packetdrill, survey, rem, wireshark_profile, completion, man):
    main.add_command(_verb)
