"""MXNet's names of NumPy operators, and the functions of ``mx.np`` that compute them."""

from . import named_calls

# Parameters that are ignored.
IGNORED_PARAMS = ("ctx", "num_args", "optimize", "order", "copy", "is_ascend", "size1", "is_int")

# Columns: name, function, arrays, parameters (MXNet's=NumPy's), output dtypes, output count. "*":
# all inputs as a sequence, "**": one by one; "low?": an array unless a parameter is given.
_OPERATOR_TABLE = """
_np_all np.all a axis,keepdims bool
_np_any np.any a axis,keepdims bool
_np_cumsum np.cumsum a axis,dtype sum
_npi_argmax np.argmax a axis,keepdims int64
_npi_argmin np.argmin a axis,keepdims int64
_npi_absolute np.absolute x
_npi_sign np.sign x
_npi_square np.square x
_npi_ceil np.ceil x
_npi_floor np.floor x
_npi_trunc np.trunc x
_npi_fix np.fix x
_np_amax np.max a axis,keepdims
_np_amin np.min a axis,keepdims
_np_product np.prod a axis,dtype,keepdims sum
_np_sometrue np.any a axis,keepdims bool
_npi_inv np.linalg.inv a - float
_npi_split named.split a - same parts
_npx_batch_flatten npx.batch_flatten x
_np_copy np.copy a
_np_atleast_1d np.atleast_1d ** - same num_args
_np_atleast_2d np.atleast_2d ** - same num_args
_np_atleast_3d np.atleast_3d ** - same num_args
_np_diag np.diag v k
_np_diagflat np.diagflat v k
_np_diagonal np.diagonal a offset,axis1,axis2
_np_dot np.dot a,b
_np_moveaxis np.moveaxis a source,destination
_np_repeat np.repeat a repeats,axis
_np_roll np.roll a shift,axis
_np_squeeze np.squeeze a axis
_np_trace np.trace a offset,axis1,axis2 sum
_np_transpose np.transpose a axes
_npi_arange np.arange - start,stop,step,dtype
_npi_argsort np.argsort a axis int64
_npi_around np.around a decimals
_npi_bernoulli npx.random.bernoulli prob? prob,logit,size,dtype float32
_npi_bincount np.bincount x,weights? minlength int64
_npi_blackman np.blackman - M,dtype float32
_npi_hamming np.hamming - M,dtype float32
_npi_hanning np.hanning - M,dtype float32
_npi_broadcast_to np.broadcast_to array shape
_npi_cholesky np.linalg.cholesky a - float
_npi_clip np.clip a a_min,a_max
_npi_column_stack np.column_stack *
_npi_concatenate np.concatenate * axis
_npi_copyto np.copy a
_npi_diff np.diff a n,axis
_npi_dstack np.dstack *
_npi_hstack np.hstack *
_npi_vstack np.vstack *
_npi_stack np.stack * axis
_npi_eig np.linalg.eig a - float 2
_npi_eigh np.linalg.eigh a UPLO float 2
_npi_eigvals np.linalg.eigvals a - float
_npi_eigvalsh np.linalg.eigvalsh a UPLO float
_npi_expand_dims np.expand_dims a axis
_npi_exponential np.random.exponential scale? scale,size float32
_npi_eye np.eye - N,M,k,dtype
_npi_flip np.flip m axis
_npi_full np.full - shape,value=fill_value,dtype
_npi_full_like np.full_like a fill_value,dtype
_npi_gamma np.random.gamma shape?,scale? shape,scale,size,dtype float32
_npi_gumbel np.random.gumbel loc?,scale? loc,scale,size float32
_npi_indices np.indices - dimensions,dtype
_npi_isneginf np.isneginf x - bool
_npi_isposinf np.isposinf x - bool
_npi_linspace np.linspace - start,stop,num,endpoint,dtype
_npi_logistic np.random.logistic loc?,scale? loc,scale,size float32
_npi_logspace np.logspace - start,stop,num,endpoint,base,dtype
_npi_matmul np.matmul a,b
_npi_multinomial np.random.multinomial pvals? n,pvals,size int64
_npi_nan_to_num np.nan_to_num x nan,posinf,neginf
_npi_nonzero npx.nonzero a - int64
_npi_normal np.random.normal loc?,scale? loc,scale,size,dtype float32
_npi_normal_n npx.random.normal_n loc?,scale? loc=a,scale=b,size=batch_shape,dtype float32
_npi_ones np.ones - shape,dtype
_npi_pareto np.random.pareto a? a,size float32
_npi_percentile np.percentile a,q? q_scalar=q,axis,interpolation=method,keepdims float
_npi_pinv np.linalg.pinv a,rcond hermitian float
_npi_pinv_scalar_rcond np.linalg.pinv a rcond,hermitian float
_npi_powerd np.random.power a? a,size float32
_npi_random_randint np.random.randint - low,high,size,dtype int64
_npi_rayleigh np.random.rayleigh scale? scale,size float32
_npi_reshape np.reshape a newshape
_npi_rot90 np.rot90 m k,axes
_npi_share_memory np.shares_memory a,b - bool
_npi_solve np.linalg.solve a,b - float
_npi_sort np.sort a axis
_npi_std np.std a axis,dtype,ddof,keepdims float
_npi_svd np.linalg.svd a - float 3
_npi_swapaxes np.swapaxes a dim1=axis1,dim2=axis2
_npi_take np.take a,indices axis,mode first
_npi_tensordot_int_axes np.tensordot a,b axes
_npi_tensorinv np.linalg.tensorinv a ind float
_npi_tensorsolve np.linalg.tensorsolve a,b a_axes=axes float
_npi_tile np.tile A reps
_npi_tril np.tril m k
_npi_uniform np.random.uniform low?,high? low,high,size,dtype float32
_npi_uniform_n npx.random.uniform_n low?,high? low=a,high=b,size=batch_shape,dtype float32
_npi_unique np.unique ar return_index,return_inverse,return_counts,axis
_npi_var np.var a axis,dtype,ddof,keepdims float
_npi_weibull np.random.weibull a? a,size float32
_npi_where np.where condition,x,y - second
_npi_zeros np.zeros - shape,dtype
_npx_constraint_check npx.constraint_check input msg bool
_npx_nonzero npx.nonzero a - int64
_npx_reshape npx.reshape a newshape,reverse
_npi_average named.average a,weights? - float averages
_npi_boolean_mask named.mask_elements data,mask - first
_npi_boolean_mask_assign_scalar named.put_number data,mask - first
_npi_boolean_mask_assign_tensor named.put_array data,mask,value - first
_npi_choice named.choice input1?,input2? - int64
_npi_delete named.delete_elements arr,obj? - first
_npi_diag_indices_from named.diagonal_indices a - int64
_npi_dsplit named.split_axis_2 a - same parts
_npi_hsplit named.split_axis_1 a - same parts
_npi_ediff1d named.differences ary,first?,last? - same
_npi_einsum named.einsum **
_npi_identity named.identity -
_npi_insert_scalar named.insert_elements arr,values? - first
_npi_insert_slice named.insert_elements arr,values? - first
_npi_insert_tensor named.insert_by_array arr,values?,obj? - first
_npi_norm named.norm a - float
_npi_pad named.pad a
_npi_polyval named.polyval p,x
_npi_tensordot named.tensordot a,b
_npi_where_lscalar named.where_scalar_left condition,y - number
_npi_where_rscalar named.where_scalar_right condition,x - number
_np_call named.call ** - call call
_npi_where_scalar2 named.where_numbers condition - float32
"""


