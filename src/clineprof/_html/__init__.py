# SPDX-License-Identifier: MIT
"""The parts of the web page (clineprof/_formats/html.py puts them together):

page.html    the page, a template          measures.py  what is known of each function
tables.html  tables without JavaScript     colours.py   Python's syntax, by Pygments
*.css *.js   as they stand in the page     texts.py     numbers and the program's text, for people
                                           timeline.py  the drawing of memory over time
"""
