import subprocess
import sys
from pathlib import Path

import pytest

import gigatcp

PACKAGE = Path(gigatcp.__file__).parent


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_native.pyi").exists()


def test_stubs_name_what_the_compiled_module_has() -> None:
    stub = (PACKAGE / "_native.pyi").read_text()
    for name in dir(gigatcp._native):
        if not name.startswith("_"):
            assert f"class {name}" in stub or f"def {name}(" in stub, name
            members = vars(getattr(gigatcp._native, name)) if isinstance(getattr(gigatcp._native, name), type) else {}
            for member in members:
                if not member.startswith("_"):
                    assert f" {member}" in stub, f"{name}.{member}"


def test_mypy_accepts_the_package(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", "-m", "gigatcp"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
