"""`python -m fairtrial`: the command `fairtrial`."""

from fairtrial.cli import command

command()
