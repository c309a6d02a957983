//! [`Requirement`]: an element of `#[component(requires(…))]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{AngleBracketedGenericArguments, Expr, ExprPath, Path, PathArguments, PathSegment, Result, Token};

/// A required component: `A`, `A = expression` or `A(path::to::function)`.
pub(crate) struct Requirement {
    component: Path,
    /// The function that creates a value.
    make: TokenStream,
}

impl Requirement {
    /// Returns an error if the component requires itself, or requires this one twice.
    pub(crate) fn check(&self, name: &Ident, others: &[Requirement]) -> Result<()> {
        let text = |path: &Path| path.to_token_stream().to_string();
        if self.component.is_ident(name) || self.component.is_ident("Self") {
            return Err(syn::Error::new(self.component.span(), "a component cannot require itself"));
        }
        match others.iter().any(|other| text(&other.component) == text(&self.component)) {
            true => Err(syn::Error::new(self.component.span(), "the component is required twice")),
            false => Ok(()),
        }
    }

    /// Returns the expression that creates the element of the list.
    pub(crate) fn construct(&self, at: &TokenStream) -> TokenStream {
        let Requirement { component, make } = self;
        // Errors about a type that is not a component point at it.
        quote_spanned!(component.span()=> #at::Requirement::new::<#component>(#make))
    }
}

impl Parse for Requirement {
    fn parse(input: ParseStream<'_>) -> Result<Requirement> {
        let component = component(input)?;
        let make = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            quote!(|| #value)
        } else if input.peek(syn::token::Paren) {
            let path;
            syn::parenthesized!(path in input);
            let function: ExprPath = path.parse()?;
            if !path.is_empty() {
                return Err(path.error("a component is created by the path of a function: `A(path::to::function)`"));
            }
            quote!(#function)
        } else {
            quote_spanned!(component.span()=> <#component as ::core::default::Default>::default)
        };
        Ok(Requirement { component, make })
    }
}

/// Parses the path of a type. In a path of `syn`, parentheses would be those of a function type.
fn component(input: ParseStream<'_>) -> Result<Path> {
    let leading_colon = input.parse()?;
    let mut segments = Punctuated::new();
    loop {
        let ident = input.call(<Ident as syn::ext::IdentExt>::parse_any)?;
        let arguments = match input.peek(Token![<]) {
            true => PathArguments::AngleBracketed(AngleBracketedGenericArguments::parse(input)?),
            false => PathArguments::None,
        };
        segments.push_value(PathSegment { ident, arguments });
        if !input.peek(Token![::]) {
            return Ok(Path { leading_colon, segments });
        }
        segments.push_punct(input.parse()?);
    }
}
