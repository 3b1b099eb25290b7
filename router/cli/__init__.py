"""`wuu-mesh`: a thin client of the control API."""


def main() -> None:
    """The console command."""
    from router.cli.app import app

    app()