class Row:  # a function of mx.np under MXNet's name
    """The meaning of an operator's name in mx.np.

    path (str): The function; ``named.x`` is a function of `named_calls` of inputs and parameters.
    arrays (list of str): Its parameters that are arrays.
    words (dict of str to str): MXNet's parameter to the function's.
    kind (str): How outputs get their dtypes, see `NumpyFunction.infer_type`.
    """

    def __init__(self, path, arrays="-", words="-", kind="same", outputs="1"):
        self.path, self.kind = path, kind
        self.arrays = [] if arrays == "-" else arrays.split(",")
        pairs = [] if words == "-" else [each.split("=") for each in words.split(",")]
        self.words = {pair[0]: pair[-1] for pair in pairs}
        self._outputs = outputs
        self.doc = f"``mx.{path}`` under MXNet's name."

    def input_count(self, given):
        """Return the number of inputs of a node that was not read from a file."""
        return sum(not each.endswith("?") for each in self.arrays)

    def output_count(self, given):
        """Return the number of outputs."""
        if self._outputs.isdigit():
            return int(self._outputs)
        if self._outputs == "num_args":
            return given.get("num_args", 1)
        if self._outputs == "call":
            return given.get("num_outputs", 1)
        if self._outputs == "averages":
            return 1 + bool(given.get("returned", False))
        return given.get("sections") or len(given.get("indices", (0,)))

    def call_function(self, lookup, inputs, given):
        """Call the function with the inputs; return its outputs."""
        if self.path.startswith("named."):
            return getattr(named_calls, self.path[6:])(lookup, inputs, given)
        function = lookup(self.path)
        more = {
            self.words[key]: value
            for key, value in given.items()
            if key not in IGNORED_PARAMS and not (value is None and f"{key}?" in self.arrays)
        }
        if self.arrays == ["*"]:
            return function(inputs, **more)
        if self.arrays == ["**"]:
            return function(*inputs, **more)
        free = [name.rstrip("?") for name in self.arrays]
        words = [self.words.get(name, name) for name in free]
        words = [name for name in words if name not in more]
        return function(**dict(zip(words, inputs)), **more)


ROWS = {line.split()[0]: Row(*line.split()[1:]) for line in _OPERATOR_TABLE.strip().splitlines()}
