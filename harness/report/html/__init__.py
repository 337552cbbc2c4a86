"""The report as one HTML file that opens offline: cases, their runs step by step, and a comparison of models.

The table of cases is plain HTML. What is behind a row is data in the page, drawn when the row is opened: by creating
elements and setting their text, so that nothing a model or a tool said is ever read as markup.
"""
