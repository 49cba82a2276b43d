"""The viewer answers the browser of its user only, whatever other pages and programs send."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

import pytest

from fairtrial.errors import UsageError
from fairtrial.store import Store
from fairtrial.view.viewer_server import ViewerOptions
from viewers import FIRST, Site, two_runs, viewing

PATHS = ["/", "/api/runs", f"/api/runs/{FIRST}", f"/download/{FIRST}/json"]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with two runs."""
    return two_runs(tmp_path_factory.mktemp("store"), cases=6)


@pytest.fixture(scope="module")
def site(url: str) -> Iterator[Site]:
    """A viewer into which the browser of the user has signed in."""
    with viewing(url) as own:
        own.sign_in()
        yield own


def test_the_token_becomes_a_cookie_of_this_process(site: Site) -> None:
    """The token leaves the address, and scripts cannot read the cookie."""
    answer = site.request("GET", f"/?token={site.token}", {"Cookie": None})
    assert (answer.status, answer.headers["location"], answer.body) == (303, "/", b"")
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(rf"fairtrial-{site.port}=[\w-]{{40,}}; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert site.token not in cookie


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cookie", [None, "", "fairtrial=x", "fairtrial-{port}=x", "\x01=;;;,"])
def test_nothing_is_shown_without_the_cookie(site: Site, path: str, cookie: str | None) -> None:
    """Without a cookie, with one of another process, and with one that is no cookie."""
    answer = site.request("GET", path, {"Cookie": cookie and cookie.format(port=site.port)})
    assert answer.status == 403
    assert FIRST.encode() not in answer.body


@pytest.mark.parametrize("token", ["", "x", "%00", "ü"])
def test_a_wrong_token_gives_no_cookie(site: Site, token: str) -> None:
    """For example that of an earlier process."""
    answer = site.request("GET", f"/?token={quote(token, safe='%')}")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", [*PATHS, "/?token={token}"])
@pytest.mark.parametrize(
    "host", [None, "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}"]
)
def test_another_host_is_refused(site: Site, path: str, host: str | None) -> None:
    """A name that resolves to this machine is an attack (DNS rebinding), also if it knows the token."""
    given = host and host.format(port=site.port)
    answer = site.request("GET", path.format(token=site.token), {"Host": given})
    # A request without Host is no HTTP/1.1 at all.
    assert answer.status == (421 if host else 400)
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_names_of_this_machine_are_answered(site: Site, name: str) -> None:
    """In any case of letters."""
    assert site.request("GET", "/api/runs", {"Host": f"{name.upper()}:{site.port}"}).status == 200


@pytest.mark.parametrize("site_of_page", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", PATHS[1:])
def test_a_page_of_another_site_cannot_even_read(site: Site, path: str, site_of_page: str) -> None:
    """Another port of this machine is the same site, and another origin."""
    assert site.request("GET", path, {"Sec-Fetch-Site": site_of_page}).status == 403


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "HACK"])
def test_other_methods_are_refused(site: Site, method: str) -> None:
    """There is no answer to a preflight request, so that no other page may ask."""
    answer = site.request(method, "/api/runs")
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"X-Fairtrial-Token": None}, 403),
        ({"X-Fairtrial-Token": "old"}, 403),
        ({"X-Fairtrial-Token": "{token}"}, 403),
        ({"Cookie": None}, 403),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": None}, 415),
        ({"Content-Length": "1048577"}, 413),
        ({"Content-Length": "many"}, 400),
        ({"Host": "evil.example:{port}"}, 421),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_request_that_writes_must_come_from_our_page(
    site: Site, url: str, method: str, headers: dict[str, str | None], status: int
) -> None:
    """Each check by itself refuses it, and nothing is written."""
    before = stored_labels(url)
    own = {name: value and value.format(port=site.port, token=site.token) for name, value in headers.items()}
    assert site.request(method, "/api/labels", own, b"{}").status == status
    assert stored_labels(url) == before


def test_a_body_without_a_length_is_counted(site: Site, url: str) -> None:
    """A body in chunks is refused as soon as it is too long."""
    chunk = b"%x\r\n%s\r\n" % (1 << 19, b"x" * (1 << 19))
    before = stored_labels(url)
    answer = site.request("POST", "/api/labels", {"Transfer-Encoding": "chunked"}, 3 * chunk + b"0\r\n\r\n")
    assert answer.status == 413
    assert stored_labels(url) == before


def stored_labels(url: str) -> int:
    """The number of labels of a run."""
    with closing(Store(url, create=False)) as store:
        return len(store.labels(FIRST))


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/api/runs/..%2f..%2fetc%2fpasswd",
        "/api/runs/%00",
        "/api/runs/' OR 1=1 --",
        "/api/runs/%25",
        "/api/runs/_",
        f"/download/{FIRST}/..%2f..%2fjson",
        f"/download/{FIRST}/../../etc/passwd",
        "/download/../json",
        f"/api/runs/{FIRST}/cases/-1/1",
        f"/api/runs/{FIRST}/cases/0/99",
        f"/api/runs/{FIRST}/cases/99999999999999999999999/1",
    ],
)
def test_a_path_that_names_nothing_finds_nothing(site: Site, path: str) -> None:
    """Ids are looked up, and never become a path or a part of SQL."""
    answer = site.request("GET", path.replace(" ", "%20"))
    assert answer.status == 404
    assert b"root:" not in answer.body


def test_every_answer_protects_the_page(site: Site) -> None:
    """A browser may neither guess types, nor frame, nor keep, nor send on."""
    for answer in (site.request("GET", "/"), site.request("GET", "/api/runs"), site.request("GET", "/", {"Host": "x"})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"} < set(
            policy
        )
        assert not [part for part in policy if "unsafe" in part]
        assert "server" not in answer.headers


def test_another_address_needs_a_token() -> None:
    """Others can reach it."""
    with pytest.raises(UsageError, match="needs --token"):
        ViewerOptions(host="192.0.2.1")
    with pytest.raises(UsageError, match="name the address that browsers use"):
        ViewerOptions(host="0.0.0.0", token="secret")  # noqa: S104, S106
    assert ViewerOptions(host="192.0.2.1", token="secret").host == "192.0.2.1"  # noqa: S106


def test_a_host_of_this_machine_is_the_only_one_that_is_answered(url: str) -> None:
    """With `--host` no other name is answered, and the token is the given one."""
    with viewing(url, host="127.0.0.1", token="mine") as own:  # noqa: S106
        assert own.token == "mine"  # noqa: S105
        own.sign_in()
        assert own.request("GET", "/api/runs").status == 200
        assert own.request("GET", "/api/runs", {"Host": f"localhost:{own.port}"}).status == 421


def test_a_port_that_is_taken_is_named(url: str, site: Site) -> None:
    """The user can choose another port."""
    with pytest.raises(UsageError, match=f"--port: cannot listen at 127.0.0.1:{site.port}: .*; choose another port"):
        viewing(url, port=site.port).__enter__()
