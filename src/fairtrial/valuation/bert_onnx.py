"""Vectors of a small BERT encoder, computed by onnxruntime from a graph that is built from its weights.

The graph uses the fused operators of onnxruntime, so that no optimizer has to find them again. Its vectors differ from
those of `bert` by less than 1e-6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fairtrial.valuation.bert import Bert

Floats = NDArray[np.float32]

_FUSED = "com.microsoft"
_OPSET = 17
_IR_VERSION = 8
_EPSILON = 1e-12


class OnnxBert:
    """The model of a `Bert`, ready to compute with `encode`. One thread computes, because processes share the cores."""

    def __init__(self, bert: Bert) -> None:
        import onnxruntime

        self.dimensions, self.longest = bert.dimensions, bert.longest
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = build_graph(bert).SerializeToString()
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def encode(self, ids: list[list[int]]) -> Floats:
        """Return one vector of unit length for each list of token ids, shape (n, dimensions)."""
        lengths = np.array([len(tokens) for tokens in ids])
        mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)
        padded = np.zeros_like(mask)
        padded[mask == 1] = np.concatenate([np.asarray(tokens) for tokens in ids])
        (hidden,) = self._session.run(None, {"ids": padded, "mask": mask})
        pooled: Floats = np.stack([row[:length].mean(axis=0) for row, length in zip(hidden, lengths, strict=True)])
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled


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
