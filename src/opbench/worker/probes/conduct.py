"""What torch's operators do with the tensors they take, where that is not "read all of it"."""

from __future__ import annotations

# Read a part of a tensor: a triangle, a diagonal, what other numbers tell them to.
PARTIAL_READERS = frozenset(
    {
        "_ctc_loss",
        "_grid_sampler_2d_cpu_fallback",
        "_linalg_eigh",
        "_local_scalar_dense",
        "_segment_reduce_backward",
        "_unsafe_index",
        "_unsafe_masked_index",
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
        "bucketize",
        "cholesky",
        "cholesky_inverse",
        "cholesky_solve",
        "constant_pad_nd",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "grid_sampler_2d",
        "grid_sampler_3d",
        "linalg_cholesky_ex",
        "linalg_eigh",
        "linalg_householder_product",
        "linalg_ldl_solve",
        "linalg_lu_solve",
        "linalg_solve_triangular",
        "lu_unpack",
        "masked_scatter",
        "masked_select",
        "max_unpool2d",
        "max_unpool3d",
        "multi_margin_loss",
        "nll_loss2d_forward",
        "nll_loss_forward",
        "ormqr",
        "searchsorted",
        "segment_reduce",
        "trace",
        "triangular_solve",
        "tril",
        "triu",
        "upsample_bicubic2d",
        "upsample_bilinear2d",
        "upsample_linear1d",
        "upsample_nearest1d",
        "upsample_nearest2d",
        "upsample_nearest3d",
        "upsample_trilinear3d",
    }
)
# Take a tensor for its shape alone, and which argument that is.
UNREAD = dict.fromkeys(
    (
        "_adaptive_avg_pool2d_backward",
        "_adaptive_avg_pool3d_backward",
        "adaptive_max_pool2d_backward",
        "adaptive_max_pool3d_backward",
        "avg_pool2d_backward",
        "avg_pool3d_backward",
        "max_pool2d_with_indices_backward",
        "max_pool3d_with_indices_backward",
        "nll_loss2d_backward",
        "nll_loss_backward",
        "reflection_pad1d_backward",
        "reflection_pad2d_backward",
        "reflection_pad3d_backward",
        "replication_pad1d_backward",
        "replication_pad2d_backward",
        "replication_pad3d_backward",
    ),
    1,
)
# Write a part of the tensor they change.
PARTIAL_WRITERS = frozenset(
    {
        "_index_put_impl_",
        "embedding_renorm_",
        "fill_diagonal_",
        "index_add_",
        "index_copy_",
        "index_fill_",
        "index_put_",
        "index_reduce_",
        "masked_fill_",
        "masked_scatter_",
        "put_",
        "scatter_",
        "scatter_add_",
        "scatter_reduce_",
        "tril_",
        "triu_",
    }
)
# Write all of the tensor they change, whatever it was before.
OVERWRITERS = frozenset(
    {
        "bernoulli_",
        "cauchy_",
        "copy_",
        "exponential_",
        "fill_",
        "geometric_",
        "log_normal_",
        "normal_",
        "random_",
        "uniform_",
        "zero_",
    }
)
# Give a tensor other memory, or more of it.
REPLACERS = frozenset({"resize_", "resize_as_", "set_"})
# Make a tensor and write nothing to it.
BLANK_MAKERS = ("empty", "new_empty")


def reads_shape_only(name: str) -> bool:
    """Whether an operator only looks at the shape and type of its arguments."""
    return name.startswith(("new_", "empty", "sym_")) or name.endswith("_like")
