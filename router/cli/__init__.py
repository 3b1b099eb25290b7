"""`wuu-mesh`: a thin client of the control API."""


def main() -> None:
    """The console command."""
    try:
        from router.cli.app import app

        app()
    except KeyboardInterrupt:
        # Before a command runs; a command has its own word for it.
        raise SystemExit(130) from None
