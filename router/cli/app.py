"""The commands, put together."""

from __future__ import annotations

import typer

from router.cli import call, check, logs, status, tool, up

app = typer.Typer(
    name="wuu-mesh",
    help="An agent host taken apart into replaceable providers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 the mesh answered with an error, 2 usage or a bad file, 3 no mesh runs.",
)
app.command("up")(up.up)
app.command("down")(up.down)
app.command("status")(status.status)
app.command("check")(check.check)
app.command("call")(call.call)
app.add_typer(tool.app, name="tool")
app.command("logs")(logs.logs)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        from importlib.metadata import version as of

        typer.echo(of("wuu-mesh"))
        raise typer.Exit
