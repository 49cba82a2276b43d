"""Puts the built site beside the sites of other versions, on a branch that a host of pages serves.

`python docs/publish_site.py origin gh-pages` runs after `make site`. Pages of other versions stay as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from build_site import ROOT, SITE, list_versions


def publish(repository: Path, site: Path, remote: str, branch: str) -> str:
    """Push a commit whose tree holds the site in a folder of its name, and return the commit.

    The commit stands on those of the branch, or is its first. Neither the work tree nor the index of the repository
    changes. Raises CalledProcessError, for example if someone else pushed meanwhile.
    """
    with tempfile.TemporaryDirectory() as folder:
        sites = Path(folder, "sites")
        sites.mkdir()
        environment = {**os.environ, "GIT_INDEX_FILE": str(Path(folder, "index"))}

        def git(*arguments: str) -> str:
            command = ["git", f"--git-dir={_find_folder(repository)}", f"--work-tree={sites}", *arguments]
            done = subprocess.run(command, cwd=sites, env=environment, check=True, stdout=subprocess.PIPE, text=True)
            return done.stdout.strip()

        parents = []
        if git("ls-remote", "--heads", remote, f"refs/heads/{branch}"):
            git("fetch", "--quiet", "--depth=1", remote, f"refs/heads/{branch}")
            parents = ["-p", git("rev-parse", "FETCH_HEAD")]
            git("read-tree", "FETCH_HEAD")
            git("checkout-index", "--all")
        shutil.rmtree(sites / site.name, ignore_errors=True)
        shutil.copytree(site, sites / site.name)
        (sites / ".nojekyll").touch()  # the host serves every file as it is, also one whose name begins with _
        list_versions(sites)
        git("add", "--all", "--force", ".")
        author = ("-c", "user.name=fairtrial", "-c", "user.email=fairtrial@localhost")
        commit = git(*author, "commit-tree", git("write-tree"), *parents, "-m", f"Site of version {site.name}")
        git("push", "--quiet", remote, f"{commit}:refs/heads/{branch}")
    return commit


def _find_folder(repository: Path) -> str:
    command = ["git", "rev-parse", "--absolute-git-dir"]
    return subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    _, own_remote, own_branch = sys.argv
    if not (SITE / "index.html").is_file():
        sys.exit(f"{SITE} holds no site; run make site")
    print(publish(ROOT, SITE, own_remote, own_branch))  # noqa: T201
