# SPDX-License-Identifier: MIT
"""The parts of the web pages. clineprof/_formats/html.py makes that of a profile, comparison.py beside it that of a
comparison:

page.html        the pages, a template        assembly.py  puts a page together
tables.html      tables without JavaScript    measures.py  the sums and columns of each function
comparison.html  the same of a comparison     colours.py   syntax colours, by Pygments
*.css *.js       copied into the pages        texts.py     formats numbers and the program's text
                                              timeline.py  draws memory over time

cell.py makes the HTML of a cell of a notebook.
"""
