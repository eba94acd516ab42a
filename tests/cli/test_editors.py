# SPDX-License-Identifier: MIT
"""clineprof lsp in real editors, set up as docs/editor.md says."""
import json
import os
import re
import shutil
import subprocess
import sys

import pages
import pytest
from harness import ckernprof, run, viewer_command

pytestmark = pytest.mark.once
pytest.importorskip("pygls", reason="pygls is not installed")

PROGRAM = """\
kept = []

@profile
def f(n):
    text = "😀" * n
    kept.append([0] * n)
    return text

for i in range(40):
    f(20000)
"""

# Waits for what the server sends, writes it down, then edits the buffer and replaces the profile.
DRIVER = """
local out, failed = {}, {}
local function wait(name, is_there)
  if not vim.wait(20000, is_there, 50) then table.insert(failed, name) end
end
local function hints()
  local found = {}
  for _, hint in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    found[tostring(hint.inlay_hint.position.line + 1)] = hint.inlay_hint
  end
  return found
end
vim.cmd.edit("prog.py")
wait("hints", function() return next(hints()) ~= nil end)
out.hints = hints()
wait("warnings", function() return #vim.diagnostic.get(0) > 0 end)
out.warnings = vim.diagnostic.get(0)
vim.api.nvim_win_set_cursor(0, { 6, 4 })
vim.lsp.buf.hover()
local function float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then return vim.api.nvim_win_get_buf(window) end
  end
end
wait("hover", float)
out.hover = float() and vim.api.nvim_buf_get_lines(float(), 0, -1, false)
if not vim.lsp.codelens.enable then vim.lsp.codelens.refresh({ bufnr = 0 }) end
local function lenses() return vim.lsp.codelens.get(vim.lsp.codelens.enable and { bufnr = 0 } or 0) end
wait("lenses", function() return #lenses() > 0 end)
out.lenses = lenses()
vim.api.nvim_buf_set_lines(0, 0, 0, false, { "import os", "" })
vim.api.nvim_buf_set_lines(0, 7, 8, false, { "    kept.append([1] * n)" })
wait("moved hints", function() return hints()["9"] ~= nil end)
out.moved = hints()
os.rename("later", "prog.py.lprof")
wait("new hints", function() return next(hints()) == nil end)
for _, client in ipairs(vim.lsp.get_clients()) do client:stop() end
wait("the end", function() return #vim.lsp.get_clients() == 0 end)
out.failed = failed
vim.fn.writefile({ vim.json.encode(out) }, "out.json")
vim.cmd("qall!")
"""

STARTED = """
vim.api.nvim_create_autocmd("FileType", { pattern = "python", callback = function()
  vim.lsp.start({ name = "clineprof", cmd = { "clineprof", "lsp" }, root_dir = vim.fn.getcwd() })
end })
vim.lsp.inlay_hint.enable()
if vim.lsp.codelens.enable then vim.lsp.codelens.enable() end
"""


def blocks_of(language):
    return [block.text for block in pages.blocks("docs/editor.md") if block.language == language]


def neovim():
    """(major, minor) of the Neovim in PATH."""
    if shutil.which("nvim") is None:
        pytest.skip("nvim is not installed")
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.match(r"NVIM v(\d+)\.(\d+)", said).groups()))


def environment(folder):
    """What an editor starts with: a home of its own, and the clineprof that is tested in PATH."""
    path = os.pathsep.join([str(viewer_command()[0].parent), os.environ["PATH"]])
    return {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "PATH": path,
            "VIRTUAL_ENV": sys.prefix, "TERM": "dumb"}


