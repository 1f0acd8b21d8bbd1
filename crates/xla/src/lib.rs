//! Handlers of XLA's foreign function interface: functions of Rust that programs of JAX call, without C, C++ or headers.
//!
//! A [`Handler`] sees arrays as slices and numbers by name; [`address`] is what JAX registers. Errors and panics become
//! errors of XLA. Handlers declare version 0.1 of the interface, which jaxlib from 0.4.38 on takes.
//!
//! `unsafe` is here because the interface is made of pointers: `serve` trusts XLA that a frame is what its header says,
//! checks every kind, type and count it finds in it, and hands safe types on.

mod abi;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::ffi::{CString, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use abi::{Attributes, Buffer, Buffers, Extension, Frame, MetadataExtension, Scalar, Span, Version};

/// What a handler does.
pub trait Handler {
    /// Reads the arguments and writes the results; an error is the text of an `InvalidArgument` of XLA.
    fn call(call: Call<'_>) -> Result<(), String>;
}

/// Numbers of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Numbers of a result.
#[derive(Debug, PartialEq)]
pub enum NumbersMut<'a> {
    /// Single precision.
    F32(&'a mut [f32]),
    /// Double precision.
    F64(&'a mut [f64]),
}

/// An array in the order of its indices, the last of which runs fastest.
#[derive(Debug)]
pub struct Array<'a, N> {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub numbers: N,
    lifetime: std::marker::PhantomData<&'a ()>,
}

/// A call of a handler.
pub struct Call<'a> {
    /// What it is given.
    pub arguments: Vec<Array<'a, Numbers<'a>>>,
    /// Where its results go.
    pub results: Vec<Array<'a, NumbersMut<'a>>>,
    attributes: &'a Attributes,
}

/// The address of the function that XLA calls for a handler.
pub fn address<H: Handler>() -> usize {
    serve::<H> as unsafe extern "C" fn(*mut Frame) -> *mut c_void as usize
}

/// Serves a call of XLA; null is success.
///
/// # Safety
/// `frame` must point to a frame of XLA, which is valid for reading and whose results are valid for writing during the
/// call, and to which nothing else writes.
unsafe extern "C" fn serve<H: Handler>(frame: *mut Frame) -> *mut c_void {
    // SAFETY: the caller hands a valid frame.
    let frame = unsafe { &*frame };
    // SAFETY: as above; extensions are part of the frame.
    if unsafe { tell_version(frame.extension) } {
        return std::ptr::null_mut();
    }
    let work = || {
        // SAFETY: as above.
        let call = unsafe { Call::read(frame) };
        call.and_then(H::call).map_err(|text| (abi::INVALID_ARGUMENT, text))
    };
    let (code, text) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return std::ptr::null_mut(),
        Ok(Err(error)) => error,
        Err(panic) => {
            (abi::INTERNAL, format!("the engine panicked, which is a defect of it: {}", said(&*panic)))
        }
    };
    // SAFETY: as above; XLA's functions outlive the call.
    unsafe { error(frame, code, text) }
}

/// Answers the question for the version, if it was asked.
///
/// # Safety
/// The chain must be valid, and its metadata valid for writing.
unsafe fn tell_version(mut extension: *mut Extension) -> bool {
    while !extension.is_null() {
        // SAFETY: links of the chain are valid or null.
        let link = unsafe { &*extension };
        if link.kind == abi::METADATA {
            // SAFETY: a link of this kind begins a `MetadataExtension`.
            let metadata = unsafe { &mut *(*extension.cast::<MetadataExtension>()).metadata };
            metadata.version =
                Version { size: size_of::<Version>(), extension: std::ptr::null_mut(), major: 0, minor: 1 };
            metadata.traits = 0;
            return true;
        }
        extension = link.next;
    }
    false
}

/// An error of XLA.
///
/// # Safety
/// The functions of the frame must be valid.
unsafe fn error(frame: &Frame, code: c_int, text: String) -> *mut c_void {
    let message = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let mut arguments = abi::ErrorArguments {
        // As the header counts it: up to the end of the last field, without padding.
        size: std::mem::offset_of!(abi::ErrorArguments, code) + size_of::<c_int>(),
        extension: std::ptr::null_mut(),
        message: message.as_ptr(),
        code,
    };
    // SAFETY: the caller vouches for the function; it copies the text.
    unsafe { ((*frame.api).error_create)(&raw mut arguments) }
}

impl<'a> Call<'a> {
    /// What a frame says.
    ///
    /// # Safety
    /// The frame and all that it points to must be valid for `'a`, and its results for writing by nobody else.
    unsafe fn read(frame: &'a Frame) -> Result<Self, String> {
        // SAFETY: the caller vouches for the frame.
        let (arguments, results) = unsafe { (items(&frame.arguments)?, items(&frame.results)?) };
        // SAFETY: as above.
        let arguments = arguments.into_iter().map(|buffer| unsafe { argument(buffer) });
        // SAFETY: as above.
        let results = results.into_iter().map(|buffer| unsafe { result(buffer) });
        Ok(Call {
            arguments: arguments.collect::<Result<_, _>>()?,
            results: results.collect::<Result<_, _>>()?,
            attributes: &frame.attributes,
        })
    }

