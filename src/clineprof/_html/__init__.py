# SPDX-License-Identifier: MIT
"""The parts of the web page (clineprof/_formats/html.py puts them together):

page.html    the page, a template          measures.py  the sums and columns of each function
tables.html  tables without JavaScript     colours.py   syntax colours, by Pygments
*.css *.js   copied into the page          texts.py     formats numbers and the program's text
                                           timeline.py  draws memory over time

cell.py makes the HTML of a cell of a notebook.
"""
