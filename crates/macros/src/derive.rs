//! `#[derive(Cotangent)]`: a struct of values that carry cotangents carries one, field by field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, GenericParam, Generics, Member, Type, TypeParamBound, parse_quote};

use crate::errors::error;

/// `Cotangent`, `Carrier`, where the scalar is known `Flat`, and where it is the only parameter `Rescale`.
pub fn cotangent(input: TokenStream, math: &TokenStream) -> Result<TokenStream, Error> {
    let input: DeriveInput = syn::parse2(input)?;
    let Data::Struct(data) = &input.data else {
        return Err(error(
            &input.ident,
            "only a struct has a cotangent of its own type: an enum's variants have no common cotangent",
        ));
    };
    let members: Vec<Member> = data.fields.members().collect();
    let types: Vec<&Type> = data.fields.iter().map(|f| &f.ty).collect();
    let locals: Vec<_> = (0..members.len()).map(|i| format_ident!("field_{i}")).collect();
    let scalar = scalar(&input)?;

    let name = &input.ident;
    let mut generics = input.generics.clone();
    // An unbounded parameter is the scalar.
    for parameter in &mut generics.params {
        if let GenericParam::Type(parameter) = parameter
            && parameter.bounds.is_empty()
        {
            parameter.bounds.push(parse_quote!(#math::Real));
        }
    }
    let carrying = with_bounds(&generics, &types, &quote!(#math::Cotangent));
    let (impl_generics, type_generics, carrying) = split(&carrying);

    let flat = match &scalar {
        None => TokenStream::new(),
        Some(scalar) => {
            let flat_generics = with_bounds(&generics, &types, &quote!(#math::Flat<#scalar>));
            let (impl_generics, type_generics, bounds) = split(&flat_generics);
            quote! {
                #[automatically_derived]
                impl #impl_generics #math::Flat<#scalar> for #name #type_generics #bounds {
                    const LEN: usize = 0 #(+ <#types as #math::Flat<#scalar>>::LEN)*;
                    #[inline(always)]
                    #[allow(unused_variables, unused_assignments)]
                    fn read(from: &[#scalar]) -> Self {
                        let mut at = 0;
                        #(
                            let #locals = <#types as #math::Flat<#scalar>>::read(&from[at..]);
                            at += <#types as #math::Flat<#scalar>>::LEN;
                        )*
                        Self { #(#members: #locals),* }
                    }
                    #[inline(always)]
                    #[allow(unused_variables, unused_assignments)]
                    fn write(self, to: &mut [#scalar]) {
                        let mut at = 0;
                        #(
                            #math::Flat::<#scalar>::write(self.#members, &mut to[at..]);
                            at += <#types as #math::Flat<#scalar>>::LEN;
                        )*
                    }
                }
            }
        }
    };
    // `Name<f64>` names the block; `Name<T>` is what vectors of `T` hold.
    let only_parameter = input.generics.params.len() == 1 && input.generics.type_params().count() == 1;
    let rescale = match &scalar {
        Some(_) if only_parameter => quote! {
            #[automatically_derived]
            impl #math::Rescale for #name<f64> {
                type With<Scalar: #math::Real> = #name<Scalar>;
            }
        },
        _ => TokenStream::new(),
    };
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #math::Cotangent for #name #type_generics #carrying {
            #[inline(always)]
            fn zero_like(&self) -> Self {
                Self { #(#members: #math::Cotangent::zero_like(&self.#members)),* }
            }
            #[inline(always)]
            fn accumulate(&mut self, other: Self) {
                #(#math::Cotangent::accumulate(&mut self.#members, other.#members);)*
            }
        }
        #[automatically_derived]
        impl #impl_generics #math::cotangent::Carrier for #name #type_generics #carrying {}
        #flat
        #rescale
    })
}

/// The scalar of `Flat`: `#[cotangent(scalar = f64)]`, or the first type parameter that is unbounded or
/// `Real`.
fn scalar(input: &DeriveInput) -> Result<Option<Type>, Error> {
    let mut named = None;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("cotangent")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("scalar") {
                return Err(meta.error("expected `#[cotangent(scalar = f64)]`"));
            }
            named = Some(meta.value()?.parse::<Type>()?);
            Ok(())
        })?;
    }
    let is_real = |bound: &TypeParamBound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|s| s.ident == "Real"),
        _ => false,
    };
    Ok(named.or_else(|| {
        let mut candidates = input.generics.type_params();
        let real = candidates.find(|p| p.bounds.is_empty() || p.bounds.iter().any(is_real))?;
        let ident = &real.ident;
        Some(parse_quote!(#ident))
    }))
}

/// Adds `Type: bound` for the types of fields that are not plain parameters' own business.
fn with_bounds(generics: &Generics, types: &[&Type], bound: &TokenStream) -> Generics {
    let mut generics = generics.clone();
    if !generics.params.is_empty() {
        let clause = generics.make_where_clause();
        for ty in types {
            clause.predicates.push(parse_quote!(#ty: #bound));
        }
    }
    generics
}

fn split(generics: &Generics) -> (TokenStream, TokenStream, TokenStream) {
    let (impl_generics, type_generics, bounds) = generics.split_for_impl();
    (quote!(#impl_generics), quote!(#type_generics), quote!(#bounds))
}