    /// The integer attribute called `name`.
    pub fn integer(&self, name: &str) -> Result<i64, String> {
        let Attributes { count, kinds, names, values, .. } = *self.attributes;
        for i in 0..count.max(0) as usize {
            // SAFETY: `read` was promised a valid frame, which has this many kinds, names and values.
            let (kind, named, value) = unsafe { (*kinds.add(i), &**names.add(i), *values.add(i)) };
            let Span { data, len } = *named;
            // SAFETY: as above; a name is as long as it says.
            if unsafe { slice(data.cast::<u8>(), len) } != name.as_bytes() {
                continue;
            }
            if kind != abi::SCALAR {
                return Err(format!("attribute `{name}` is no number"));
            }
            // SAFETY: as above; an attribute of this kind is a `Scalar`.
            let Scalar { dtype, value } = unsafe { value.cast::<Scalar>().read() };
            if dtype != abi::I64 {
                return Err(format!("attribute `{name}` is no 64-bit integer: pass numpy.int64"));
            }
            // SAFETY: as above; the value has this type.
            return Ok(unsafe { value.cast::<i64>().read() });
        }
        Err(format!("there is no attribute `{name}`"))
    }
}

/// The arrays of a list.
///
/// # Safety
/// The list must be valid for as long as it is borrowed.
unsafe fn items(list: &Buffers) -> Result<Vec<&Buffer>, String> {
    let one = |i: usize| {
        // SAFETY: the list has this many kinds and items.
        match unsafe { *list.kinds.add(i) } {
            // SAFETY: an item of this kind is a `Buffer`.
            abi::BUFFER => Ok(unsafe { &*(*list.items.add(i)).cast::<Buffer>() }),
            kind => Err(format!("argument or result {i} is of kind {kind}, which is no array")),
        }
    };
    (0..list.count.max(0) as usize).map(one).collect()
}

/// # Safety
/// The array must be valid for `'a`.
unsafe fn argument<'a>(buffer: &Buffer) -> Result<Array<'a, Numbers<'a>>, String> {
    // SAFETY: the caller vouches for the array.
    let (shape, len) = unsafe { shape(buffer) };
    let numbers = match buffer.dtype {
        // SAFETY: as above, with this type.
        abi::F32 => Numbers::F32(unsafe { slice(buffer.data.cast::<f32>(), len) }),
        // SAFETY: as above, with this type.
        abi::F64 => Numbers::F64(unsafe { slice(buffer.data.cast::<f64>(), len) }),
        other => return Err(other_type(other)),
    };
    Ok(Array { shape, numbers, lifetime: std::marker::PhantomData })
}

/// # Safety
/// The array must be valid for `'a`, for writing by nobody else.
unsafe fn result<'a>(buffer: &Buffer) -> Result<Array<'a, NumbersMut<'a>>, String> {
    // SAFETY: the caller vouches for the array.
    let (shape, len) = unsafe { shape(buffer) };
    let numbers = match buffer.dtype {
        // SAFETY: as above, with this type.
        abi::F32 => NumbersMut::F32(unsafe { slice_mut(buffer.data.cast::<f32>(), len) }),
        // SAFETY: as above, with this type.
        abi::F64 => NumbersMut::F64(unsafe { slice_mut(buffer.data.cast::<f64>(), len) }),
        other => return Err(other_type(other)),
    };
    Ok(Array { shape, numbers, lifetime: std::marker::PhantomData })
}

fn other_type(dtype: c_int) -> String {
    format!("arrays must be float32 or float64, not XLA's type {dtype}")
}

/// Shape and number of entries.
///
/// # Safety
/// The array must be valid.
unsafe fn shape(buffer: &Buffer) -> (Vec<usize>, usize) {
    // SAFETY: the caller vouches for the array, which has this many sides.
    let dims = unsafe { slice(buffer.dims, buffer.rank.max(0) as usize) };
    let shape: Vec<usize> = dims.iter().map(|n| (*n).max(0) as usize).collect();
    let len = shape.iter().product();
    (shape, len)
}

/// A slice that may be empty, in which case the pointer may be anything.
///
/// # Safety
/// Unless `len` is zero, `data` must be valid for reading `len` entries during `'a`.
unsafe fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    // SAFETY: the caller vouches for the pointer.
    if len == 0 { &[] } else { unsafe { from_raw_parts(data, len) } }
}

/// The same for writing.
///
/// # Safety
/// Unless `len` is zero, `data` must be valid for writing `len` entries during `'a`, by nobody else.
unsafe fn slice_mut<'a, T>(data: *mut T, len: usize) -> &'a mut [T] {
    // SAFETY: the caller vouches for the pointer.
    if len == 0 { &mut [] } else { unsafe { from_raw_parts_mut(data, len) } }
}

/// The text of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}
