//! The table of node kinds. The rest of the front end, and everything the tree can do with its nodes, follows from it.

use crate::kinds;
use crate::tree::{List, Name, NodeId, Pairs};

kinds! {
    /// The kinds of nodes of the language.
    ///
    /// Kinds are divided by shape, so that each has one encoding: a call without arguments is another kind than a call
    /// with one.
    pub enum Kind in node as View {
        /// A reserved node that has no content yet. Never in a finished tree.
        Placeholder {},
        /// Source that could not be parsed.
        Error {},
        /// A whole file.
        Module<'t> { items: List<'t> },

        /// `42`, `1_000`, `0xff`, `0b101`.
        IntLit { value: u64 },
        /// `3.14`, `2.5e-8`.
        FloatLit { value: f64 },
        /// `"text"`, escapes resolved.
        StringLit { value: Name },
        /// `'a'`.
        CharLit { value: char },
        /// `true`.
        BoolTrue {},
        /// `false`.
        BoolFalse {},
        /// `()`.
        Unit {},
        /// `void` as a value.
        Void {},
        /// `100ms`, in nanoseconds.
        DurationLit { nanoseconds: u64 },
        /// `4kb`, in bytes.
        SizeLit { bytes: u64 },
        /// A template between back-quotes: texts, expressions and formats in turn.
        Template<'t> { parts: List<'t> },
        /// Text in a template, escapes resolved.
        TemplateText { text: Name },
        /// `{value:format}` in a template.
        TemplateFormat { value: NodeId, format: Name },

        /// A name that starts with a small letter or an underscore.
        Ident { name: Name },
        /// `a.b` in the path of an import, a type or a variant.
        QualifiedIdent { qualifier: NodeId, name: Name },
        /// A name that starts with a capital letter: a variant or a type.
        Variant { name: Name },
        /// `self`.
        SelfValue {},
        /// `Self`.
        SelfType {},
        /// `$name`.
        ConstName { name: Name },
        /// `#` in an index: the length.
        Length {},

        /// `a + b`.
        BinAdd { left: NodeId, right: NodeId },
        /// `a - b`.
        BinSub { left: NodeId, right: NodeId },
        /// `a * b`.
        BinMul { left: NodeId, right: NodeId },
        /// `a / b`.
        BinDiv { left: NodeId, right: NodeId },
        /// `a % b`.
        BinMod { left: NodeId, right: NodeId },
        /// `a div b`.
        BinFloorDiv { left: NodeId, right: NodeId },
        /// `a << b`.
        BinShl { left: NodeId, right: NodeId },
        /// `a >> b`.
        BinShr { left: NodeId, right: NodeId },
        /// `a & b`.
        BinBitAnd { left: NodeId, right: NodeId },
        /// `a | b`.
        BinBitOr { left: NodeId, right: NodeId },
        /// `a ^ b`.
        BinBitXor { left: NodeId, right: NodeId },
        /// `a && b`.
        BinAnd { left: NodeId, right: NodeId },
        /// `a || b`.
        BinOr { left: NodeId, right: NodeId },
        /// `a == b`.
        BinEq { left: NodeId, right: NodeId },
        /// `a != b`.
        BinNe { left: NodeId, right: NodeId },
        /// `a < b`.
        BinLt { left: NodeId, right: NodeId },
        /// `a <= b`.
        BinLe { left: NodeId, right: NodeId },
        /// `a > b`.
        BinGt { left: NodeId, right: NodeId },
        /// `a >= b`.
        BinGe { left: NodeId, right: NodeId },
        /// `a..b`, `a..`.
        BinRange { left: NodeId, right: Option<NodeId> },
        /// `a..=b`.
        BinRangeInc { left: NodeId, right: NodeId },
        /// `range by step`.
        RangeBy { range: NodeId, step: NodeId },
        /// `a ?? b`.
        BinCoalesce { left: NodeId, right: NodeId },

        /// `-a`.
        UnaryNeg { operand: NodeId },
        /// `!a`.
        UnaryNot { operand: NodeId },
        /// `~a`.
        UnaryBitNot { operand: NodeId },

        /// `object.name`.
        FieldAccess { object: NodeId, name: Name },
        /// `object.0`.
        TupleIndex { object: NodeId, index: u32 },
        /// `object.name()`.
        MethodCallZero { object: NodeId, name: Name },
        /// `object.name(argument)`.
        MethodCallOne { object: NodeId, name: Name, argument: NodeId },
        /// `object.name(…)` with two arguments or more.
        MethodCall<'t> { object: NodeId, name: Name, arguments: List<'t> },
        /// `object.name<types>(…)`.
        MethodCallGeneric<'t> { object: NodeId, name: Name, types: List<'t>, arguments: List<'t> },
        /// `callee()`.
        FunctionCallZero { callee: NodeId },
        /// `callee(argument)`.
        FunctionCallOne { callee: NodeId, argument: NodeId },
        /// `callee(…)` with two arguments or more.
        FunctionCall<'t> { callee: NodeId, arguments: List<'t> },
        /// `name: value` among arguments.
        NamedArg { name: Name, value: NodeId },
        /// `...value` among arguments, elements, entries or fields.
        Spread { operand: NodeId },
        /// `object[index]`.
        Index { object: NodeId, index: NodeId },
        /// `operand?`.
        TryPropagate { operand: NodeId },
        /// `operand as Type`.
        Cast { operand: NodeId, target: NodeId },
        /// `operand as? Type`.
        TryCast { operand: NodeId, target: NodeId },
        /// `(inner)`.
        Paren { inner: NodeId },
        /// `Name<types>` in an expression.
        GenericPath<'t> { base: NodeId, types: List<'t> },

        /// `if condition then yes`.
        If { condition: NodeId, yes: NodeId },
        /// `if condition then yes else no`.
        IfElse { condition: NodeId, yes: NodeId, no: NodeId },
        /// `loop(body)`.
        Loop { body: NodeId },
        /// `for pattern in iterable do body`.
        ForDo { pattern: NodeId, iterable: NodeId, body: NodeId },
        /// `for pattern in iterable yield body`.
        ForYield { pattern: NodeId, iterable: NodeId, body: NodeId },
        /// `for pattern in iterable if guard do body`.
        ForIf { pattern: NodeId, iterable: NodeId, guard: NodeId, body: NodeId },
        /// `for pattern in iterable if guard yield body`.
        ForYieldIf { pattern: NodeId, iterable: NodeId, guard: NodeId, body: NodeId },
        /// A loop with a label: `loop:label(…)`, `for:label …`.
        Labeled { label: Name, body: NodeId },
        /// `break`, `break:label`.
        Break { label: Option<Name> },
        /// `break value`.
        BreakValue { label: Option<Name>, value: NodeId },
        /// `continue`, `continue:label`.
        Continue { label: Option<Name> },
        /// `continue value`.
        ContinueValue { label: Option<Name>, value: NodeId },

        /// `let pattern = value`.
        Let { pattern: NodeId, value: NodeId },
        /// `let mut pattern = value`, of the early language.
        LetMut { pattern: NodeId, value: NodeId },
        /// `let pattern: Type = value`.
        LetTyped { pattern: NodeId, annotation: NodeId, value: NodeId },
        /// `let mut pattern: Type = value`, of the early language.
        LetMutTyped { pattern: NodeId, annotation: NodeId, value: NodeId },
        /// `target = value`.
        Assign { target: NodeId, value: NodeId },

        /// `parameter -> body`, `(parameters) -> body`.
        Lambda<'t> { parameters: List<'t>, body: NodeId },
        /// `(parameters) -> Type = body`.
        LambdaTyped<'t> { parameters: List<'t>, result: NodeId, body: NodeId },

        /// `run(…)`.
        Run<'t> { steps: List<'t> },
        /// `pre_check: condition` or `pre_check: condition | "message"`, in a run.
        PreCheck { condition: NodeId, message: Option<NodeId> },
        /// `post_check: result -> condition`, with a message or without, in a run.
        PostCheck { condition: NodeId, message: Option<NodeId> },
        /// `try(…)`.
        Try<'t> { steps: List<'t> },
        /// `match(subject, …)`. An arm is a pair of pattern and body; what could not be parsed has no body.
        Match<'t> { subject: NodeId, arms: Pairs<'t> },
        /// `subject.match(…)`, with arms as in [`Match`](node::Match).
        MethodMatch<'t> { subject: NodeId, arms: Pairs<'t> },
        /// `pattern -> body` as an argument: `for(…, match: pattern -> body)`.
        MatchArm { pattern: NodeId, body: NodeId },
        /// `recurse(…)`.
        Recurse<'t> { arguments: List<'t> },
        /// `parallel(…)`.
        Parallel<'t> { arguments: List<'t> },
        /// `spawn(…)`.
        Spawn<'t> { arguments: List<'t> },
        /// `timeout(…)`.
        Timeout<'t> { arguments: List<'t> },
        /// `cache(…)`.
        Cache<'t> { arguments: List<'t> },
        /// `with(…)`: acquire, use and release.
        With<'t> { arguments: List<'t> },
        /// `for(over: …, match: pattern -> value, default: …)`.
        For<'t> { arguments: List<'t> },
        /// `catch(…)`.
        Catch<'t> { arguments: List<'t> },
        /// `nursery(…)`.
        Nursery<'t> { arguments: List<'t> },
        /// `channel<types>(…)` and its three variants, which `name` tells apart.
        Channel<'t> { name: Name, types: List<'t>, arguments: List<'t> },
        /// `unsafe(body)`.
        Unsafe { body: NodeId },
        /// `with Capability = value, … in body`.
        WithIn<'t> { bindings: List<'t>, body: NodeId },
        /// `Capability = value` in a `with`.
        Capability { name: Name, value: NodeId },
        /// `handler(state: state) { operation: value, … }`.
        Handler<'t> { state: NodeId, operations: List<'t> },

        /// `[]`.
        ListEmpty {},
        /// `[a]`.
        ListOne { element: NodeId },
        /// `[a, b]`.
        ListTwo { first: NodeId, second: NodeId },
        /// `[a, b, c, …]`.
        ListMany<'t> { elements: List<'t> },
        /// `{}`.
        MapEmpty {},
        /// `{k: v}`.
        MapOne { entry: NodeId },
        /// `{k: v, l: w}`.
        MapTwo { first: NodeId, second: NodeId },
        /// `{…}` with three entries or more.
        MapMany<'t> { entries: List<'t> },
        /// `key: value` in a map.
        MapEntry { key: NodeId, value: NodeId },
        /// `[key]` as a key in a map.
        ComputedKey { key: NodeId },
        /// `Type { … }`.
        StructLit<'t> { base: NodeId, fields: List<'t> },
        /// `name: value` in a struct literal.
        FieldInit { name: Name, value: NodeId },
        /// `(a, b)`.
        TupleTwo { first: NodeId, second: NodeId },
        /// `(a,)`, or three elements or more.
        TupleMany<'t> { elements: List<'t> },

        /// `_`.
        PatWildcard {},
        /// A literal, with a minus or without.
        PatLiteral { value: NodeId },
        /// A name, which is bound; as a parameter too.
        PatIdent { name: Name },
        /// `$name`, which is bound and not changed.
        PatConst { name: Name },
        /// `Path`, `Path(…)`.
        PatVariant<'t> { path: NodeId, arguments: List<'t> },
        /// `{ … }`, `Path { … }`.
        PatStruct<'t> { path: Option<NodeId>, fields: List<'t> },
        /// `name: pattern` in a struct pattern or a variant.
        PatField { name: Name, pattern: NodeId },
        /// `(p, q)`.
        PatTuple<'t> { elements: List<'t> },
        /// `[p, q, ..rest]`.
        PatList<'t> { elements: List<'t> },
        /// `..`, `..rest`.
        PatRest { name: Option<Name> },
        /// `a..b`, `a..`.
        PatRange { low: NodeId, high: Option<NodeId> },
        /// `a..=b`.
        PatRangeInc { low: NodeId, high: NodeId },
        /// `p | q`.
        PatOr<'t> { alternatives: List<'t> },
        /// `name @ pattern`.
        PatAt { name: Name, pattern: NodeId },
        /// `pattern.match(condition)`.
        PatGuard { pattern: NodeId, condition: NodeId },

        /// `int`, `float`, `bool`, `str`, `char`, `byte`, `void`.
        TypePrimitive { name: Name },
        /// Any other name.
        TypeNamed { name: Name },
        /// `a.B`.
        TypePath { qualifier: NodeId, name: Name },
        /// `Base<arguments>`.
        TypeGeneric<'t> { base: NodeId, arguments: List<'t> },
        /// `[Element]`.
        TypeList { element: NodeId },
        /// `[Element, max bound]`.
        TypeListMax { element: NodeId, bound: NodeId },
        /// `{Key: Value}`.
        TypeMap { key: NodeId, value: NodeId },
        /// `(A, B)`, `(A,)`.
        TypeTuple<'t> { elements: List<'t> },
        /// `(A, B) -> R`.
        TypeFunction<'t> { parameters: List<'t>, result: NodeId },
        /// `()`.
        TypeUnit {},
        /// `Never`.
        TypeNever {},
        /// `dyn Trait`, of the early language.
        TypeDyn { bound: NodeId },
        /// `Self`.
        TypeSelf {},
        /// `(A)`.
        TypeParen { inner: NodeId },
        /// `A + B`.
        TypeBounds<'t> { bounds: List<'t> },
        /// `impl A + B`, with constraints or without.
        TypeImpl<'t> { bounds: List<'t>, constraints: List<'t> },
        /// `Item == Type` after `impl … where`.
        TypeEqual { name: Name, target: NodeId },
        /// A constant expression among the arguments of a type.
        TypeConst { value: NodeId },
        /// `...Type` of a parameter.
        TypeVariadic { element: NodeId },

        /// `@name (parameters) -> Result = body`; without a body in a trait.
        Function<'t> { name: Name, parameters: List<'t>, result: Option<NodeId>, body: Option<NodeId> },
        /// A function with any of generics, capabilities, constraints and guard.
        FunctionFull<'t> {
            name: Name,
            generics: List<'t>,
            parameters: List<'t>,
            result: Option<NodeId>,
            capabilities: List<'t>,
            constraints: List<'t>,
            guard: Option<NodeId>,
            body: Option<NodeId>,
        },
        /// `name: Type` of a function.
        Param { name: Name, annotation: NodeId },
        /// `pattern: Type = default` of a function, in any other combination.
        ParamFull { pattern: NodeId, annotation: Option<NodeId>, default: Option<NodeId> },
        /// `self` as a parameter.
        ParamSelf {},
        /// `...` as the last parameter of an extern function.
        ParamRest {},
        /// `@name tests @target … () -> void = body`.
        Test<'t> { name: Name, targets: List<'t>, parameters: List<'t>, result: Option<NodeId>, body: NodeId },
        /// `@target` of a test.
        TestTarget { name: Name },
        /// `_` as the target of a test: none.
        TestFree {},
        /// `type Name = body`.
        TypeDef { name: Name, body: NodeId },
        /// `type Name<generics> where constraints = body`.
        TypeDefFull<'t> { name: Name, generics: List<'t>, constraints: List<'t>, body: NodeId },
        /// `{ name: Type, … }` as the body of a type.
        StructBody<'t> { fields: List<'t> },
        /// `name: Type` in a struct or a variant.
        FieldDef { name: Name, annotation: NodeId },
        /// `A | B(…)` as the body of a type.
        SumBody<'t> { variants: List<'t> },
        /// `Name`, `Name(fields)` in a sum.
        VariantDef<'t> { name: Name, fields: List<'t> },
        /// `trait Name<generics>: Bounds { … }`.
        TraitDef<'t> { name: Name, generics: List<'t>, bounds: List<'t>, items: List<'t> },
        /// `type Name: Bounds = default` in a trait or an impl.
        AssocType<'t> { name: Name, bounds: List<'t>, default: Option<NodeId> },
        /// `impl<generics> Type { … }`.
        ImplDef<'t> { generics: List<'t>, target: NodeId, constraints: List<'t>, items: List<'t> },
        /// `impl<generics> Trait for Type { … }`.
        ImplTrait<'t> {
            generics: List<'t>,
            interface: NodeId,
            target: NodeId,
            constraints: List<'t>,
            items: List<'t>,
        },
        /// `def impl Trait { … }`.
        ImplDefault<'t> { interface: NodeId, items: List<'t> },
        /// `extend<generics> Type { … }`.
        ExtendDef<'t> { generics: List<'t>, target: NodeId, constraints: List<'t>, items: List<'t> },
        /// `$name = value`, `let $name = value`.
        ConfigDef { name: Name, value: NodeId },
        /// `let $name: Type = value`.
        ConfigTyped { name: Name, annotation: NodeId, value: NodeId },
        /// `$name (parameters) -> Type = body`.
        ConfigFunction<'t> { name: Name, parameters: List<'t>, result: Option<NodeId>, body: NodeId },
        /// `use path`, `use path as name`.
        Import { path: NodeId, alias: Option<Name> },
        /// `use path { items }`.
        ImportItems<'t> { path: NodeId, items: List<'t> },
        /// `name`, `name as alias` in an import.
        ImportItem { name: Name, alias: Option<Name> },
        /// `::name`, `::name as alias` in an import.
        ImportPrivate { name: Name, alias: Option<Name> },
        /// `name without def` in an import.
        ImportWithout { name: Name, alias: Option<Name> },
        /// `$name` in an import.
        ImportConst { name: Name },
        /// `extension path { Type.method, … }`.
        ExtensionImport<'t> { path: NodeId, items: List<'t> },
        /// `Type.method` in an extension import.
        ExtensionItem { target: Name, method: Name },
        /// `extern "abi" from "library" { … }`.
        Extern<'t> { abi: Name, library: Option<Name>, items: List<'t> },
        /// `@name (parameters) -> Type as "symbol"` in an extern block.
        ExternFunction<'t> { name: Name, parameters: List<'t>, result: Option<NodeId>, symbol: Option<Name> },
        /// `capset Name = A, B`.
        Capset<'t> { name: Name, capabilities: List<'t> },

        /// `pub item`.
        Public { item: NodeId },
        /// `#name(…) item`.
        Attributed<'t> { attributes: List<'t>, item: NodeId },
        /// `#name(…)`, `#[name(…)]`.
        Attribute<'t> { name: Name, arguments: List<'t> },
        /// `#!name(…)` at the head of a file.
        FileAttribute<'t> { name: Name, arguments: List<'t> },
        /// `T`, `T: A + B`, `T = int` among generics.
        Generic<'t> { name: Name, bounds: List<'t>, default: Option<NodeId> },
        /// `$N: int`, `$N: int = 4` among generics.
        GenericConst { name: Name, annotation: Option<NodeId>, default: Option<NodeId> },
        /// `T: A + B` after `where`.
        WhereBound<'t> { target: NodeId, bounds: List<'t> },
        /// A constant comparison after `where`.
        WhereConst { condition: NodeId },
    }
}
