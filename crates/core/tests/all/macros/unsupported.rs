//! Everything outside the subset is a compile error that names the construct and what to write instead.

#[test]
fn errors_say_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/unsupported/*.rs");
}
