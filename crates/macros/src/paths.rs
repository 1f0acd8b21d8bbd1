//! Paths of the engine's crates as the calling crate sees them.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// `pullback_math`, or where the caller's dependency re-exports it.
pub fn math() -> TokenStream {
    path("pullback-math", &["pullback", "pullback-core"], "math")
}

/// `pullback_core`, or where the facade re-exports it.
pub fn core() -> TokenStream {
    path("pullback-core", &["pullback"], "core")
}

/// The crate called `name` if the caller depends on it; else the module that the first of `facades` among the
/// caller's dependencies re-exports it as.
fn path(name: &str, facades: &[&str], module: &str) -> TokenStream {
    let ident = |name: &str| Ident::new(&name.replace('-', "_"), Span::call_site());
    let (own, module) = (ident(name), ident(module));
    match crate_name(name) {
        // The crate calls itself by its own name, so that its tests and examples find it too.
        Ok(FoundCrate::Itself) => return quote!(::#own),
        Ok(FoundCrate::Name(renamed)) => {
            let renamed = ident(&renamed);
            return quote!(::#renamed);
        }
        Err(_) => {}
    }
    for facade in facades {
        match crate_name(facade) {
            Ok(FoundCrate::Itself) => return quote!(crate::#module),
            Ok(FoundCrate::Name(renamed)) => {
                let renamed = ident(&renamed);
                return quote!(::#renamed::#module);
            }
            Err(_) => {}
        }
    }
    quote!(::#own)
}
