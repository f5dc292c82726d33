"""Runs the notebooks of this folder and writes what they show into them; with `--pages FOLDER`, also as pages of HTML.

It needs no Jupyter: a cell is Python, and its last expression shows itself as it would there. `tests/test_notebooks.py` runs
them too.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import html
import io
import json
import os
import re
from pathlib import Path

HERE = Path(__file__).parent


def run_notebook(path: Path) -> dict:
    """The notebook with the outputs of every cell; what a cell raises is raised."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        count = 0
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["execution_count"], cell["outputs"] = count, run_cell("".join(cell["source"]), names, count)
    finally:
        os.chdir(before)
    return notebook


def run_cell(source: str, names: dict[str, object], count: int) -> list[dict]:
    """What a cell prints, then what its last expression shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    found: list[dict] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/plain": [f"<{type(value).__name__}>"], "text/html": lines(value._repr_html_())}
        found.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return found


def lines(text: str) -> list[str]:
    """As notebooks keep texts."""
    return text.splitlines(keepends=True)


def page_of(notebook: dict) -> str:
    """The notebook as one page: its words, its code, and what the code showed."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts += [_words(line) for line in source.splitlines() if line.strip()]
            continue
        parts.append(f"<pre class='code'>{html.escape(source)}</pre>")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                parts.append(f"<div class='out'>{''.join(data['text/html'])}</div>")
            else:
                parts.append(f"<pre class='out'>{html.escape(''.join(output.get('text') or data['text/plain']))}</pre>")
    title = re.sub("<.*?>", "", parts[0])
    return _PAGE.format(title=title, body="\n".join(parts))


def _words(line: str) -> str:
    found = re.sub("`(.*?)`", r"<code>\1</code>", html.escape(line, quote=False))
    return f"<h1>{found[2:]}</h1>" if found.startswith("# ") else f"<p>{found}</p>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title><style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }}
pre.code {{ background: color-mix(in srgb, currentColor 7%, transparent); padding: .7rem 1rem; overflow-x: auto; }}
.out {{ border-left: 3px solid color-mix(in srgb, currentColor 25%, transparent); padding-left: 1rem; overflow-x: auto; }}
svg {{ max-width: 100%; height: auto; }}
</style></head><body>
{body}
</body></html>
"""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=Path)
    pages = parser.parse_args().pages
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = run_notebook(path)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if pages is not None:
            pages.mkdir(parents=True, exist_ok=True)
            (pages / f"{path.stem}.html").write_text(page_of(notebook), encoding="utf-8")
        print(path.name)
