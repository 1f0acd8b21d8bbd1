//! Frames made by hand, as XLA makes them.

use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::abi::{self, Api, Attributes, Buffer, Buffers, ErrorArguments, Extension, Frame, Version};
use crate::{Call, Handler, Numbers, NumbersMut, serve};

/// y = x times the attribute `factor`.
struct Scale;

impl Handler for Scale {
    fn call(mut call: Call<'_>) -> Result<(), String> {
        let factor = call.integer("factor")?;
        let [x] = &call.arguments[..] else { return Err("one argument".into()) };
        let [y] = &mut call.results[..] else { return Err("one result".into()) };
        assert_eq!(x.shape, y.shape, "shapes differ");
        match (x.numbers, &mut y.numbers) {
            (Numbers::F32(x), NumbersMut::F32(y)) => {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = x * factor as f32);
            }
            (Numbers::F64(x), NumbersMut::F64(y)) => {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = x * factor as f64);
            }
            _ => return Err("types differ".into()),
        }
        Ok(())
    }
}

thread_local! {
    static TOLD: RefCell<Option<(c_int, String)>> = const { RefCell::new(None) };
}

/// Stands for XLA's function: keeps what it was told.
unsafe extern "C" fn error_create(arguments: *mut ErrorArguments) -> *mut c_void {
    // SAFETY: `serve` hands valid arguments.
    let ErrorArguments { size, message, code, .. } = unsafe { arguments.read() };
    assert_eq!(size, 28, "the header's own count");
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    TOLD.with(|told| *told.borrow_mut() = Some((code, text)));
    arguments.cast()
}

const NO_EXTENSION: *mut Extension = null_mut();

fn buffer<T>(dtype: c_int, data: &mut [T], dims: &[i64]) -> Buffer {
    let data = if data.is_empty() { null_mut() } else { data.as_mut_ptr().cast() };
    Buffer {
        size: size_of::<Buffer>(),
        extension: NO_EXTENSION,
        dtype,
        data,
        rank: dims.len() as i64,
        dims: dims.as_ptr(),
    }
}

/// Calls `Scale` with one attribute; what it was told if it failed.
fn call(
    mut x: Buffer,
    mut y: Buffer,
    (name, kind, dtype): (&str, c_int, c_int),
) -> Result<(), (c_int, String)> {
    let version = Version { size: size_of::<Version>(), extension: NO_EXTENSION, major: 0, minor: 1 };
    let api =
        Api { size: size_of::<Api>(), extension: NO_EXTENSION, version, internal: null(), error_create };
    let list = |kinds: &[c_int; 1], items: &[*mut c_void; 1]| Buffers {
        size: size_of::<Buffers>(),
        extension: NO_EXTENSION,
        count: 1,
        kinds: kinds.as_ptr(),
        items: items.as_ptr(),
    };
    let buffers = [abi::BUFFER];
    let (arguments, results) = ([(&raw mut x).cast()], [(&raw mut y).cast()]);
    let factor = 3i64;
    let scalar = abi::Scalar { dtype, value: (&raw const factor).cast() };
    let span = abi::Span { data: name.as_ptr().cast(), len: name.len() };
    let (kinds, names, values) = ([kind], [&raw const span], [(&raw const scalar).cast()]);
    let attributes = Attributes {
        size: size_of::<Attributes>(),
        extension: NO_EXTENSION,
        count: 1,
        kinds: kinds.as_ptr(),
        names: names.as_ptr(),
        values: values.as_ptr(),
    };
    let mut frame = Frame {
        size: size_of::<Frame>(),
        extension: NO_EXTENSION,
        api: &raw const api,
        context: null_mut(),
        stage: 3,
        arguments: list(&buffers, &arguments),
        results: list(&buffers, &results),
        attributes,
    };
    // SAFETY: the frame and all that it points to live until the end of this function.
    let answer = unsafe { serve::<Scale>(&raw mut frame) };
    match answer.is_null() {
        true => Ok(()),
        false => Err(TOLD.with(|told| told.borrow_mut().take()).unwrap()),
    }
}

const FACTOR: (&str, c_int, c_int) = ("factor", abi::SCALAR, abi::I64);

#[test]
fn arrays_of_both_precisions_are_read_and_written() {
    let (mut x, mut y) = ([1.0f64, 2.0, 3.0], [0.0; 3]);
    call(buffer(abi::F64, &mut x, &[3]), buffer(abi::F64, &mut y, &[3]), FACTOR).unwrap();
    assert_eq!(y, [3.0, 6.0, 9.0]);
    let (mut x, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [0.0f32; 4]);
    call(buffer(abi::F32, &mut x, &[2, 2]), buffer(abi::F32, &mut y, &[2, 2]), FACTOR).unwrap();
    assert_eq!(y, [3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn an_array_without_entries_may_have_no_memory() {
    let (mut x, mut y): ([f64; 0], [f64; 0]) = ([], []);
    call(buffer(abi::F64, &mut x, &[4, 0]), buffer(abi::F64, &mut y, &[4, 0]), FACTOR).unwrap();
}

#[test]
fn errors_and_panics_are_told() {
    let told = |attribute, dtype, dims: &[i64]| {
        let (mut x, mut y) = ([1.0f64, 2.0], [0.0f64; 2]);
        call(buffer(dtype, &mut x, dims), buffer(abi::F64, &mut y, &[2]), attribute).unwrap_err()
    };
    let invalid = |text: &str| (abi::INVALID_ARGUMENT, text.to_owned());
    assert_eq!(
        told(("other", abi::SCALAR, abi::I64), abi::F64, &[2]),
        invalid("there is no attribute `factor`")
    );
    assert_eq!(told(("factor", 4, abi::I64), abi::F64, &[2]), invalid("attribute `factor` is no number"));
    assert_eq!(
        told(("factor", abi::SCALAR, 4), abi::F64, &[2]),
        invalid("attribute `factor` is no 64-bit integer: pass numpy.int64")
    );
    assert_eq!(told(FACTOR, 4, &[2]), invalid("arrays must be float32 or float64, not XLA's type 4"));
    let (code, text) = told(FACTOR, abi::F64, &[1]);
    assert_eq!(code, abi::INTERNAL);
    assert!(text.contains("panicked") && text.contains("shapes differ"), "{text}");
}

#[test]
fn the_version_is_told_when_asked() {
    let zero = || Version { size: 0, extension: NO_EXTENSION, major: 9, minor: 9 };
    let mut metadata = abi::Metadata { size: size_of::<abi::Metadata>(), version: zero(), traits: 7 };
    let mut asked = abi::MetadataExtension {
        base: Extension { size: size_of::<abi::MetadataExtension>(), kind: abi::METADATA, next: null_mut() },
        metadata: &raw mut metadata,
    };
    let mut other = Extension { size: size_of::<Extension>(), kind: 77, next: (&raw mut asked).cast() };
    // SAFETY: the chain lives until the end of this function.
    assert!(unsafe { crate::tell_version(&raw mut other) });
    assert_eq!((metadata.version.major, metadata.version.minor, metadata.traits), (0, 1, 0));
    // SAFETY: nothing is asked.
    assert!(!unsafe { crate::tell_version(null_mut()) });
}
