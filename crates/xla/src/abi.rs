//! What XLA hands to a handler, as its header `xla/ffi/api/c_api.h` lays it out in memory.
//!
//! Structures begin with their size; later versions append fields, so that these declarations are prefixes of theirs.

use std::ffi::{c_char, c_int, c_void};

/// A link of a chain of extensions.
#[repr(C)]
pub struct Extension {
    pub size: usize,
    pub kind: c_int,
    pub next: *mut Extension,
}

/// A version of the interface.
#[repr(C)]
pub struct Version {
    pub size: usize,
    pub extension: *mut Extension,
    pub major: c_int,
    pub minor: c_int,
}

/// What a handler says of itself.
#[repr(C)]
pub struct Metadata {
    pub size: usize,
    pub version: Version,
    pub traits: u32,
}

/// The extension by which XLA asks what a handler is.
#[repr(C)]
pub struct MetadataExtension {
    pub base: Extension,
    pub metadata: *mut Metadata,
}

/// `Extension::kind` of a [`MetadataExtension`].
pub const METADATA: c_int = 1;

/// An array.
#[repr(C)]
pub struct Buffer {
    pub size: usize,
    pub extension: *mut Extension,
    pub dtype: c_int,
    pub data: *mut c_void,
    pub rank: i64,
    pub dims: *const i64,
}

/// Arguments, or results.
#[repr(C)]
pub struct Buffers {
    pub size: usize,
    pub extension: *mut Extension,
    pub count: i64,
    pub kinds: *const c_int,
    pub items: *const *mut c_void,
}

/// Kind of arguments and results that are a [`Buffer`].
pub const BUFFER: c_int = 1;

/// Text without an end mark.
#[repr(C)]
pub struct Span {
    pub data: *const c_char,
    pub len: usize,
}

/// A number among the attributes.
#[repr(C)]
pub struct Scalar {
    pub dtype: c_int,
    pub value: *const c_void,
}

/// Named constants of a call.
#[repr(C)]
pub struct Attributes {
    pub size: usize,
    pub extension: *mut Extension,
    pub count: i64,
    pub kinds: *const c_int,
    pub names: *const *const Span,
    pub values: *const *const c_void,
}

/// Kind of attributes that are a [`Scalar`].
pub const SCALAR: c_int = 3;

/// Types of numbers.
pub const I64: c_int = 5;
pub const F32: c_int = 11;
pub const F64: c_int = 12;

/// What [`Api::error_create`] is handed.
#[repr(C)]
pub struct ErrorArguments {
    pub size: usize,
    pub extension: *mut Extension,
    pub message: *const c_char,
    pub code: c_int,
}

/// `ErrorArguments::code` of an argument that makes no sense, and of a failure inside.
pub const INVALID_ARGUMENT: c_int = 3;
pub const INTERNAL: c_int = 13;

/// Functions of XLA; those after the one that is called are left out.
#[repr(C)]
pub struct Api {
    pub size: usize,
    pub extension: *mut Extension,
    pub version: Version,
    pub internal: *const c_void,
    pub error_create: unsafe extern "C" fn(*mut ErrorArguments) -> *mut c_void,
}

/// A call.
#[repr(C)]
pub struct Frame {
    pub size: usize,
    pub extension: *mut Extension,
    pub api: *const Api,
    pub context: *mut c_void,
    pub stage: c_int,
    pub arguments: Buffers,
    pub results: Buffers,
    pub attributes: Attributes,
}
