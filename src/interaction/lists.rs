//! The code lists of this service: those that ship, those in the store, and what replaces them while the server runs. Contract 8.3, 9.1.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use crate::interaction::limits::TERMINOLOGY_FILE_BYTES_MAX;
use certificate::Names;
use certificate::terminology::{self, ListHeader, ListOrigin, LoadedList, Terminology};
use engine::{Engine, ListChange, ListKey, StoredList};
use fhir::json::{self, Json};

/// The lists in force, and the way to change them.
pub struct Lists {
    engine: Arc<Engine>,
    names: Names,
    /// Contract 8.3.
    strict: bool,
    /// Those in the store cannot be used together, so that a removal need not make them so.
    unusable: bool,
    current: RwLock<Arc<Terminology>>,
    /// Held while the lists are changed, so that each change is checked against the one before it.
    changing: Mutex<()>,
}

/// A list, for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListLine {
    pub resource_type: String,
    pub url: String,
    pub is_complete: bool,
    /// Codes it holds; none for a value set whose code systems are not at hand.
    pub codes: Option<usize>,
    /// When it was loaded, milliseconds since 1970 UTC; none for one that ships.
    pub loaded_at: Option<i64>,
}

impl Lists {
    /// Reads the lists in the store.
    ///
    /// # Errors
    /// Why they cannot be read or used, in words for the operator.
    pub fn open(engine: Arc<Engine>, names: Names, strict: bool) -> Result<Lists, String> {
        let loaded = stored(&engine)?;
        let terminology = Terminology::new(&names, strict, &loaded);
        let terminology = terminology.map_err(|problems| {
            let advice = "hcert terminology remove takes a list out";
            format!("the code lists that were loaded cannot be used; {advice}:\n  {}", problems.join("\n  "))
        })?;
        Ok(Lists::of(engine, names, strict, terminology, false))
    }

    /// As [`open`](Self::open), for commands that change lists: those in the store may be such that this release cannot use them. The ones
    /// that ship are in force then, until the others are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open_to_mend(engine: Arc<Engine>, names: Names, strict: bool) -> Result<Lists, String> {
        let loaded = stored(&engine)?;
        let (terminology, unusable) = match Terminology::new(&names, strict, &loaded) {
            Ok(terminology) => (terminology, false),
            Err(_) => (Terminology::new(&names, strict, &[]).map_err(|problems| problems.join("; "))?, true),
        };
        Ok(Lists::of(engine, names, strict, terminology, unusable))
    }

    fn of(engine: Arc<Engine>, names: Names, strict: bool, terminology: Terminology, unusable: bool) -> Lists {
        let current = RwLock::new(Arc::new(terminology));
        Lists { engine, names, strict, unusable, current, changing: Mutex::default() }
    }

    /// The lists of this moment.
    pub fn current(&self) -> Arc<Terminology> {
        // Replaced as a whole, so one that a panic left was whole.
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds the lists of a file, or replaces those with their addresses: all of them or none. They are in force when this returns.
    /// Waits for the writer; `at` is the time, milliseconds since 1970 UTC.
    ///
    /// # Errors
    /// Everything that is wrong with them, in words for the operator.
    pub fn load(&self, file: &[u8], at: i64) -> Result<Vec<ListLine>, Vec<String>> {
        if file.len() > TERMINOLOGY_FILE_BYTES_MAX {
            return Err(vec![format!("more than {TERMINOLOGY_FILE_BYTES_MAX} bytes of code lists")]);
        }
        let new = terminology::read_file(file)?;
        let keys: Vec<ListKey> = new.iter().map(key).collect();
        let changes = keys
            .iter()
            .zip(&new)
            .map(|(key, resource)| ListChange::Put(StoredList { key: key.clone(), at, text: resource.to_vec() }));
        let changes = changes.collect();
        self.change(changes, &keys, |loaded| {
            loaded.retain(|list| !keys.contains(&key(&list.resource)));
            loaded.extend(new.into_iter().map(|resource| LoadedList { resource, at }));
            Ok(())
        })
    }

    /// Removes the loaded lists of an address. A list that ships under it is in force again.
    ///
    /// # Errors
    /// No such list was loaded, or another one needs it.
    pub fn remove(&self, url: &str) -> Result<(), Vec<String>> {
        let of_type = |resource_type: &str| ListKey { resource_type: resource_type.to_owned(), url: url.to_owned() };
        let keys = ["CodeSystem", "ValueSet"].map(of_type);
        let changes = keys.iter().cloned().map(ListChange::Remove).collect();
        let removed = self.change(changes, &[], |loaded| {
            let before = loaded.len();
            loaded.retain(|list| !keys.contains(&key(&list.resource)));
            if loaded.len() < before { Ok(()) } else { Err(vec![format!("no list was loaded for {url}")]) }
        });
        removed.map(drop)
    }

    /// All lists, code systems first.
    pub fn lines(&self) -> Vec<ListLine> {
        let terminology = self.current();
        let lists = ["CodeSystem", "ValueSet"].into_iter().flat_map(|resource_type| terminology.lists(resource_type));
        lists.map(|about| line(&terminology, about)).collect()
    }

    /// Checks what the lists would be, stores the change, and puts it in force. Tells the lists of `keys` then.
    fn change(
        &self,
        changes: Vec<ListChange>,
        keys: &[ListKey],
        apply: impl FnOnce(&mut Vec<LoadedList>) -> Result<(), Vec<String>>,
    ) -> Result<Vec<ListLine>, Vec<String>> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = stored(&self.engine).map_err(|problem| vec![problem])?;
        apply(&mut loaded)?;
        let terminology = match Terminology::new(&self.names, self.strict, &loaded) {
            Ok(terminology) => Arc::new(terminology),
            Err(_) if self.unusable && keys.is_empty() => self.current(),
            Err(problems) => return Err(problems),
        };
        match self.engine.append(changes).blocking_recv() {
            Ok(Ok(())) => {}
            Ok(Err(refused)) => return Err(vec![refused.to_string()]),
            Err(_) => return Err(vec!["the engine was closed".to_owned()]),
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = terminology.clone();
        let lists = ["CodeSystem", "ValueSet"].into_iter().flat_map(|resource_type| terminology.lists(resource_type));
        let changed = lists
            .filter(|about| keys.iter().any(|key| key.resource_type == about.resource_type && key.url == about.url));
        Ok(changed.map(|about| line(&terminology, about)).collect())
    }
}

