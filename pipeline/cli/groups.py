"""Groups of commands."""

from __future__ import annotations

import click

from pipeline.game.spelling import closest


class Group(click.Group):
    """A group that suggests the nearest command for a misspelled one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Fail on an unknown command with the nearest one that exists."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'{closest(args[0], known) or '; they are: ' + ', '.join(known)}")
        return super().resolve_command(ctx, args)
