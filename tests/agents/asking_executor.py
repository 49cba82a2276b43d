"""An executor of Agent Framework that asks the user. The framework reads its annotations, so that they are no texts."""

from agent_framework import Executor, WorkflowContext, handler, response_handler


class Asking(Executor):  # type: ignore[misc, unused-ignore]
    """Asks for a size."""

    @handler  # type: ignore[untyped-decorator, unused-ignore]
    async def begin(self, message: str, ctx: WorkflowContext[str, str]) -> None:  # noqa: ARG002
        """Ask."""
        await ctx.request_info("Which size?", str)

    @response_handler  # type: ignore[untyped-decorator, unused-ignore]
    async def end(self, question: str, answer: str, ctx: WorkflowContext[str, str]) -> None:  # noqa: ARG002
        """Give the result."""
        await ctx.yield_output(f"A {answer} one.")


class Counting(Executor):  # type: ignore[misc, unused-ignore]
    """Asks for a number."""

    @handler  # type: ignore[untyped-decorator, unused-ignore]
    async def begin(self, message: str, ctx: WorkflowContext[str, str]) -> None:  # noqa: ARG002
        """Ask."""
        await ctx.request_info("How many?", int)

    @response_handler  # type: ignore[untyped-decorator, unused-ignore]
    async def end(self, question: str, answer: int, ctx: WorkflowContext[str, str]) -> None:  # noqa: ARG002
        """Give the result."""
        await ctx.yield_output(f"{answer + 1}.")
