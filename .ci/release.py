"""Build what is uploaded to a package index: a wheel and a source archive of dpkit and of each plugin.

    python .ci/release.py --repository https://HOST/OWNER/dpkit --to dist

It works on what is committed, in a folder of its own: links of the READMEs become absolute, the repository's addresses go
into the metadata, and everything is built in an empty environment. It uploads nothing: look at `dist`, then use
`twine upload dist/*`.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def distributions(root: Path) -> list[Path]:
    """The folders that a wheel is built from: dpkit's own first."""
    return [root, *sorted(path.parent for path in root.glob("plugins/*/pyproject.toml"))]


def version_of(root: Path) -> str:
    """The version of dpkit."""
    found = re.search(r'__version__ = "([^"]+)"', (root / "dpkit/_version.py").read_text(encoding="utf-8"))
    assert found is not None
    return found.group(1)


def problems(root: Path) -> Iterator[str]:
    """What must be mended before a release: each plugin has dpkit's version, and takes no other line of versions."""
    version = version_of(root)
    major, minor = version.split(".")[:2]
    bound = f">={version},<{f'0.{int(minor) + 1}' if major == '0' else int(major) + 1}"
    for folder in distributions(root):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        name = project["name"]
        for key in ("description", "readme", "requires-python", "license", "classifiers"):
            if not project.get(key):
                yield f"{name}: pyproject.toml states no {key}."
        if not (folder / "LICENSE").is_file():
            yield f"{name}: there is no LICENSE beside its pyproject.toml."
        if folder == root:
            continue
        if project.get("version") != version:
            yield f"{name}: its version is {project.get('version')}, dpkit's is {version}."
        ours = [one for one in project["dependencies"] if re.match(r"dpkit\b", one)]
        if not any(re.match(r"dpkit(\[|>)", one) for one in ours):
            yield f"{name}: it does not require dpkit."
        yield from (f"{name}: it requires {one!r}, and should require {bound}." for one in ours if not one.endswith(bound))


def absolute(text: str, *, folder: str, repository: str, tag: str) -> str:
    """A README whose relative links lead into the repository, at this tag; pictures to the files themselves."""

    def link(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        path = Path(folder, target.partition("#")[0])
        place = "/".join(Path(*_resolved(path)).parts)
        anchor = target.partition("#")[2]
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/{tag}/{place}{f'#{anchor}' if anchor else ''})"

    return _LINK.sub(link, text)


def _resolved(path: Path) -> list[str]:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return parts


def prepare(root: Path, *, repository: str) -> None:
    """Write addresses and absolute links into a copy of the repository."""
    tag = f"v{version_of(root)}"
    for folder in distributions(root):
        readme, project = folder / "README.md", folder / "pyproject.toml"
        inside = "" if folder == root else str(folder.relative_to(root))
        shown = absolute(readme.read_text(encoding="utf-8"), folder=inside, repository=repository, tag=tag)
        readme.write_text(shown, encoding="utf-8")
        urls = {
            "Repository": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        }
        urls["Documentation"] = f"{repository}/tree/{tag}/docs"
        lines = "\n".join(f'{name} = "{url}"' for name, url in urls.items())
        text = project.read_text(encoding="utf-8").replace("[tool.hatch", f"[project.urls]\n{lines}\n\n[tool.hatch", 1)
        project.write_text(text, encoding="utf-8")


def build(root: Path, to: Path) -> None:
    """A wheel and a source archive of every distribution."""
    to.mkdir(parents=True, exist_ok=True)
    for folder in distributions(root):
        command = [sys.executable, "-m", "build", "--outdir", str(to), str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def committed(to: Path) -> None:
    """Unpack what is committed into a folder."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(to, filter="data")


def main() -> int:
    """Check, prepare, build."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--repository", required=True, help="where the repository is, as https://HOST/OWNER/NAME")
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="the folder for wheels and archives")
    given = parser.parse_args()
    if not re.fullmatch(r"https://[^\s/]+/\S+[^/\s]", given.repository):
        parser.error(f"--repository is https://HOST/OWNER/NAME, got {given.repository!r}")
    if given.to.exists() and any(given.to.iterdir()):
        parser.error(f"{given.to} is not empty: what is in it would be uploaded too")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        committed(root)
        wrong = list(problems(root))
        if wrong:
            print("\n".join(wrong), file=sys.stderr)
            return 1
        prepare(root, repository=given.repository)
        build(root, given.to)
    print("\n".join(sorted(path.name for path in given.to.iterdir())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
