# SPDX-License-Identifier: GPL-2.0-only
"""Reads YAML files that users name: a mistake has a line, no key counts twice, and numbers are those of YAML 1.2, as in
C++."""
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Type, TypeVar

import yaml

from clustersim import input_file
from clustersim.errors import InputError

Parsed = TypeVar("Parsed")
WHOLE = re.compile(r"[-+]?[0-9]+")
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class _Loader(yaml.SafeLoader):
    """To YAML 1.1, which PyYAML follows, 010 is 8, 1:30 is 90, 5_0 is 50, and 5e1 is a word."""
    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":int", ":float"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        for name, key in _repeated(node):
            raise yaml.constructor.ConstructorError(None, None, f"the key '{name}' occurs twice", key.start_mark)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _number in (("int", WHOLE, int), ("float", NUMBER, float)):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern.pattern})$"),
                                  list("-+.0123456789"))
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}",
                            lambda loader, node, number=_number: number(loader.construct_scalar(node)))


def _repeated(node: yaml.MappingNode) -> Iterator[tuple[Any, yaml.Node]]:
    """@return each key of a mapping that occurs a second time, and its node"""
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                yield key.value, key
            seen.add(key.value)


def _read(path: str | os.PathLike, expected: str, error: Type[Exception], parse: Callable[[str], Parsed]) -> Parsed:
    try:
        return parse(input_file.read_input(path, expected, input_file.LARGEST_YAML))
    except InputError as problem:
        raise error(str(problem)) from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise error(f"{path}:{mark.line + 1 if mark else 1}: {problem.problem or 'is not YAML'}; "
                    f"expected {expected}") from None
    except (yaml.YAMLError, ValueError) as problem:
        raise error(f"{path}:1: {' '.join(str(problem).split())}; expected {expected}") from None
    except RecursionError:
        raise error(f"{path}:1: is nested too deeply; expected {expected}") from None


def compose(path: str | os.PathLike, expected: str, error: Type[Exception]) -> yaml.Node | None:
    """@return the file as nodes of PyYAML, None if it is empty @param error the exception to raise, with one line of
    text"""
    return _read(path, expected, error, lambda text: yaml.compose(text, Loader=_Loader))


def load(path: str | os.PathLike, expected: str, error: Type[Exception]) -> tuple[Any, dict[Any, int]]:
    """@return the file's values, None if it is empty, and the line of each of its keys"""
    def parse(text: str) -> tuple[Any, dict[Any, int]]:
        loader = _Loader(text)
        root = loader.get_single_node()
        return None if root is None else loader.construct_document(root), lines(root)

    return _read(path, expected, error, parse)


def keys(path: str | os.PathLike, node: yaml.Node | None, error: Type[Exception]) -> dict[Any, yaml.Node]:
    """@return the nodes of a mapping by their keys; none if it is no mapping"""
    if not isinstance(node, yaml.MappingNode):
        return {}
    for name, key in _repeated(node):
        raise error(f"{path}:{line(key)}: the key '{name}' occurs twice; expected each key once")
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def lines(node: yaml.Node | None) -> dict[Any, int]:
    """@return the line of each key of a mapping"""
    return {key.value: line(key) for key, _ in node.value} if isinstance(node, yaml.MappingNode) else {}


def line(node: yaml.Node) -> int:
    """@return the line of a node, counted from 1"""
    return node.start_mark.line + 1
