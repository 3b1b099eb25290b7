"""`wuu-mesh tool`."""

from __future__ import annotations

import os
import secrets
from typing import Annotated, Any

import msgspec
import typer

from contract.context import MODULE_KEY, SERVICE_KEY
from contract.errors import MeshError
from contract.transcoder import Rejected, check_json, to_json
from router.cli.session import Session
from router.cli.terminal import (
    EXIT_ERROR,
    HomeOption,
    JsonOption,
    console,
    emit,
    emit_json,
    explained,
    read_argument,
    table,
)
from wuu.mesh.v1.contributions_pb2 import ExecuteToolRequest, ExecuteToolResponse
from wuu.mesh.v1.control_pb2 import ListToolsRequest, ListToolsResponse
from wuu.mesh.v1.json_pb2 import Json

app = typer.Typer(help="List and run the tools that modules contribute.", no_args_is_help=True)

_EXECUTE = "/wuu.mesh.v1.Contributions/ExecuteTool"


@app.command("list")
def list_tools(home: HomeOption = None, json: JsonOption = False) -> None:
    """Show the tools of every active module."""
    with explained(), Session.of(home) as session:
        answer: ListToolsResponse = session.ask(session.control.ListTools, ListToolsRequest())
    if json:
        emit([{"module": row.module, **msgspec.json.decode(to_json(row.tool))} for row in answer.tools])
        return
    rows = table("tool", "description", "activity")
    for row in answer.tools:
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
    console().print(rows if answer.tools else "no module contributes a tool")


@app.command("run")
def run_tool(
    tool: Annotated[str, typer.Argument(metavar="MODULE/TOOL", help="As `tool list` shows it.")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON|-", help="The arguments; - reads standard input.")
    ],
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Run a tool and print its result. Exits with 1 when the tool says that it failed."""
    module, slash, tool_id = tool.partition("/")
    if not slash:
        raise typer.BadParameter(
            "write MODULE/TOOL, as `wuu-mesh tool list` shows it", param_hint="MODULE/TOOL"
        )
    text = read_argument(arguments)
    with explained(), Session.of(home) as session:
        try:
            check_json(text)
        except Rejected as rejected:
            raise MeshError("invalid_params", f"the arguments are not JSON: {rejected.rule}") from None
        request = ExecuteToolRequest(
            tool_id=tool_id,
            tool=tool,
            arguments=Json(utf8=text),
            call_id=f"operator-{secrets.token_hex(8)}",
            cwd=os.getcwd(),
        )
        metadata = ((SERVICE_KEY, "wuu.mesh.contributions@1"), (MODULE_KEY, module))
        response = ExecuteToolResponse.FromString(
            session.unary(_EXECUTE, request.SerializeToString(), metadata)
        )
    if json:
        emit_json(to_json(response))
    else:
        _show(response)
    if response.is_error:
        raise typer.Exit(EXIT_ERROR)


def _show(response: ExecuteToolResponse) -> None:
    parts: Any = msgspec.json.decode(response.content.utf8 or b"[]")
    for part in parts if isinstance(parts, list) else [parts]:
        if isinstance(part, dict) and part.get("type") == "text":
            typer.echo(part.get("text", ""))
        else:
            emit(part)
    if response.structured_content.utf8:
        emit_json(response.structured_content.utf8)
