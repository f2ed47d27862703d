"""The JSON Schema of suites, for editors that check while one types.

It says what a schema can: names, types and bounds. What fields mean together (an index that does not fit into
its dtype, two equal cases) the checks of `check*.py` say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from opbench.cases import names
from opbench.cases.check import LARGEST_SEED, MOST_TAGS, MOST_THREADS
from opbench.cases.check_fields import INFINITIES_AND_NAN
from opbench.cases.check_fills import FILL_KINDS, INT64, MOST_LITERALS
from opbench.cases.check_tensors import INT64_MAX, LARGEST_SCALE, MOST_DIMENSIONS
from opbench.cases.check_values import LONGEST_NAME, MOST_ITEMS, TYPE_ALIASES, VALUE_TYPES
from opbench.cases.dtypes import DTYPE_NAMES, PARAMETER_DTYPES
from opbench.cases.names import DEVICE_KINDS, LONGEST_OPERATOR

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_FLOAT: Schema = {"anyOf": [_NUMBER, {"enum": list(INFINITIES_AND_NAN)}]}
_ANY_NUMBER: Schema = {"anyOf": [_NUMBER, _BOOLEAN, {"enum": list(INFINITIES_AND_NAN)}]}
_DTYPE: Schema = {"$ref": "#/$defs/dtype"}
_DEVICE: Schema = {"$ref": "#/$defs/device"}
_VALUE: Schema = {"$ref": "#/$defs/value"}
_VALUES: Schema = {"$ref": "#/$defs/values"}
_NAMED_VALUES: Schema = {"$ref": "#/$defs/named_values"}
_NOTHING: Schema = {"maxItems": 0, "maxProperties": 0}
_NOTHING_BUILT: Schema = {
    "maxItems": 0,
    "properties": {"args": _NOTHING, "kwargs": _NOTHING, "dtype": {"const": ""}},
}


def suite_schema() -> Schema:
    """The JSON Schema of a suite; that of one of its cases is `$defs/case` in it."""
    return {
        "$schema": DIALECT,
        "title": "opbench suite",
        **_object(
            {
                "opbench": {"const": 1, "description": "version of the format"},
                "name": _TEXT,
                "description": _TEXT,
                "defaults": {"$ref": "#/$defs/defaults"},
                "cases": {"type": "array", "items": {"$ref": "#/$defs/case"}, "minItems": 1},
                "$schema": True,
            },
            ("opbench", "cases"),
        ),
        "$defs": _definitions(),
    }


def _definitions() -> Schema:
    variant = _optional(
        {
            "direction": _choice(names.DIRECTIONS, "forward"),
            "runtime": _choice(names.RUNTIMES, "eager"),
            "device": _DEVICE,
            "num_threads": {**_integer(1, MOST_THREADS), "default": 1},
            "seed": {**_integer(0, LARGEST_SEED), "default": 0},
            "label": _TEXT,
            "sub_label": _TEXT,
            "description": _TEXT,
            "tags": {"anyOf": [{"type": "string", "minLength": 1}, _tags()]},
            "weight": {"type": "number", "exclusiveMinimum": 0, "default": 1},
        }
    )
    snippet = _optional(
        {
            "setup": _TEXT,
            "global_setup": _TEXT,
            "language": _choice((*names.LANGUAGES, *names.LANGUAGE_ALIASES), "python"),
        }
    )
    parameters = ["", *(spelling for spelling, name in DTYPE_NAMES.items() if name in PARAMETER_DTYPES)]
    built = {"args": _VALUES, "kwargs": _NAMED_VALUES, "dtype": {"enum": parameters}}
    call = _optional(
        {
            "build": {"anyOf": [_VALUES, _object(built)]},
            "args": _VALUES,
            "kwargs": _NAMED_VALUES,
        }
    )
    work = {"op": {"anyOf": [{"$ref": "#/$defs/operator"}, {"const": ""}]}, "stmt": _TEXT}
    return {
        "case": {
            **_object(_optional(work) | call | snippet | variant),
            "oneOf": [
                {
                    "required": ["op"],
                    "properties": {
                        "op": {"minLength": 1, "not": {"type": "null"}},
                        "language": {"enum": [None, *_python()]},
                    }
                    | {name: {"enum": [None, ""]} for name in ("stmt", "setup", "global_setup")},
                },
                {
                    "required": ["stmt"],
                    "properties": {"stmt": {"minLength": 1}, "op": {"enum": [None, ""]}}
                    | {"build": _NOTHING_BUILT, "args": _NOTHING, "kwargs": _NOTHING},
                },
            ],
        },
        "defaults": _object(snippet | variant),
        "operator": {
            "type": "string",
            "maxLength": LONGEST_OPERATOR,
            "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)?(\.[A-Za-z_][A-Za-z0-9_]*)*$",
        },
        "device": {
            "type": "string",
            "pattern": f"^({'|'.join(DEVICE_KINDS)})(:(0|[1-9][0-9]{{0,2}}))?$",
        },
        "dtype": {"enum": list(DTYPE_NAMES)},
        "values": {"type": "array", "items": _VALUE, "maxItems": MOST_ITEMS},
        "named_values": {
            "type": "object",
            "additionalProperties": _VALUE,
            "propertyNames": {"minLength": 1, "maxLength": LONGEST_NAME},
            "maxProperties": MOST_ITEMS,
        },
        "value": {
            "anyOf": [
                {"type": ["number", "string", "boolean", "null"]},
                _VALUES,
                {"$ref": "#/$defs/typed_value"},
            ]
        },
        "typed_value": _tagged("type", _value_fields(), _spellings()),
        "fill": {
            "anyOf": [
                {"enum": [kind for kind, (_, required) in _fill_fields().items() if not required]},
                _NUMBER,
                _BOOLEAN,
                _tagged("kind", _fill_fields(), {kind: [kind] for kind in FILL_KINDS}),
            ]
        },
    }


Fields: TypeAlias = Mapping[str, tuple[Schema, tuple[str, ...]]]


def _value_fields() -> Fields:
    """Fields of each type of value, and which of them there must be."""
    whole, step = _integer(*INT64), {**_integer(*INT64), "not": {"const": 0}}
    value = ("value",)
    return {
        "tensor": (_tensor_fields(), ("shape",)),
        "int": (
            _optional({"value": _integer(INT64[0], 2**64 - 1), "value_range": _pair(_integer(*INT64))}),
            (),
        ),
        "float": (_optional({"value": _FLOAT, "value_range": _pair(_NUMBER)}), ()),
        "complex": ({"real": _FLOAT, "imag": _FLOAT}, ()),
        "bool": ({"value": _BOOLEAN}, value),
        "str": ({"value": _TEXT}, value),
        "none": ({}, ()),
        "device": (_optional({"value": _DEVICE}), ()),
        "dtype": ({"value": _DTYPE}, value),
        "layout": ({"value": _choice(names.LAYOUT_NAMES)}, value),
        "memory_format": ({"value": _choice(names.MEMORY_FORMAT_NAMES)}, value),
        "generator": ({}, ()),
        "slice": (_optional({"start": whole, "stop": whole, "step": step}), ()),
        "ellipsis": ({}, ()),
        "list": ({"value": _VALUES}, ()),
        "tuple": ({"value": _VALUES}, ()),
        "dict": ({"value": _NAMED_VALUES}, ()),
    }


def _tensor_fields() -> Schema:
    sizes = {"type": "array", "items": _integer(0, INT64_MAX), "maxItems": MOST_DIMENSIONS}
    scheme = {
        "scale": {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_SCALE, "default": 0.1},
        "zero_point": {**_integer(-(2**31), 2**31 - 1), "default": 0},
    }
    axis = {"axis": _integer(-MOST_DIMENSIONS, MOST_DIMENSIONS - 1)}
    schemes: Fields = {"per_tensor": (scheme, ()), "per_channel": (scheme | axis, ())}
    optional = {
        "fill": {"$ref": "#/$defs/fill"},
        "strides": sizes,
        "memory_format": _choice(names.MEMORY_FORMAT_NAMES),
        "block_shape": _pair(_integer(1, INT64_MAX)),
        "requires_grad": _BOOLEAN,
        "quantization": {
            "anyOf": [{"enum": list(schemes)}, _tagged("scheme", schemes, {name: [name] for name in schemes})]
        },
        "device": _DEVICE,
    }
    return {
        "shape": sizes,
        "dtype": _DTYPE,
        "storage_offset": {**_integer(0, INT64_MAX), "default": 0},
        "layout": _choice(names.LAYOUT_NAMES, "strided"),
        "density": {"type": "number", "minimum": 0, "maximum": 1},
        **_optional(optional),
    }


def _fill_fields() -> Fields:
    whole, bound = _integer(*INT64), _integer(1, INT64[1])
    low_high = {"low": {**_NUMBER, "default": 0}, "high": {**_NUMBER, "default": 1}}
    not_negative = {"type": "number", "minimum": 0}
    density = {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5}
    return {
        "normal": ({"mean": _NUMBER, "std": not_negative}, ()),
        "uniform": (low_high, ()),
        "integers": ({"low": whole, "high": _integer(INT64[0], 2**64)}, ("low", "high")),
        "indices": ({"bound": bound}, ("bound",)),
        "zipf": ({"bound": bound, "alpha": not_negative, "scatter": _BOOLEAN}, ("bound",)),
        "offsets": ({"total": _integer(0, INT64[1]), "include_last": _BOOLEAN}, ("total",)),
        "permutation": ({}, ()),
        "sorted": (low_high, ()),
        "mask": ({"density": density}, ()),
        "constant": ({"value": _ANY_NUMBER}, ()),
        "arange": ({"start": _ANY_NUMBER, "step": _ANY_NUMBER}, ()),
        "literal": (
            {"values": {"type": "array", "items": _ANY_NUMBER, "maxItems": MOST_LITERALS}},
            ("values",),
        ),
        "positive_definite": ({}, ()),
        "probabilities": ({}, ()),
        "file": (
            {
                "path": {"type": "string", "pattern": r"^(?!/)(?!.*[\\:])(?!(.*/)?\.\.(/|$)).*\.npy/*$"},
                "sha256": {"type": "string", "pattern": "^([0-9a-f]{64})?$"},
            },
            ("path",),
        ),
    }


def _spellings() -> dict[str, list[str]]:
    return {
        name: [name, *(alias for alias, meant in TYPE_ALIASES.items() if meant == name)]
        for name in VALUE_TYPES
    }


def _tagged(tag: str, kinds: Fields, spellings: Mapping[str, list[str]]) -> Schema:
    """An object whose field `tag` decides which other fields it has."""
    return {
        "type": "object",
        "required": [tag],
        "properties": {tag: {"enum": [name for kind in kinds for name in spellings[kind]]}},
        "allOf": [
            {
                "if": {"properties": {tag: {"enum": spellings[kind]}}, "required": [tag]},
                "then": _object({tag: True, **fields}, required),
            }
            for kind, (fields, required) in kinds.items()
        ],
    }


def _object(properties: Schema, required: Iterable[str] = ()) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def _optional(properties: Schema) -> Schema:
    """The same fields with null for "left to the default"."""
    return {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in properties.items()}


def _python() -> list[str]:
    return ["python", *(alias for alias, name in names.LANGUAGE_ALIASES.items() if name == "python")]


def _choice(valid: Iterable[str], default: str = "") -> Schema:
    return {"enum": list(valid)} | ({"default": default} if default else {})


def _integer(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def _pair(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 2, "maxItems": 2}


def _tags() -> Schema:
    return {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": MOST_TAGS}
