"""A file of tensors comes back as it was written, or is refused by its name."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from localgcl.training.weights import read_tensors, write_tensors

WRITE = """
import torch
from pathlib import Path
from localgcl.training.weights import write_tensors
tensors = {name: torch.arange(3.0) for name in ("b", "a", "method.encoder.weight")}
write_tensors(Path("theirs.safetensors"), tensors, {"step": 3, "num_inputs": 6})
"""


def test_the_same_content_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """Whatever the order of names, and whatever the salt of hashes in Python."""
    salted = {**os.environ, "PYTHONHASHSEED": "4321"}
    subprocess.run([sys.executable, "-c", WRITE], env=salted, cwd=tmp_path, check=True)
    names = ("method.encoder.weight", "a", "b")
    write_tensors(tmp_path / "ours.safetensors", {name: torch.arange(3.0) for name in names}, {"num_inputs": 6, "step": 3})
    theirs, ours = (tmp_path / f"{name}.safetensors" for name in ("theirs", "ours"))
    assert theirs.read_bytes() == ours.read_bytes()
    tensors, facts = read_tensors(theirs)
    assert set(tensors) == set(names)
    assert facts == {"step": 3, "num_inputs": 6}


def test_tensors_come_back_as_they_went(tmp_path: Path) -> None:
    tensors = {
        "transposed": torch.arange(6.0).reshape(2, 3).T,
        "counter": torch.tensor(2**40),
        "double": torch.tensor([1 / 3], dtype=torch.float64),
        "none": torch.empty(0, 4),
    }
    write_tensors(tmp_path / "w.safetensors", tensors, {"step": 0})
    back, facts = read_tensors(tmp_path / "w.safetensors")
    assert facts == {"step": 0}
    torch.testing.assert_close(back, tensors, rtol=0, atol=0)
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused_by_name(share: float, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, {"a": torch.arange(1000.0)}, {"step": 0})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="is damaged or not a weights file") as error:
        read_tensors(path)
    assert str(path) in str(error.value)


def test_a_file_of_another_program_is_refused_by_name(tmp_path: Path) -> None:
    """Whole safetensors files, but without what `write_tensors` adds to them."""
    path = tmp_path / "other.safetensors"
    for metadata in (None, {"format": "pt"}, {"facts": "no JSON"}):
        safetensors.torch.save_file({"a": torch.ones(2)}, path, metadata)
        with pytest.raises(ValueError, match=r"other\.safetensors is damaged or not a weights file"):
            read_tensors(path)


def test_a_flipped_bit_is_refused_by_name(tmp_path: Path) -> None:
    """A bit of every byte: of the header, of the hash itself, of the padding and of the tensors."""
    path = tmp_path / "w.safetensors"
    write_tensors(path, {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor(7)}, {"step": 3, "num_inputs": 2})
    content = path.read_bytes()
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match=r"w\.safetensors is damaged or not a weights file"):
            read_tensors(path)
    path.write_bytes(content)
    assert read_tensors(path)[1] == {"step": 3, "num_inputs": 2}


def test_facts_that_look_like_the_hash(tmp_path: Path) -> None:
    """Names of feature columns may be anything."""
    facts = {"names": ["0" * 64, f'"sha256": "{"0" * 64}"', rf"\"sha256\": \"{'0' * 64}\"", "é\n"]}
    write_tensors(tmp_path / "w.safetensors", {"a": torch.ones(2)}, facts)
    assert read_tensors(tmp_path / "w.safetensors")[1] == facts


def test_files_of_the_first_version_have_no_hash(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "old.safetensors"
    safetensors.torch.save_file({"a": torch.ones(2)}, path, {"facts": '{"step": 3}'})
    with caplog.at_level(logging.INFO, "localgcl"):
        assert read_tensors(path)[1] == {"step": 3}
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} has no hash, as the first version wrote it: damage to it would not be noticed"
    ]


@pytest.mark.parametrize(
    "sealed", ["[]", "7", "{}", '{"sha256": 7}', '{"sha256": ""}', '{"sha256": null}', "[" * 10_000, '{"sha256": "0000"}']
)
def test_a_hash_that_is_none_is_refused(sealed: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    safetensors.torch.save_file({"a": torch.ones(2)}, path, {"sealed": sealed})
    with pytest.raises(ValueError, match=r"w\.safetensors is damaged or not a weights file"):
        read_tensors(path)


def test_a_header_that_declares_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    for shape in ([0, 2**62, 2**62], [2**40], [0, 2**70], [-1]):
        header = json.dumps({"__metadata__": {"facts": "{}"}, "a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}})
        path.write_bytes(len(header).to_bytes(8, "little") + header.encode())
        with pytest.raises(ValueError, match=r"w\.safetensors is damaged or not a weights file"):
            read_tensors(path)
