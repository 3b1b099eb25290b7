"""Transition: what an operator changes in the running mesh, from its request to its outcome."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from google.protobuf.message import Message
from rich.text import Text

from contract.errors import CODES
from router.cli.answer import emit
from router.cli.composition.named import reject
from router.cli.difference import difference_json, print_difference, problem_json
from router.cli.exits import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_NO_MESH, NoMesh, explained, fail, say
from router.cli.happening import Happening, told
from router.cli.session import Session
from router.cli.terminal import console
from router.composition.rejected import Problem
from wuu.mesh.v1 import control_pb2


def carry_out(root: Path | None, rpc: str, request: Message, *, json: bool) -> None:
    """Asks the mesh of a home for a transition, tells how it goes, and ends as it ended.

    `rpc` is the method of `Control` that takes the request.
    """
    with explained():
        with Session.of(root) as session:
            transition = followed(session, rpc, request)
        if json:
            emit(transition_json(transition))
        conclude(transition, quiet=json)


def transition_json(transition: control_pb2.Transition) -> dict[str, Any]:
    """A transition as `--json` prints it."""
    generation = transition.generation
    return {
        "outcome": transition.outcome,
        "generation": {
            "id": generation.id,
            "state": generation.state,
            "diagnostics": list(generation.diagnostics),
        },
        "difference": difference_json(transition.difference),
        "problems": [problem_json(each) for each in transition.problems],
        "took_ms": transition.took_ms,
        "start_ms": transition.start_ms,
    }


def followed(session: Session, rpc: str, request: Message) -> control_pb2.Transition:
    """The transition once it is over; meanwhile, what happens is told."""
    happening, out = Happening(session), console(stderr=True)
    for _ in happening.past():
        pass  # Told when it happened.
    begun = session.begin(getattr(session.control, rpc), request)
    try:
        # A mesh that goes away is told by what was asked of it, which may have been answered before.
        with suppress(NoMesh), out.status(Text("the transition is on its way")):
            for events in happening.until(begun):
                for event in events:
                    out.print(told(event), soft_wrap=True)
        transition: control_pb2.Transition = begun.result().transition
    except KeyboardInterrupt:
        remedy = "`wuu-mesh events --follow` shows how, `wuu-mesh generations` what became of it."
        fail(EXIT_INTERRUPTED, "the transition goes on without this command", remedy)
    except NoMesh as gone:
        remedy = "Once it is started with `wuu-mesh up`, `wuu-mesh generations` says what was committed."
        fail(EXIT_NO_MESH, f"the mesh in {gone.home.root} went away before the transition was over", remedy)
    return transition


def conclude(transition: control_pb2.Transition, *, quiet: bool) -> None:
    """Ends the command as the transition ended; its result is printed, unless it is to be `quiet`."""
    if transition.outcome == "rejected":
        reject(Problem(each.where, each.message) for each in transition.problems)
    if transition.outcome == "dropped":
        _drop(transition)
    if not quiet:
        out = console()
        out.print(_heading(transition))
        if transition.outcome != "unchanged":
            print_difference(out, transition.difference)
    if transition.outcome == "committed" and transition.generation.state == "degraded":
        _degrade(transition.generation)


def _heading(transition: control_pb2.Transition) -> str:
    generation = f"generation {transition.generation.id} {transition.generation.state}"
    took = f"in {transition.took_ms} ms (every new instance had declared after {transition.start_ms} ms)"
    match transition.outcome:
        case "unchanged":
            return f"unchanged: nothing was to be done and nothing was started; {generation}"
        case "resolved":
            return f"resolved {took}: a dry run, nothing was changed; {generation}"
        case outcome:
            return f"{outcome} {took}: {generation}"


def _drop(transition: control_pb2.Transition) -> NoReturn:
    for each in transition.problems:
        code = CODES.get(each.code)
        remedy = code.remedy.replace("MODULE", each.where.removeprefix("module ")) if code else ""
        say(f"{each.where}: {each.code}: {each.message}", remedy)
    kept = f"generation {transition.generation.id} goes on as it was"
    fail(EXIT_ERROR, f"the candidate was dropped before its commit; {kept}")


def _degrade(generation: control_pb2.GenerationStatus) -> NoReturn:
    for diagnostic in generation.diagnostics:
        say(diagnostic)
    remedy = "Correct it and `wuu-mesh reload`, or go back with `wuu-mesh rollback`."
    fail(EXIT_ERROR, f"generation {generation.id} is committed and degraded", remedy)
