"""A spaCy pipeline as files: where it is, its config and its meta.json, read without importing spaCy.

The orchestration needs the name, the version and the labels of a model long before anything is computed,
in processes that never load one; importing spaCy for that would cost a second and 200 MB in each.
"""

from __future__ import annotations

import configparser
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ner_pipeline.errors import ModelError

__all__ = ["DEFAULT_MODEL", "PipelineFiles", "find_pipeline", "read_pipeline"]

DEFAULT_MODEL = "xx_ner_slim"
"""The pipeline that comes along, for texts in many languages: PER, LOC, ORG."""

_SHIPPED = Path(__file__).parent / "shipped" / DEFAULT_MODEL
"""A link into `model/` in a checkout; the files themselves where a wheel is installed."""
_PACKAGE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)
"""Without a dot: to look for a module in a package, Python imports the package."""

Section = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PipelineFiles:
    """What the two small files of a pipeline directory say."""

    directory: Path
    config: dict[str, Section]
    """config.cfg: each section under its dotted name, values as JSON has them; references stay text."""
    meta: dict[str, Any]

    @property
    def name(self) -> str:
        """Name and version, such as `en_core_web_sm 3.8.0`."""
        language, name = self.meta.get("lang", "xx"), self.meta.get("name", self.directory.name)
        return f"{language}_{name} {self.meta.get('version', '0.0.0')}"

    @property
    def pipeline(self) -> tuple[str, ...]:
        """The components, in order."""
        return tuple(self.config["nlp"].get("pipeline", ()))

    @property
    def disabled(self) -> frozenset[str]:
        """The components that are loaded, but do not run unless somebody asks for them."""
        return frozenset(self.config["nlp"].get("disabled", ()))

    def factory(self, component: str) -> str:
        """Give what kind of component it is, such as `ner`."""
        return str(self.config.get(f"components.{component}", {}).get("factory", ""))

    def sections(self, component: str) -> dict[str, Section]:
        """Give the sections of one component, under their full names."""
        own = f"components.{component}"
        return {name: body for name, body in self.config.items() if name == own or name.startswith(f"{own}.")}

    def architectures(self, component: str) -> frozenset[str]:
        """Give the names of all registered functions that build the component's model."""
        bodies = self.sections(component).values()
        return frozenset(str(body["@architectures"]) for body in bodies if "@architectures" in body)


def find_pipeline(model: str) -> Path:
    """Find the pipeline directory that `NER_MODEL` names.

    An installed package of this name wins over a folder, and a folder over the pipeline that comes along.
    """
    wanted = model.strip()
    if not wanted:
        raise ModelError(f"NER_MODEL is empty: give a folder or a package such as {DEFAULT_MODEL}")
    found = _from_package(wanted) or _pipeline_in(_folder(wanted)) or _shipped(wanted)
    if found is None:
        raise ModelError(_not_found(wanted))
    return found


def read_pipeline(directory: Path) -> PipelineFiles:
    """Read config.cfg and meta.json of a pipeline directory."""
    try:
        config = _parse_config((directory / "config.cfg").read_text(encoding="utf-8"))
        meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, configparser.Error) as error:
        raise ModelError(
            f"{directory}: not a readable spaCy pipeline ({error}); save it anew with nlp.to_disk()"
        ) from error
    if not isinstance(config.get("nlp", {}).get("pipeline"), list) or not isinstance(meta, dict):
        raise ModelError(f"{directory}: config.cfg has no [nlp] with a pipeline; save it with nlp.to_disk()")
    return PipelineFiles(directory, config, meta)


def _folder(wanted: str) -> Path:
    try:
        return Path(wanted).expanduser()
    except RuntimeError as error:
        raise ModelError(f"NER_MODEL={wanted}: there is no home folder of this name") from error


def _from_package(wanted: str) -> Path | None:
    """Find the pipeline in an installed package, without importing it (that would import spaCy)."""
    if not _PACKAGE_NAME.fullmatch(wanted):
        return None
    try:
        spec = importlib.util.find_spec(wanted.replace("-", "_"))
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or spec.origin is None:
        return None
    return _pipeline_in(Path(spec.origin).parent)


def _shipped(wanted: str) -> Path | None:
    return _pipeline_in(_SHIPPED) if wanted.replace("-", "_") == DEFAULT_MODEL else None


def _pipeline_in(folder: Path) -> Path | None:
    """Give `folder` if it is a pipeline, or the one that a model package keeps in `NAME-VERSION/`."""
    try:
        if (folder / "config.cfg").is_file():
            return folder.resolve()
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        inner = folder / f"{meta['lang']}_{meta['name']}-{meta['version']}"
        return inner.resolve() if (inner / "config.cfg").is_file() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _not_found(wanted: str) -> str:
    if fault := _fault(wanted):
        return f"NER_MODEL={wanted}: {fault}; give the folder that nlp.to_disk() wrote"
    # No command to install it: whoever has registered a misspelt name would be trusted with this machine.
    return (
        f"NER_MODEL={wanted}: no such package is installed, and there is no such folder; "
        f"name one that is there, or {DEFAULT_MODEL}, which comes along"
    )


def _fault(wanted: str) -> str:
    """Say what is wrong with a path; nothing where there is none, and the name may be that of a package."""
    if "://" in wanted:
        return "this is an address, and no folder of this machine"
    folder = _folder(wanted)
    try:
        if folder.is_dir():
            return "this folder holds no config.cfg that can be read"
        if folder.exists():
            return "this is a file, and no folder"
    except OSError as error:
        return (error.strerror or str(error)) if "/" in wanted else ""
    return "this folder is not there" if "/" in wanted else ""


def _parse_config(text: str) -> dict[str, Section]:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {
        section: {key: _value(raw) for key, raw in parser.items(section)} for section in parser.sections()
    }


def _value(raw: str) -> Any:
    """Read a value as JSON; a reference such as `${paths.train}` stays text."""
    try:
        return json.loads(raw)
    except ValueError:
        return raw
