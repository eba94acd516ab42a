# SPDX-License-Identifier: MIT
"""Speaks with the editor. Importing this module needs pygls."""
import asyncio
import logging

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.lsp.server import LanguageServer

from clineprof import _boot
from clineprof._lsp import words
from clineprof._lsp.session import Session

EVERY = 1  # seconds between two looks for news of the profiles
PAUSE = 0.3  # seconds after an edit until warnings are placed anew


def serve(limits, stdin, stdout):
    """Serves the editor until it says `exit`, or closes standard input. Returns the exit code."""
    logging.getLogger("pygls").setLevel(logging.ERROR)  # it warns of each notification that is not handled
    server = Server(limits)
    server.start_io(stdin, stdout)
    return 0 if server.was_shut_down else 1


class Server(LanguageServer):
    """Answers requests. The editor always sends whole texts: pygls would end lines at more characters than an editor
    does when it applies changes."""

    def __init__(self, limits):
        super().__init__("clineprof", _boot.core().__version__, types.TextDocumentSyncKind.Full)
        self.limits, self.session = limits, Session()
        self.was_shut_down = False
        self._published = {}  # {URI: warnings} that the editor shows
        self._waiting = {}  # {URI: timer} of documents that were edited a moment ago
        self._watch = None  # the task that looks for news
        _register(self)

    def can(self, capability):
        return bool(get_capability(self.client_capabilities, capability, False))

    # ---- profiles ----

    def start(self):
        self.take_folders()
        if self.can("workspace.did_change_watched_files.dynamic_registration"):
            watchers = [types.FileSystemWatcher(glob_pattern="**/*.lprof")]
            self.client_register_capability(types.RegistrationParams([types.Registration(
                "profiles", types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                types.DidChangeWatchedFilesRegistrationOptions(watchers))]))  # fmt: skip
        self._watch = self._watch or asyncio.ensure_future(self._look_for_news())

    def take_folders(self):
        workspace = self.workspace
        uris = [folder.uri for folder in workspace.folders.values()] or [workspace.root_uri]
        self.session.set_folders(filter(None, uris))
        self.look()
        self._show_anew()

    async def _look_for_news(self):
        """Looks by itself, because some editors tell only of files that they have written."""
        while True:
            await asyncio.sleep(EVERY)
            if self.session.has_news():
                self.look()

    def look(self):
        """Reads profiles that are new, and shows what they have."""
        changed, messages = self.session.look()
        for message in messages:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, "clineprof: " + message))
        if changed:
            self._show_anew()

    def _show_anew(self):
        """Lets the editor ask again for all that it shows of open documents."""
        if not self.session.documents:
            return
        if self.can("workspace.inlay_hint.refresh_support"):
            self.workspace_inlay_hint_refresh(None)
        if self.can("workspace.code_lens.refresh_support"):
            self.workspace_code_lens_refresh(None)
        for uri in self.session.documents:
            self.publish(uri)

    # ---- what the editor shows ----

    def hints(self, params):
        found = self.session.places(params.text_document.uri)
        if found is None:
            return None
        read, places = found
        first, last = params.range.start, params.range.end
        return [hint for line in range(first.line, min(last.line + 1, len(places.texts)))
                for hint in self._hints_of(read, places, line) if first <= hint.position <= last]  # fmt: skip

    def _hints_of(self, read, places, line):
        spot = next(iter(places.spots.get(line, ())), None)
        text = words.hint(read, spot) if spot is not None else None
        if text is not None:
            yield types.InlayHint(self._end(places, line), text, padding_left=True,
                                  tooltip=words.CHANGED if spot.is_changed else None)  # fmt: skip

    def lenses(self, params):
        found = self.session.places(params.text_document.uri)
        if found is None:
            return None
        read, places = found
        return [types.CodeLens(self._range(places, start.line), types.Command(words.lens(read, start), ""))
                for start in places.starts if not start.function.name.endswith(">")]  # fmt: skip

    def hover(self, params):
        found = self.session.places(params.text_document.uri)
        spots = found[1].spots.get(params.position.line) if found is not None else None
        if not spots:
            return None
        text, kind = words.hover(found[0], spots), types.MarkupKind.PlainText
        if types.MarkupKind.Markdown in self._formats():
            text, kind = words.fenced(text), types.MarkupKind.Markdown
        return types.Hover(types.MarkupContent(kind, text), self._range(found[1], params.position.line))

    def _formats(self):
        return get_capability(self.client_capabilities, "text_document.hover.content_format", None) or []

    # ---- warnings ----

    def publish_soon(self, uri):
        """Publishes warnings when there was no edit for a moment."""
        self._forget_timer(uri)
        self._waiting[uri] = asyncio.get_running_loop().call_later(PAUSE, self.publish, uri)

    def publish(self, uri):
        self._forget_timer(uri)
        found = self.session.places(uri)
        warnings = list(self._warnings(*found)) if found is not None else []
        if warnings != self._published.pop(uri, []):
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, warnings))
        if warnings:
            self._published[uri] = warnings

    def _forget_timer(self, uri):
        timer = self._waiting.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def _warnings(self, read, places):
        for line, spots in sorted(places.spots.items()):
            for spot in spots:
                said = [("leak", text) for text in words.leaks(read, spot)]
                said += [("limit", text) for text in words.broken(spot, self.limits)]
                for code, text in said:
                    yield self._warning(places, line, spot, code, text)

    def _warning(self, places, line, spot, code, text):
        severity = types.DiagnosticSeverity.Information if spot.is_changed else types.DiagnosticSeverity.Warning
        text += ". %s." % words.CHANGED if spot.is_changed else ""
        return types.Diagnostic(self._range(places, line), "%s: %s" % (words.plain(spot.function.name), text),
                                severity, code, source="clineprof")  # fmt: skip

    # ---- positions, in the units that were agreed upon ----

    def _end(self, places, line):
        return types.Position(line, self._units(places.texts[line]))

    def _range(self, places, line):
        """The text of a line without its indentation."""
        text = places.texts[line]
        indentation = len(text) - len(text.lstrip())
        return types.Range(types.Position(line, self._units(text[:indentation])), self._end(places, line))

    def _units(self, text):
        return self.workspace.position_codec.client_num_units(text)


def _register(server):
    """Says which messages the server answers, and how."""
    session = server.session

    @server.feature(types.INITIALIZED)
    async def initialized(params):
        server.start()

    @server.feature(types.SHUTDOWN)
    def shutdown(params):
        server.was_shut_down = True

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params):
        server.take_folders()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params):
        server.look()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params):
        session.open(params.text_document.uri, params.text_document.text)
        if session.has_news():
            server.look()
        server.publish(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params):
        uri = params.text_document.uri
        if uri in session.documents and params.content_changes:
            session.edit(uri, params.content_changes[-1].text)
            server.publish_soon(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params):
        session.save(params.text_document.uri)
        server.look()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params):
        session.close(params.text_document.uri)
        server.publish(params.text_document.uri)

    server.feature(types.TEXT_DOCUMENT_INLAY_HINT)(lambda params: server.hints(params))
    server.feature(types.TEXT_DOCUMENT_CODE_LENS)(lambda params: server.lenses(params))
    server.feature(types.TEXT_DOCUMENT_HOVER)(lambda params: server.hover(params))
