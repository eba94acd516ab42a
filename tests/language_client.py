# SPDX-License-Identifier: MIT
"""A client of language servers for the tests: it sends what it is told to, and collects what comes back."""
import json
import queue
import subprocess
import sys
import threading
import time
import urllib.parse

from harness import clean_environment, viewer_command

SECONDS = 300
# What VS Code says of itself, as far as it matters here.
CAN_ALL = {
    "workspace": {
        "didChangeWatchedFiles": {"dynamicRegistration": True}, "workspaceFolders": True,
        "inlayHint": {"refreshSupport": True}, "codeLens": {"refreshSupport": True},
    },
    "textDocument": {"hover": {"contentFormat": ["markdown", "plaintext"]}},
}


def uri_of(path):
    return "file://" + urllib.parse.quote(str(path), errors="surrogateescape")


class Client:
    """A running `clineprof lsp`. notes: what it has sent by itself, as (method, params)"""

    def __init__(self, folder, *options, can=CAN_ALL, **environment):
        self.can, self.notes, self.number = can, [], 0
        self.folders, self.opened = None, set()
        self.process = subprocess.Popen(
            [*map(str, viewer_command()), "lsp", *options], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=clean_environment({"VIRTUAL_ENV": sys.prefix, **environment}))
        self.came = queue.Queue()
        self.errors = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.append(self.process.stderr.read()), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    # ---- messages ----

    def _read(self):
        """Reads messages until standard output ends. Anything else there is a fault of the server."""
        out = self.process.stdout
        while True:
            head = out.readline()
            if not head:
                return self.came.put(None)
            if not head.startswith(b"Content-Length: "):
                return self.came.put({"stray": head})
            while out.readline().strip():
                pass
            self.came.put(json.loads(out.read(int(head.split()[1]))))

    def _send(self, message):
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _take(self, seconds):
        """Waits for a message and keeps it, or returns it if it is an answer."""
        message = self.came.get(timeout=seconds)
        assert message is not None, "the server has ended: %s" % self.errors
        assert "stray" not in message, message
        if "method" not in message:
            return message
        self.notes.append((message["method"], message.get("params")))
        if "id" in message:
            self._send({"id": message["id"], "result": None})
        return None

    def ask(self, method, **params):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params or None})
        while True:
            answer = self._take(SECONDS)
            if answer is not None:
                assert answer["id"] == self.number and "error" not in answer, answer
                return answer["result"]

    def tell(self, method, **params):
        self._send({"method": method, "params": params})

    def wait_for(self, is_it, seconds=SECONDS):
        """Waits until a note is such a one: is_it(method, params). Returns the params of the last one."""
        end = time.monotonic() + seconds
        while True:
            found = [params for method, params in self.notes if is_it(method, params)]
            if found:
                return found[-1]
            try:
                self._take(max(0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError("it did not come; what came: %s" % self.notes) from None

    def messages(self):
        """The messages to the user that have come."""
        return [params["message"] for method, params in self.notes if method == "window/showMessage"]

    # ---- a session ----

    def start(self, *folders, **more):
        """Begins the session, in these folders."""
        listed = [{"uri": uri_of(path), "name": "it"} for path in folders] or None
        self.folders = listed or []
        answer = self.ask("initialize", **{"processId": None, "capabilities": self.can, "rootUri": None,
                                           "workspaceFolders": listed, **more})  # fmt: skip
        self.tell("initialized")
        return answer

    def move(self, *folders):
        """Goes to other folders, or none, with nothing open and nothing said."""
        for uri in self.opened:
            self.tell("textDocument/didClose", textDocument={"uri": uri})
        self.tell("workspace/didChangeWorkspaceFolders", event={"added": [], "removed": self.folders})
        self.ask("textDocument/hover", textDocument={"uri": "file:///nowhere"}, position={"line": 0, "character": 0})
        self.notes.clear()
        self.folders, self.opened = [{"uri": uri_of(path), "name": "it"} for path in folders], set()
        self.tell("workspace/didChangeWorkspaceFolders", event={"added": self.folders, "removed": []})

    def open(self, path, text=None):
        uri = path if isinstance(path, str) else uri_of(path)
        self.opened.add(uri)
        text = path.read_bytes().decode() if text is None else text
        self.tell("textDocument/didOpen",
                  textDocument={"uri": uri, "languageId": "python", "version": 1, "text": text})
        return uri

    def edit(self, uri, text, version=2):
        self.tell("textDocument/didChange", textDocument={"uri": uri, "version": version},
                  contentChanges=[{"text": text}])

    def hints(self, uri, first=0, last=1000000):
        found = self.ask("textDocument/inlayHint", textDocument={"uri": uri},
                         range={"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}})
        return found or []

    def shown(self, uri, **part):
        """{number of the line, from 1: its hint}"""
        return {hint["position"]["line"] + 1: hint["label"] for hint in self.hints(uri, **part)}

    def hover(self, uri, line):
        """The text on the line with this number, or None."""
        found = self.ask("textDocument/hover", textDocument={"uri": uri}, position={"line": line - 1, "character": 0})
        return found and found["contents"]["value"]

    def lenses(self, uri):
        """{number of the line, from 1: titles of its lenses}"""
        titles = {}
        for lens in self.ask("textDocument/codeLens", textDocument={"uri": uri}) or []:
            titles.setdefault(lens["range"]["start"]["line"] + 1, []).append(lens["command"]["title"])
        return titles

    def warnings(self, uri):
        """The warnings that the server has published for a document last."""
        self.ask("textDocument/hover", textDocument={"uri": uri}, position={"line": 0, "character": 0})
        found = [params["diagnostics"] for method, params in self.notes
                 if method == "textDocument/publishDiagnostics" and params["uri"] == uri]  # fmt: skip
        return found[-1] if found else []

    def end(self):
        """Says goodbye. Returns the exit code and what stood on standard error."""
        self.ask("shutdown")
        self.tell("exit")
        return self.ended()

    def ended(self):
        code = self.process.wait(SECONDS)
        return code, b"".join(self.errors).decode()
