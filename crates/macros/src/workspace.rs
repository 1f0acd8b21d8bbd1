//! `#[derive(Workspace)]`: the heap bytes of a struct or an enum are the sum over its fields.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, GenericParam, Generics, parse_quote};

use crate::errors::error;

/// `Workspace`, with a match arm per variant.
pub fn workspace(input: TokenStream, core: &TokenStream) -> Result<TokenStream, Error> {
    let input: DeriveInput = syn::parse2(input)?;
    let variants: Vec<(TokenStream, &Fields)> = match &input.data {
        Data::Struct(data) => vec![(quote!(Self), &data.fields)],
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|variant| {
                let name = &variant.ident;
                (quote!(Self::#name), &variant.fields)
            })
            .collect(),
        Data::Union(data) => {
            return Err(error(
                data.union_token,
                "a union does not know which of its fields is there: write a struct or an enum",
            ));
        }
    };

    let mut generics = input.generics.clone();
    let mut arms = Vec::new();
    for (variant, fields) in variants {
        let (mut bindings, mut bytes) = (Vec::new(), Vec::new());
        for (i, (field, member)) in fields.iter().zip(fields.members()).enumerate() {
            // Spans of the type, so that a missing implementation is reported there.
            let ty = &field.ty;
            let local = format_ident!("field_{i}", span = ty.span());
            let plain = is_plain(field)?;
            if mentions_parameter(ty, &input.generics) {
                let bound = if plain { quote!(Copy + Send) } else { quote!(#core::Workspace) };
                generics.make_where_clause().predicates.push(parse_quote!(#ty: #bound));
            }
            bindings.push(quote!(#member: ref #local));
            bytes.push(if plain {
                quote_spanned!(ty.span()=> #core::workspace::plain_bytes(#local))
            } else {
                quote_spanned!(ty.span()=> #core::Workspace::heap_bytes(#local))
            });
        }
        arms.push(quote!(#variant { #(#bindings),* } => 0 #(+ #bytes)*));
    }

    let name = &input.ident;
    let (impl_generics, type_generics, bounds) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #core::Workspace for #name #type_generics #bounds {
            fn heap_bytes(&self) -> usize {
                match *self {
                    #(#arms,)*
                }
            }
        }
    })
}

/// Whether a field is marked `#[workspace(plain)]`.
fn is_plain(field: &Field) -> Result<bool, Error> {
    let mut plain = false;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("workspace")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("plain") {
                return Err(meta.error("expected `#[workspace(plain)]`"));
            }
            plain = true;
            Ok(())
        })?;
    }
    Ok(plain)
}

/// Whether a type depends on a parameter, so that its bound belongs in the `where` clause.
fn mentions_parameter(ty: &impl ToTokens, generics: &Generics) -> bool {
    fn mentions(tokens: TokenStream, name: &dyn Fn(&str) -> bool) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Group(group) => mentions(group.stream(), name),
            TokenTree::Ident(ident) => name(&ident.to_string()),
            _ => false,
        })
    }
    let is_parameter = |name: &str| {
        generics.params.iter().any(|parameter| match parameter {
            GenericParam::Type(parameter) => parameter.ident == name,
            GenericParam::Const(parameter) => parameter.ident == name,
            GenericParam::Lifetime(parameter) => parameter.lifetime.ident == name,
        })
    };
    mentions(ty.to_token_stream(), &is_parameter)
}
