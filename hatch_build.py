"""Which links does the page of the package on an index have? A hook of hatchling, the build backend.

An index shows README.md without the files beside it, so that links to them must be absolute. The address of the
repository is the variable FAIRTRIAL_REPOSITORY, or else the remote `origin`. Without an address, the links become text.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\[([^]\[]+)\]\((?!\w+://|#)([^)]+)\)")
_REMOTE = re.compile(r"(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)([\w.-]+)[:/](.+?)(?:\.git)?/?")


class ReadmeHook(MetadataHookInterface):
    """Writes the readme and the URLs of the project."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the two fields that pyproject.toml calls dynamic."""
        root = Path(self.root)
        repository = _repository(root)
        readme = rendered((root / "README.md").read_text(encoding="utf-8"), repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
        metadata["urls"] = urls(repository)


def rendered(readme: str, repository: str) -> str:
    """Return a readme whose links to files lead to the repository, or are text if there is none."""
    target = rf"[\1]({repository}/blob/main/\2)" if repository else r"\1"
    return _RELATIVE_LINK.sub(target, readme)


def urls(repository: str) -> dict[str, str]:
    """Return the URLs that an index lists beside a package."""
    if not repository:
        return {}
    files = f"{repository}/blob/main"
    return {
        "Repository": repository,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def web_address(remote: str) -> str:
    """Return the web address of a remote, without credentials, or an empty text if it has none."""
    match = _REMOTE.fullmatch(remote.strip())
    return f"https://{match[1]}/{match[2]}" if match else ""


def _repository(root: Path) -> str:
    stated = os.environ.get("FAIRTRIAL_REPOSITORY", "").rstrip("/")
    if stated:
        return stated
    if (root / "PKG-INFO").exists():  # a source distribution: it holds what was known when it was made
        listed = email.message_from_string((root / "PKG-INFO").read_text(encoding="utf-8")).get_all("Project-URL", [])
        return next((line.partition(", ")[2] for line in listed if line.startswith("Repository,")), "")
    command = ["git", "-C", str(root), "remote", "get-url", "origin"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:  # git is not installed
        return ""
    return web_address(done.stdout) if (root / ".git").exists() else ""
