"""The command `fairtrial`, which is also `python -m fairtrial`."""

from fairtrial.system.lasting_imports import import_lastingly


def command() -> None:
    """Run the command line as a process of its own."""
    import_lastingly("fairtrial.cli").command()


if __name__ == "__main__":
    command()
