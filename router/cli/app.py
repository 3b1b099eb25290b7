"""The commands as they are typed: names, arguments, help. What a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from router.cli import complete
from router.cli.composition.commands import composition
from router.cli.graph.form import Form
from router.cli.options import (
    CompositionOption,
    FileArgument,
    HomeOption,
    JsonOption,
    ModuleArgument,
    PictureOption,
    ServiceArgument,
    StartOption,
    TimeoutOption,
    refuse_arguments,
)
from router.cli.plugin.commands import plugin

_SETTINGS = {"help_option_names": ["--help", "-h"]}
_REFUSING = {"allow_extra_args": True}
"""For commands that say themselves what is wrong with an argument."""

app = typer.Typer(
    name="wuu-mesh",
    help="An agent host taken apart into replaceable providers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Boxes would fold on a narrow terminal, and cost more time than the rest of `--help`.
    rich_markup_mode=None,
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 done, 1 the mesh answered with an error, 2 usage or a bad file, 3 no mesh runs.",
)
_tool = typer.Typer(help="List and run the tools that modules contribute.", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from router.cli.version import print_version

        print_version()
        raise typer.Exit


@app.command(context_settings=_REFUSING)
def up(
    context: typer.Context,
    composition: StartOption = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return once the mesh is up; it runs on.")] = False,
    home: HomeOption = None,
) -> None:
    """Start the mesh: the router and every module of the composition.

    Stays in the foreground; Ctrl-C stops the mesh, a second one ends it at once.
    """
    refuse_arguments(context, composition)
    from router.cli.up import start

    start(home, composition, detach=detach)


@app.command()
def down(home: HomeOption = None) -> None:
    """Stop the mesh: consumers before their providers."""
    from router.cli.down import stop

    stop(home)


@app.command()
def status(home: HomeOption = None, json: JsonOption = False) -> None:
    """Show the generation, every module and every service."""
    from router.cli.status import show

    show(home, json=json)


@app.command(context_settings=_REFUSING)
def check(
    context: typer.Context,
    composition: CompositionOption = None,
    start: Annotated[
        bool,
        typer.Option(
            "--start", help="Start the packages and ask them what they declare. Nothing is activated."
        ),
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Resolve a composition and explain it, without starting the mesh.

    Exits with 2 when the document is rejected, 1 when a module would be blocked, 0 otherwise.
    """
    refuse_arguments(context, composition)
    from router.cli.check import explain

    explain(home, composition, start=start, json=json)


