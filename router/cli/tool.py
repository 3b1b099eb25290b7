"""`wuu-mesh tool`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import msgspec
import typer

from contract.context import MODULE_KEY, SERVICE_KEY
from contract.declaration import TOOL_ID
from contract.errors import MeshError
from router.cli import reply
from router.cli.answer import emit, emit_json
from router.cli.argument import check_module, read_object
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail
from router.cli.session import Session
from router.composition.listed import listed
from router.composition.nearest import nearest
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.control_pb2 import ContributedTool
from wuu.mesh.v1.json_pb2 import Json


class _Text(msgspec.Struct, tag_field="type", tag="text"):
    """A part of a tool's content that is text; every other is printed as JSON."""

    text: str = ""


_PARTS = msgspec.json.Decoder(list[msgspec.Raw])
_TEXT = msgspec.json.Decoder(_Text)
_EXECUTE = "/wuu.mesh.v1.Contributions/ExecuteTool"


def show(root: Path | None, *, json: bool) -> None:
    """Prints the tools of every active module."""
    with explained(), Session.of(root) as session:
        tools = session.tools()
        if json:
            emit([{"module": row.module, **_declared(row)} for row in tools])
            return
    from router.cli.terminal import console, print_table, table

    rows = table("tool", "description", "activity")
    for row in tools:
        activity = row.tool.activity
        marks = [
            word
            for word, holds in (
                ("read-only", activity.read_only),
                ("concurrency-safe", activity.concurrency_safe),
                ("orchestrator", activity.orchestrator),
            )
            if holds
        ]
        rows.add_row(f"{row.module}/{row.tool.id}", row.tool.description.strip(), ", ".join(marks) or "–")
    out = console()
    if tools:
        print_table(out, rows)
    else:
        out.print("no module contributes a tool")


def run(root: Path | None, tool: str, arguments: str, timeout: float | None, *, json: bool) -> None:
    """Runs a tool and prints its result."""
    module, _, tool_id = tool.partition("/")
    if not module or not TOOL_ID.fullmatch(tool_id):
        fail(EXIT_USAGE, f"'{tool}' is not MODULE/TOOL", "`wuu-mesh tool list` shows what there is.")
    check_module(module)
    with explained():
        given = read_object(arguments)
        with Session.of(root, timeout) as session:
            _check_tool(session, module, tool_id)
            response = _execute(session, module, tool_id, given)
        # What cannot be read is no result, whoever wants it.
        whole = reply.as_json(response, module)
        if json:
            emit_json(whole)
        else:
            _print(response)
    if response.is_error:
        raise typer.Exit(EXIT_ERROR)


def _declared(row: ContributedTool) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(reply.as_json(row.tool, row.module), type=dict[str, msgspec.Raw])


def _check_tool(session: Session, module: str, tool_id: str) -> None:
    """Raises `method_not_found` for a tool that a module does not have.

    Why a module has none at all is admission's to say.
    """
    tools = [row.tool.id for row in session.tools() if row.module == module]
    if tools and tool_id not in tools:
        has = f"{nearest(tool_id, tools)}; it has {listed(tools, len(tools))}"
        raise MeshError(
            "method_not_found",
            f"{module} contributes no tool {tool_id}{has}",
            remedy="`wuu-mesh tool list` shows every tool.",
            outcome="not_dispatched",
        )


def _execute(session: Session, module: str, tool_id: str, arguments: bytes) -> ExecuteToolResponse:
    request = ExecuteToolRequest(
        tool_id=tool_id,
        tool=f"{module}/{tool_id}",
        arguments=Json(utf8=arguments),
        call_id=f"operator-{secrets.token_hex(8)}",
        cwd=os.getcwd(),
    )
    metadata = ((SERVICE_KEY, "wuu.mesh.contributions@1"), (MODULE_KEY, module))
    answer = session.unary(_EXECUTE, request.SerializeToString(), metadata)
    return reply.read(ExecuteToolResponse, answer, module)


def _print(response: ExecuteToolResponse) -> None:
    content = msgspec.Raw(response.content.utf8 or b"[]")
    # Part by part as it stands: JSON has numbers that Python has not.
    parts = _PARTS.decode(content) if bytes(content).lstrip().startswith(b"[") else [content]
    for part in parts:
        try:
            typer.echo(_TEXT.decode(part).text)
        except msgspec.ValidationError:
            emit(part)
    if response.structured_content.utf8:
        emit_json(response.structured_content.utf8)
