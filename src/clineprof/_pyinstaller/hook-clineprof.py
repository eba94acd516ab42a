# SPDX-License-Identifier: MIT
"""PyInstaller's hook: puts all of clineprof into a frozen application, because clineprof imports its parts only when it
needs them, which PyInstaller does not see. Packages of others (rich, pandas, ..) are included only if the application
itself imports them."""
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("clineprof", filter=lambda name: "._pyinstaller" not in name)
# Files that are read, also as text that is sent to other processes.
READ = ["_html/*", "_boot/idle.py", "_by_value/arriving.py", "_engines/hook.py"]
datas = collect_data_files("clineprof", includes=READ, include_py_files=True)
excludedimports = ["IPython", "jinja2", "matplotlib", "numpy", "pandas", "pygls", "pygments", "pytest", "rich"]
excludedimports += ["dask", "distributed", "lightning", "mpi4py", "pyspark", "ray", "torch", "transformers"]
