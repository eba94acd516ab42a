# SPDX-License-Identifier: MIT
"""What goes into an application that PyInstaller freezes: all of clineprof, which imports its parts when it
needs them and so where PyInstaller does not look. What others made (rich, pandas ..) comes when the
application asks for it."""
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("clineprof", filter=lambda name: "._pyinstaller" not in name)
datas = collect_data_files("clineprof", includes=["_html/*"])
excludedimports = ["IPython", "jinja2", "matplotlib", "numpy", "pandas", "pygments", "pytest", "rich"]
