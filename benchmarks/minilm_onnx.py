"""Builds an ONNX graph of a small BERT encoder from its weights, for runtimes that fairtrial is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairtrial.valuation.bert import Bert

Floats = NDArray[np.float32]

_FUSED = "com.microsoft"
_OPSET = 17
_IR_VERSION = 8
_EPSILON = 1e-12


class _Builder:
    """Collects the nodes and the weights of a graph. A weight gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, array: Floats) -> str:
        """Add a weight, and return its name."""
        from onnx import numpy_helper

        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, inputs: list[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Add a node, and return the names of its outputs."""
        from onnx import helper

        names = [f"node_{len(self.nodes)}_{place}" for place in range(outputs)]
        domain = "" if operator == "MatMul" else _FUSED
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names

    def add_and_normalise(self, rows: str, skip: str, bias: Floats, norm: tuple[Floats, Floats]) -> str:
        """Add the nodes that normalise the sum of two layers and a bias, and return the name of their output."""
        weights = [self.weight(array) for array in (*norm, bias)]
        return self.node("SkipLayerNormalization", [rows, skip, *weights], epsilon=_EPSILON)[0]


def build_graph(bert: Bert) -> Any:
    """Return the model as a graph from token ids and their mask, both of shape (texts, tokens), to hidden layers."""
    from onnx import TensorProto, helper

    builder = _Builder()
    words, positions, *norm = (builder.weight(array) for array in (bert.words, bert.positions, *bert.first_norm))
    inputs = ["ids", "", words, positions, "", *norm, "mask"]
    hidden, ends = builder.node("EmbedLayerNormalization", inputs, 2, epsilon=_EPSILON)
    for joined, projection, attention_norm, wide, narrow, output_norm in bert.layers:
        parts = [hidden, *(builder.weight(array) for array in joined), ends]
        # The scale 1 / sqrt(head size) is in the weights of the queries already.
        (mixed,) = builder.node("Attention", parts, num_heads=bert.heads, scale=1.0)
        (projected,) = builder.node("MatMul", [mixed, builder.weight(projection[0])])
        attended = builder.add_and_normalise(projected, hidden, projection[1], attention_norm)
        (inner,) = builder.node("MatMul", [attended, builder.weight(wide[0])])
        (inner,) = builder.node("BiasGelu", [inner, builder.weight(wide[1])])
        (outer,) = builder.node("MatMul", [inner, builder.weight(narrow[0])])
        hidden = builder.add_and_normalise(outer, attended, narrow[1], output_norm)
    tokens = [helper.make_tensor_value_info(name, TensorProto.INT32, ["texts", "tokens"]) for name in ("ids", "mask")]
    rows = helper.make_tensor_value_info(hidden, TensorProto.FLOAT, ["texts", "tokens", bert.dimensions])
    graph = helper.make_graph(builder.nodes, "bert", tokens, [rows], builder.weights)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