@app.command()
def explain(
    service: ServiceArgument,
    consumer: Annotated[
        str,
        typer.Option(
            "--consumer",
            metavar="MODULE",
            help="Who serves it to this module.",
            autocompletion=complete.modules,
            show_default=False,
        ),
    ] = "",
    composition: PictureOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Say who serves a service, which file and line chose it, and what it overrode.

    For a service that nobody serves: what would provide it.

    Exits with 1 where nobody serves it, 0 otherwise.
    """
    from router.cli.explain import explain

    explain(home, service, consumer, composition, json=json)


@app.command()
def graph(
    form: Annotated[
        Form,
        typer.Option("--format", help="A tree for people, or a drawing.", show_default=True),
    ] = Form.TEXT,
    composition: PictureOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Draw the modules, the services and who gets them of whom, with the state of each.

    The tree names what chose each provider. Drawings go to standard output: --format svg > mesh.svg
    """
    from router.cli.graph.draw import draw

    draw(home, composition, form, json=json)


@app.command()
def apply(
    composition: FileArgument = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would become of it. New modules are started and asked, no more."
        ),
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Make a composition the one that runs.

    Calls in flight end where they began.

    Exits with 2 when it is rejected, 1 when it is dropped or degraded, 0 otherwise.
    """
    from router.cli.apply import apply

    apply(home, composition, dry_run=dry_run, json=json)


@app.command()
def reload(
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE",
            help="The module; every module without one.",
            autocompletion=complete.modules,
            show_default=False,
        ),
    ] = "",
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Start modules anew, with what depends on them.

    Their packages are read again, and what failed is tried again.
    """
    from router.cli.reload import reload

    reload(home, module, json=json)


@app.command()
def enable(module: ModuleArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Enable a module of the running composition."""
    from router.cli.switch import switch

    switch(home, module, enabled=True, json=json)


@app.command()
def disable(module: ModuleArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Disable a module of the running composition.

    Its calls are cancelled at once, in every generation; who requires it becomes inactive.
    """
    from router.cli.switch import switch

    switch(home, module, enabled=False, json=json)


@app.command()
def rollback(home: HomeOption = None, json: JsonOption = False) -> None:
    """Go back to the composition before, as a new generation."""
    from router.cli.rollback import rollback

    rollback(home, json=json)


@app.command()
def generations(
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Show the newest N, at most 1000.")
    ] = 20,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show the generations, the newest first.

    What they were built for, what keeps them, and what did not end well in them.
    """
    from router.cli.generations import show

    show(home, limit, json=json)


@app.command()
def executions(
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on as they change, until Ctrl-C or the mesh's end.")
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show the calls that live now, in every generation."""
    from router.cli.executions import show

    show(home, watch=watch, json=json)


@app.command()
def cancel(
    execution: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The execution, as `executions` shows it.",
            autocompletion=complete.executions,
        ),
    ],
    home: HomeOption = None,
) -> None:
    """Cancel an execution and all that it called."""
    from router.cli.cancel import cancel

    cancel(home, execution)


@app.command()
def events(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as they happen, until Ctrl-C or the mesh's end.")
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Print what happened, in order."""
    from router.cli.events import print_events

    print_events(home, follow=follow, json=json)


@app.command()
def call(
    service: ServiceArgument,
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            help="The method, as the contract spells it: read, claim-namespaces.",
            autocompletion=complete.methods,
        ),
    ],
    params: Annotated[
        str, typer.Argument(metavar="JSON|-", help="The input; - reads standard input.", show_default=False)
    ] = "",
    as_module: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="MODULE",
            help="Use the bindings of this module. The call stays the operator's.",
            autocompletion=complete.modules,
            show_default=False,
        ),
    ] = "",
    timeout: TimeoutOption = None,
    home: HomeOption = None,
) -> None:
    """Call a method of a service and print its result as JSON.

    For example: wuu-mesh call state.documents read '{"namespace": "notes"}'
    """
    from router.cli.call import print_result

    print_result(home, service, method, params, as_module, timeout)


@app.command()
def logs(
    module: Annotated[
        str,
        typer.Argument(
            metavar="MODULE",
            help="The module; the router's own log without one.",
            autocompletion=complete.modules,
            show_default=False,
        ),
    ] = "",
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as the log grows, until Ctrl-C or the mesh's end.")
    ] = False,
    home: HomeOption = None,
) -> None:
    """Print the end of the log of a module's newest instance."""
    from router.cli.logs import print_log

    print_log(home, module, follow=follow)


@_tool.command("list")
def list_tools(home: HomeOption = None, json: JsonOption = False) -> None:
    """Show the tools of every active module."""
    from router.cli.tool import show

    show(home, json=json)


@_tool.command("run")
def run_tool(
    tool: Annotated[
        str,
        typer.Argument(
            metavar="MODULE/TOOL", help="The tool, as `tool list` shows it.", autocompletion=complete.tools
        ),
    ],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON|-", help="The arguments; - reads standard input.")
    ] = "{}",
    timeout: TimeoutOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Run a tool and print its result.

    Exits with 1 when the tool says that it failed.
    """
    from router.cli.tool import run

    run(home, tool, arguments, timeout, json=json)


app.add_typer(composition, name="composition")
app.add_typer(_tool, name="tool")
app.add_typer(plugin, name="plugin")