fn stored(engine: &Engine) -> Result<Vec<LoadedList>, String> {
    let lists = engine.lists().map_err(|error| error.to_string())?;
    let read = |list: &StoredList| {
        let resource = json::parse(&list.text).map(Json::into_owned);
        let resource =
            resource.map_err(|_| format!("{} {} in the store is not JSON", list.key.resource_type, list.key.url));
        Ok(LoadedList { resource: resource?, at: list.at })
    };
    lists.iter().map(read).collect()
}

fn key(resource: &Json) -> ListKey {
    let text = |name: &str| resource.text(name).unwrap_or_default().to_owned();
    ListKey { resource_type: text("resourceType"), url: text("url") }
}

fn line(terminology: &Terminology, about: &ListHeader) -> ListLine {
    let codes = match about.resource_type {
        "CodeSystem" => terminology.code_system(&about.url).map(|list| list.concepts().len()),
        _ => terminology.value_set(&about.url).and_then(|set| Some(terminology.expand(set).ok()?.len())),
    };
    ListLine {
        resource_type: about.resource_type.to_owned(),
        url: about.url.clone(),
        is_complete: about.is_complete,
        codes,
        loaded_at: match about.origin {
            ListOrigin::Shipped => None,
            ListOrigin::Loaded { at } => Some(at),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(url: &str, import: &str) -> ListChange {
        let text = format!(
            r#"{{"resourceType":"ValueSet","url":"{url}","status":"active","compose":{{"include":[{{"valueSet":["{import}"]}}]}}}}"#
        );
        let key = ListKey { resource_type: "ValueSet".into(), url: url.into() };
        ListChange::Put(StoredList { key, at: 1, text: text.into_bytes() })
    }

    #[test]
    fn lists_that_this_release_cannot_use_stop_a_start_and_can_be_removed_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let options = engine::EngineOptions::in_folder(folder.path().join("data"));
        let engine = Arc::new(Engine::open(options).unwrap());
        let changes = vec![set("urn:a", "urn:gone"), set("urn:b", "urn:gone")];
        engine.append(changes).blocking_recv().unwrap().unwrap();
        let open = || Lists::open(engine.clone(), Names::default(), false);
        let problem = open().err().unwrap();
        assert!(problem.contains("urn:a") && problem.contains("urn:b") && problem.contains("remove"), "{problem}");
        let lists = Lists::open_to_mend(engine.clone(), Names::default(), false).unwrap();
        assert!(lists.lines().iter().all(|line| line.loaded_at.is_none()));
        let more = r#"{"resourceType":"CodeSystem","url":"urn:c","status":"active","content":"fragment","concept":[{"code":"a"}]}"#;
        assert!(lists.load(more.as_bytes(), 1).is_err(), "nothing is added before they are mended");
        lists.remove("urn:a").unwrap();
        assert!(open().is_err());
        lists.remove("urn:b").unwrap();
        assert!(open().is_ok());
    }
}
