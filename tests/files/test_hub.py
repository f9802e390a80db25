"""torch.hub: what comes from a server is whole, or an error, in time."""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spirograd as sg
from spirograd import hub


@contextmanager
def serving(answer: bytes, hold: bool = False) -> Iterator[str]:
    """The address of a server that gives this to whoever asks, and then leaves, or holds the line and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        lines = []

        def serve() -> None:
            while True:
                try:
                    line, _ = server.accept()
                    line.recv(1 << 16)
                    line.sendall(answer)
                except OSError:
                    return
                lines.append(line) if hold else line.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x-01234567.pth?download=1"
        for line in lines:
            line.close()


def content() -> bytes:
    out = io.BytesIO()
    sg.save({"w": sg.ones(2)}, out)
    return out.getvalue()


def head(length: object) -> bytes:
    return f"HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()


def test_weights_come_once(tmp_path: Path) -> None:
    with serving(head(len(content())) + content()) as url:
        assert hub.load_state_dict_from_url(url, str(tmp_path))["w"].tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["x-01234567.pth"]
    assert hub.load_state_dict_from_url(url, str(tmp_path))["w"].tolist() == [1, 1], "the server is gone"


@pytest.mark.parametrize("answer", [b"", head(100) + b"half"], ids=["nothing", "half"])
@pytest.mark.parametrize("hold", [True, False])
def test_a_server_that_stops_is_an_error(
    answer: bytes, hold: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "TIMEOUT", 0.3)
    (tmp_path / "x").write_bytes(b"old")
    with serving(answer, hold) as url, pytest.raises(OSError):
        hub.download_url_to_file(url, str(tmp_path / "x"))
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x").read_bytes() == b"old"


def test_another_content_is_an_error(tmp_path: Path) -> None:
    with serving(head("much") + content()) as url, pytest.raises(RuntimeError, match=r"has SHA-256 .* not 01234567"):
        hub.load_state_dict_from_url(url, str(tmp_path), check_hash=True)
    assert os.listdir(tmp_path) == []
