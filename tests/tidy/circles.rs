//! Files that name each other in a circle cannot be understood, moved or tested one without the others: there are none.
//!
//! A file names another when a path in its code leads to what the other defines, past whatever hands the name on (`pub use`). What is
//! compiled for tests alone does not count, nor do methods, which are called without a path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, Item, ItemUse, Macro, UseTree, parse::Parser, punctuated::Punctuated};

/// A module: names of its path from the crate's root.
type Place = Vec<String>;

#[derive(Default)]
struct Module {
    file: PathBuf,
    children: BTreeSet<String>,
    defined: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Paths in its code, each with at least one name.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of a crate.
#[derive(Default)]
pub(crate) struct Crate(BTreeMap<Place, Module>);

/// File to the files it names, with the names.
pub(crate) type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

impl Crate {
    /// Reads a crate from its root file.
    pub(crate) fn read(root: &Path) -> Crate {
        let mut read = Crate::default();
        read.file(root, &root.with_file_name(""), Vec::new());
        read
    }

    fn file(&mut self, file: &Path, folder: &Path, place: Place) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let items = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items;
        self.items(&items, file, folder, place);
    }

    fn items(&mut self, items: &[Item], file: &Path, folder: &Path, place: Place) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items {
            match item {
                Item::Mod(inner) if is_for_tests(&inner.attrs) => {}
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let (below, child) = (folder.join(&name), [&place[..], std::slice::from_ref(&name)].concat());
                    module.children.insert(name.clone());
                    match &inner.content {
                        Some((_, items)) => self.items(items, file, &below, child),
                        None => {
                            let beside = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
                            let found = beside.iter().find(|path| path.exists());
                            self.file(
                                found.unwrap_or_else(|| panic!("{name} of {} has no file", file.display())),
                                &below,
                                child,
                            );
                        }
                    }
                }
                Item::Use(item) => import(item, &mut module),
                item => define(item, &mut module),
            }
        }
        self.0.insert(place, module);
    }

    /// The types it defines, each with its file. Those inside functions stay there.
    pub(crate) fn types(self) -> impl Iterator<Item = (String, PathBuf)> {
        let is_type = |name: &String| {
            name.starts_with(|first: char| first.is_ascii_uppercase())
                && name.contains(|other: char| other.is_ascii_lowercase())
        };
        let of = move |module: Module| {
            let Module { file, defined, .. } = module;
            defined.into_iter().filter(is_type).map(move |name| (name, file.clone()))
        };
        self.0.into_values().flat_map(of)
    }

    /// Which file names which.
    pub(crate) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (place, module) in &self.0 {
            for path in &module.paths {
                let Some(to) = self.leads_to(place, path, 0).filter(|to| *to != module.file) else { continue };
                let of_file = arrows.entry(module.file.clone()).or_default();
                of_file.entry(to.to_owned()).or_default().insert(path.join("::"));
            }
        }
        arrows
    }

    /// The file that defines what a path means in a module; none for what is of another crate.
    fn leads_to(&self, place: &[String], path: &[String], hops: usize) -> Option<&Path> {
        let module = self.0.get(place).filter(|_| hops < 16)?;
        // What leads to a module and no further is a local of its name.
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.leads_to(&[], rest, hops + 1),
            "self" => return self.leads_to(place, rest, hops + 1),
            "super" => return self.leads_to(place.split_last()?.1, rest, hops + 1),
            _ => {}
        }
        if module.defined.contains(first) {
            return Some(&module.file);
        }
        if let Some(imported) = module.imports.get(first) {
            // `use one::one` must not lead back to itself.
            let own = imported.first() == Some(first);
            let found = if own { None } else { self.leads_to(place, &[imported, rest].concat(), hops + 1) };
            if found.is_some() || !module.children.contains(first) {
                return found;
            }
        }
        if module.children.contains(first) {
            return self.leads_to(&[place, std::slice::from_ref(first)].concat(), rest, hops + 1);
        }
        let through = |glob: &Vec<String>| self.leads_to(place, &[glob, path].concat(), hops + 1);
        module.globs.iter().find_map(through)
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let names_tests = |list: &syn::MetaList| list.tokens.to_string().split(' ').any(|word| word == "test");
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && names_tests(list) && !list.tokens.to_string().contains("not")
        }
        syn::Meta::NameValue(_) => false,
    })
}