def profile(folder, *words):
    ended = run([*ckernprof("-l"), *words], folder)
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(("least", "settings"), [((0, 11), "the page's"), ((0, 10), "vim.lsp.start")])
def test_neovim_shows_it(least, settings, tmp_path):
    if neovim() < least:
        pytest.skip("nvim is older than %d.%d" % least)
    [page] = blocks_of("lua")
    (tmp_path / "prog.py").write_text(PROGRAM)
    profile(tmp_path, "--leaks", "prog.py")
    (tmp_path / "other.py").write_text("@profile\ndef g():\n    pass\ng()\n")
    profile(tmp_path, "-o", "later", "other.py")
    (tmp_path / "init.lua").write_text(page if settings == "the page's" else STARTED)
    (tmp_path / "driver.lua").write_text(DRIVER)
    ended = run(["nvim", "--headless", "--clean", "-u", "init.lua", "-c", "luafile driver.lua"], tmp_path,
                env=environment(tmp_path), timeout=180)
    assert (tmp_path / "out.json").exists(), ended.err
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["failed"] == [], out

    assert set(out["hints"]) == {"5", "6", "7"}
    label = re.compile(r"\d[\d.]* (ns|µs|ms|s) · \d+\.\d %")
    assert all(label.fullmatch(hint["label"]) for hint in out["hints"].values()), out["hints"]
    [warning] = out["warnings"]
    assert warning["lnum"] == 5 and re.match(r"f: kept \d.* MiB, \d.* KiB per call, ", warning["message"])
    assert "f, line 6" in out["hover"] and any(re.fullmatch(r"Hits +40", line) for line in out["hover"])
    [lens] = out["lenses"]
    assert "40 calls · " in json.dumps(lens, ensure_ascii=False)
    changed = {line: hint["label"].startswith("~ ") for line, hint in out["moved"].items()}
    assert changed == {"7": False, "8": True, "9": False}


# ---- other editors: their settings can at least be read ----


def test_the_settings_of_helix_and_vs_code_are_well_formed():
    toml = pytest.importorskip("tomllib", reason="this Python reads no TOML")
    languages, config = map(toml.loads, blocks_of("toml"))
    assert languages["language-server"]["clineprof"] == {"command": "clineprof", "args": ["lsp"]}
    assert languages["language"] == [{"name": "python", "language-servers": ["clineprof"]}]
    assert config == {"editor": {"lsp": {"display-inlay-hints": True}}}
    [settings] = map(json.loads, blocks_of("json"))
    assert settings["glspc.server.commandArguments"] == ["lsp"]


EMACS = """
(defun wait (is-there)
  (let ((end (+ (float-time) 30)))
    (while (and (not (funcall is-there)) (< (float-time) end)) (accept-process-output nil 0.1))))
(find-file "prog.py")
(call-interactively #'eglot)
(wait (lambda () (eglot-current-server)))
(eglot-inlay-hints-mode 1)
(let* ((range (list :start '(:line 0 :character 0) :end '(:line 20 :character 0)))
       (document (eglot--TextDocumentIdentifier))
       (hints (jsonrpc-request (eglot-current-server) :textDocument/inlayHint
                               (list :textDocument document :range range)))
       (hover (jsonrpc-request (eglot-current-server) :textDocument/hover
                               (list :textDocument document :position '(:line 5 :character 4)))))
  (flymake-start)
  (wait (lambda () (flymake-diagnostics)))
  (let ((out (format "%S %S %S" hints hover (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))))
    (write-region out nil "out")))
(kill-emacs 0)
"""


def test_emacs_shows_it(tmp_path):
    if shutil.which("emacs") is None:
        pytest.skip("emacs is not installed")
    [settings] = blocks_of("elisp")
    (tmp_path / "prog.py").write_text(PROGRAM)
    profile(tmp_path, "--leaks", "prog.py")
    (tmp_path / "init.el").write_text(settings)
    (tmp_path / "driver.el").write_text(EMACS)
    ended = run(["emacs", "--batch", "-l", "init.el", "-l", "driver.el"], tmp_path, env=environment(tmp_path),
                timeout=180)
    assert (tmp_path / "out").exists(), ended.err
    out = (tmp_path / "out").read_text()
    assert len(re.findall(r"s · \d+\.\d %", out)) == 3 and "f: kept " in out and re.search(r"Hits +40", out), out
