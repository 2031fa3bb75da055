"""The recipes of deploy/ run for real: a server behind nginx and behind Caddy, each speaking https, asked as a browser asks.

python tools/proxies.py [--nginx /usr/sbin/nginx] [--caddy /usr/bin/caddy]

Needs both programs and openssl (Debian: nginx-light, caddy, openssl). What is not there is said and skipped; nothing is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

HERE = Path(__file__).parent.parent
DATASET = """
[dataset]
format = 2
name = "hospital"
ledger = "hospital.ledger"
[privacy]
[budget]
epsilon = 5
[tables.admissions]
source = "hospital.csv"
size = 100
[tables.admissions.columns]
age = { type = "int", bounds = [0, 120] }
[server]
deadline_ms = 1000
"""


def free() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, **options: object) -> Iterator[None]:
    """A process until it is no longer needed; it listens before anybody asks."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        for _ in range(200):
            if process.poll() is not None:
                raise SystemExit(process.stderr.read())
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(20)


class Caller:
    """A browser of few words: https, one cookie, forms."""

    def __init__(self, port: int) -> None:
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE  # the certificate was made a moment ago
        self.port, self.trust, self.cookie = port, trust, ""

    def ask(self, method: str, path: str, **fields: str) -> tuple[int, dict[str, str], bytes]:
        line = http.client.HTTPSConnection("localhost", self.port, timeout=30, context=self.trust)
        head = {"Cookie": self.cookie, "Accept-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded"}
        line.request(method, path, urlencode(fields) if fields else None, head)
        answer = line.getresponse()
        body, headers = answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        if "set-cookie" in headers:
            self.cookie = headers["set-cookie"].partition(";")[0]
        line.close()
        return answer.status, headers, body


def walked(port: int, token: str) -> None:
    """From the door to an answer that is paid once, under the prefix all the way."""
    caller = Caller(port)
    status, head, _ = caller.ask("GET", "/sordino/ask?sql=x")
    assert (status, head["location"].split("?")[0]) == (303, "/sordino/login"), (status, head)
    assert "max-age" in head["strict-transport-security"]
    status, head, _ = caller.ask("POST", "/sordino/login", token=token)
    assert (status, head["location"]) == (303, "/sordino/datasets"), (status, head)
    assert caller.cookie.startswith("__Host-"), "browsers keep it only where it came by https"
    status, head, body = caller.ask("GET", "/sordino/ask?" + urlencode({"sql": "SELECT COUNT(*) AS n FROM admissions", "within": "20"}))
    assert status == 200
    assert "content-encoding" not in head, "a page holds a secret beside text that others may choose"
    assert b'href="/sordino/static/look.css"' in body
    assert b'action="/sordino/pay"' in body
    status, head, _ = caller.ask("GET", "/sordino/static/look.css")
    assert (status, head.get("content-encoding")) == (200, "gzip"), head
    form = re.search(r'action="/sordino/pay".*?</form>', body.decode(), re.DOTALL)
    assert form
    said = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
    paid = [caller.ask("POST", "/sordino/pay", **said) for _ in range(2)]
    assert paid[0][0] == 303, paid
    assert paid[0][1]["location"].startswith("/sordino/releases/")
    assert paid[0][1]["location"] == paid[1][1]["location"], "sent twice, paid once"
    status, _, body = caller.ask("GET", paid[0][1]["location"])
    assert (status, b"Claim card" in body) == (200, True)


def nginx_file(folder: Path, port: int, behind: int) -> Path:
    recipe = (HERE / "deploy" / "nginx.conf").read_text(encoding="utf-8").replace("127.0.0.1:8765", f"127.0.0.1:{behind}")
    places = "".join(f"{word}_temp_path {folder}/{word};" for word in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    site = f"listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/site.pem; ssl_certificate_key {folder}/site.key;"
    file = folder / "nginx.conf"
    text = f"pid {folder}/nginx.pid; daemon off; error_log stderr; events {{}}\nhttp {{ access_log off; {places}\n"
    kinds = "types { text/html html; text/css css; application/javascript js; image/svg+xml svg; }"
    file.write_text(f"{text}{kinds}\nserver {{ {site}\n{recipe}\n}} }}\n", encoding="utf-8")
    return file


def caddy_file(folder: Path, port: int, behind: int) -> Path:
    recipe = (HERE / "deploy" / "Caddyfile").read_text(encoding="utf-8").replace("127.0.0.1:8765", f"127.0.0.1:{behind}")
    recipe = recipe.replace("sordino.example.org {", f"https://localhost:{port} {{\n\ttls {folder}/site.pem {folder}/site.key", 1)
    file = folder / "Caddyfile"
    file.write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{recipe}", encoding="utf-8")
    return file


def main(nginx: str | None, caddy: str | None) -> bool:
    ran = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"SORDINO_STATE": f"{folder}/state", "XDG_DATA_HOME": name, "XDG_CONFIG_HOME": name}
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
        subprocess.run([*made, "-keyout", f"{folder}/site.key", "-out", f"{folder}/site.pem"], check=True, capture_output=True)
        for proxy, program in (("nginx", nginx), ("Caddy", caddy)):
            if program is None:
                print(f"{proxy}: not on this machine, not run")
                ran = False
                continue
            place = folder / proxy
            place.mkdir()
            (place / "hospital.csv").write_text("age\n" + "\n".join(str(k % 100) for k in range(100)) + "\n", encoding="utf-8")
            (place / "hospital.toml").write_text(DATASET, encoding="utf-8")
            sordino = [sys.executable, "-m", "sordino"]
            given = subprocess.run(
                [*sordino, "--config", str(place / "hospital.toml"), "token", "add", "amina"], check=True, capture_output=True, text=True
            )
            behind, port = free(), free()
            serve = [*sordino, "serve", str(place / "hospital.toml"), "--port", str(behind), "--prefix", "/sordino", "--behind-https"]
            write, command = (nginx_file, [program, "-c"]) if proxy == "nginx" else (caddy_file, [program, "run", "--config"])
            config = write(folder, port, behind)
            front = [*command, str(config), *(["--adapter", "caddyfile"] if proxy == "Caddy" else [])]
            with running(serve, behind), running(front, port):
                walked(port, given.stdout.strip().splitlines()[-1])
            version = subprocess.run([program, "-v" if proxy == "nginx" else "version"], check=True, capture_output=True, text=True)
            print(f"{proxy}: the recipe works ({(version.stdout or version.stderr).strip().splitlines()[0]})")
    return ran


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nginx", default=shutil.which("nginx"))
    parser.add_argument("--caddy", default=shutil.which("caddy"))
    options = parser.parse_args()
    sys.exit(not main(options.nginx, options.caddy))