fn import(item: &ItemUse, module: &mut Module) {
    fn walk(tree: &UseTree, before: &[String], module: &mut Module) {
        match tree {
            UseTree::Path(path) => walk(&path.tree, &[before, &[path.ident.to_string()]].concat(), module),
            UseTree::Group(group) => group.items.iter().for_each(|tree| walk(tree, before, module)),
            UseTree::Glob(_) => module.globs.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                let own = before.last().cloned().expect("self stands in a group of something");
                module.imports.insert(own, before.to_vec());
            }
            UseTree::Name(name) => {
                module.imports.insert(name.ident.to_string(), [before, &[name.ident.to_string()]].concat());
            }
            UseTree::Rename(name) => {
                module.imports.insert(name.rename.to_string(), [before, &[name.ident.to_string()]].concat());
            }
        }
    }
    if !is_for_tests(&item.attrs) {
        walk(&item.tree, &[], module);
    }
}

fn define(item: &Item, module: &mut Module) {
    let (attributes, name) = match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        _ => return,
    };
    if is_for_tests(attributes) {
        return;
    }
    module.defined.extend(name.map(ToString::to_string));
    Paths(&mut module.paths).visit_item(item);
}

/// Takes down the paths of what it visits.
struct Paths<'p>(&'p mut BTreeSet<Vec<String>>);

impl<'a> Visit<'a> for Paths<'_> {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    /// Who may name a thing says nothing of whom it names.
    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_macro(&mut self, call: &'a Macro) {
        self.visit_path(&call.path);
        // Most macros take expressions; what else they take names nothing here.
        let arguments = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = arguments.parse2(call.tokens.clone()) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        let is_of_tests = matches!(item, syn::ImplItem::Fn(function) if is_for_tests(&function.attrs));
        if !is_of_tests {
            syn::visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let mut module = Module::default();
        import(item, &mut module);
        self.0.extend(module.imports.into_values());
    }
}

/// The circles among the arrows, each as the arrows that it is made of, in words.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let reach: BTreeMap<&Path, BTreeSet<&Path>> =
        arrows.keys().map(|from| (from.as_path(), reached(arrows, from))).collect();
    let both = |from: &Path, to: &Path| {
        reach.get(from).is_some_and(|reached| reached.contains(to))
            && reach.get(to).is_some_and(|reached| reached.contains(from))
    };
    let mut found = Vec::new();
    let mut seen: BTreeSet<&Path> = BTreeSet::new();
    for from in arrows.keys().map(PathBuf::as_path) {
        if !both(from, from) || !seen.insert(from) {
            continue;
        }
        let ring: BTreeSet<&Path> = arrows.keys().map(PathBuf::as_path).filter(|other| both(from, other)).collect();
        seen.extend(&ring);
        let told = |from: &Path| {
            let inside = arrows[from].iter().filter(|(to, _)| ring.contains(to.as_path()));
            let told = |(to, names): (&PathBuf, &BTreeSet<String>)| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("{} -> {}: {}", from.display(), to.display(), names.join(", "))
            };
            inside.map(told).collect::<Vec<_>>()
        };
        found.push(ring.iter().flat_map(|from| told(from)).collect());
    }
    found
}

fn reached<'a>(arrows: &'a Arrows, from: &Path) -> BTreeSet<&'a Path> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&Path> = vec![arrows.get_key_value(from).map_or(Path::new(""), |(from, _)| from)];
    while let Some(at) = left.pop() {
        let next = arrows.get(at).into_iter().flat_map(BTreeMap::keys).map(PathBuf::as_path);
        left.extend(next.filter(|to| reached.insert(*to)));
    }
    reached
}
