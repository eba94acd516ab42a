# SPDX-License-Identifier: MIT
"""The folders of the workspace, and what their profiles have to say of the documents that are open."""
import os
import re
import time
import urllib.parse

from clineprof._lsp.found import Folder
from clineprof._lsp.places import Places

_LINE_END = re.compile("\r\n|\r|\n")  # what ends a line for the protocol
REST = 20  # after a search there is no news for this many times as long as the search took


class Session:
    """documents: {URI: text} of what is open"""

    def __init__(self):
        self.documents = {}
        self._rested = 0  # when the next search may begin
        self._folders, self._edited = {}, set()
        self._places = {}  # {URI: (Read, Places)}, made when they are asked for

    # ---- the workspace ----

    def set_folders(self, uris):
        """Takes these folders for the workspace."""
        paths = filter(None, map(path_of, uris))
        self._folders = {path: self._folders.get(path) or Folder(path) for path in paths}
        self._places.clear()

    def has_news(self):
        """May there be a new profile, and was there none to search for a while? This searches nothing."""
        return time.monotonic() > self._rested and any(folder.has_news() for folder in self._folders.values())

    def look(self):
        """Reads profiles that are new. Returns (has anything changed?, messages about profiles that cannot be read)."""
        start = time.monotonic()
        answers = [folder.look() for folder in self._folders.values()]
        self._rested = (REST + 1) * time.monotonic() - REST * start
        return any(changed for changed, _ in answers), [text for _, texts in answers for text in texts]

    # ---- documents ----

    def open(self, uri, text):
        self._edited.discard(uri)
        self.documents[uri] = text
        self._places.pop(uri, None)

    def edit(self, uri, text):
        self._edited.add(uri)
        self.documents[uri] = text
        self._places.pop(uri, None)

    def save(self, uri):
        self._edited.discard(uri)
        self._places.pop(uri, None)

    def close(self, uri):
        self.save(uri)
        self.documents.pop(uri, None)

    def places(self, uri):
        """(the profile as Read, Places of the document) of an open document; None if no profile knows it."""
        path = path_of(uri) if uri in self.documents else None
        real = os.path.realpath(path) if path is not None else ""
        folders = [folder for folder in self._folders.values() if folder.contains(real)]
        read = max(folders, key=lambda folder: len(folder.real)).read if folders else None
        if read is None:
            return None
        if self._places.get(uri, (None, None))[0] is not read:
            self._places[uri] = read, self._make_places(uri, read, {os.path.normpath(path), real})
        return self._places[uri]

    def _make_places(self, uri, read, paths):
        functions = read.functions(*paths)
        texts = _LINE_END.split(self.documents[uri]) if functions else []
        return Places(functions, texts, uri not in self._edited and _has_date_before(read.began(), *paths))


def path_of(uri):
    """The path of a file: URI; None for any other."""
    try:
        parts = urllib.parse.urlsplit(uri)
        path = urllib.parse.unquote(parts.path, errors="surrogateescape")
        os.fsencode(path)
    except ValueError:
        return None
    is_here = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return path if is_here and path.startswith("/") and "\0" not in path else None


def _has_date_before(moment, *paths):
    try:
        return all(os.stat(path).st_mtime <= moment for path in paths)
    except OSError:
        return False
