#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prints the arguments of Megatron-LM's pretrain_gpt.py, one a line with the number of its values, from the sources of
a checkout.

test/python/megatron_arguments.txt is such a list. Nothing of the checkout is imported or run.
"""
import argparse
import ast
import pathlib

SWITCH, VALUE, LIST = "0", "1", "+"
FILES = ("megatron/training/arguments.py", "megatron/post_training/arguments.py")


def _is(node, name: str) -> bool:
    return isinstance(node, ast.Call) and name in (getattr(node.func, "id", None), getattr(node.func, "attr", None))


def _keywords(call) -> dict:
    return {word.arg: word.value for word in call.keywords}


def _added(call):
    """@return spellings and number of values of a call of add_argument()"""
    words, names = _keywords(call), [ast.literal_eval(name) for name in call.args]
    action = ast.unparse(words["action"]) if "action" in words else ""
    if "BooleanOptionalAction" in action:
        names += ["--no-" + name[2:] for name in names]
    return names, SWITCH if "store_" in action or "Boolean" in action else LIST if "nargs" in words else VALUE


def _field(statement):
    """@return spellings and number of values of a field of a dataclass, as ArgumentGroupFactory makes them"""
    kind, default, meta = ast.unparse(statement.annotation), statement.value, {}
    if _is(default, "field"):
        words = _keywords(default)
        if "metadata" in words:
            argument = next(iter(words["metadata"].values))
            meta = {key.value: value for key, value in zip(argument.keys, argument.values)}
        default = words.get("default")
    if "bool" in kind and "list" not in kind.lower():
        is_on = isinstance(default, ast.Constant) and default.value is True
        names = [f"--{prefix}{statement.target.id}" for prefix in (("no-", "disable-") if is_on else ("",))]
        count = SWITCH
    else:
        names, count = ["--" + statement.target.id], LIST if "list" in kind.lower() or "nargs" in meta else VALUE
    return ast.literal_eval(meta["arg_names"]) if "arg_names" in meta else [name.replace("_", "-")
        for name in names], count


def _fields(name: str, classes: dict) -> dict:
    node, found = classes[name], {}
    for base in node.bases:
        found.update(_fields(base.id, classes) if getattr(base, "id", None) in classes else {})
    found.update((s.target.id, s) for s in node.body if isinstance(s, ast.AnnAssign)
                 and "init=False" not in ast.unparse(s))
    return found


def arguments(checkout: pathlib.Path) -> list:
    """@return spellings, and number of values, of each argument"""
    classes = {node.name: node for path in sorted(checkout.glob("megatron/**/*.py"))
               for node in ast.parse(path.read_text()).body
               if isinstance(node, ast.ClassDef)}
    found = []
    for function in (node for path in FILES for node in ast.parse((checkout / path).read_text()).body
                     if isinstance(node, ast.FunctionDef)):
        excluded: list = []
        for node in sorted((n for n in ast.walk(function) if hasattr(n, "lineno")), key=lambda n: n.lineno):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "exclude":
                excluded = ast.literal_eval(node.value)
            elif _is(node, "add_argument") and node.args:
                found.append(_added(node))
            elif _is(node, "ArgumentGroupFactory"):
                given = _keywords(node).get("exclude")
                without = excluded if isinstance(given, ast.Name) else ast.literal_eval(given) if given else []
                found += [_field(s) for name, s in _fields(node.args[0].id, classes).items() if name not in without]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path, help=f"a folder with {FILES[0]}")
    checkout = parser.parse_args().checkout
    if not (checkout / FILES[0]).is_file():
        parser.error(f"{checkout} has no {FILES[0]}; expected a checkout of Megatron-LM")
    for spelled, number in arguments(checkout):
        print(number, *spelled)


if __name__ == "__main__":
    main()
