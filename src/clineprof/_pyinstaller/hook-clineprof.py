# SPDX-License-Identifier: MIT
"""PyInstaller's hook: puts all of clineprof into a frozen application, because clineprof imports its parts only when it
needs them, which PyInstaller does not see. Packages of others (rich, pandas, ..) are included only if the application
itself imports them."""
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("clineprof", filter=lambda name: "._pyinstaller" not in name)
datas = collect_data_files("clineprof", includes=["_html/*"])
excludedimports = ["IPython", "jinja2", "matplotlib", "numpy", "pandas", "pygls", "pygments", "pytest", "rich"]
