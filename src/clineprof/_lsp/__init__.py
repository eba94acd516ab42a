# SPDX-License-Identifier: MIT
"""The language server `clineprof lsp`, which shows the newest profile of a workspace in an editor.

command.py reads the command line, server.py speaks with the editor (pygls). session.py knows the open documents and the
workspace's folders, of which found.py finds and reads the newest profile. places.py says which numbers belong to which
line of a document; align.py compares the document with the text that ran. words.py words it all.
"""
