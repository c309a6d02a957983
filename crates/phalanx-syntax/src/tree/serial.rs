//! Trees through serde: the columns, checked when they come back.

use super::kind::Kind;
use super::{Span, Tree};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(rename = "Tree")]
struct Columns {
    /// The kinds in the order of their bytes, each with the shapes of its fields: a tree of another table is refused.
    table: Vec<String>,
    kinds: Vec<u8>,
    spans: Vec<Span>,
    data: Vec<[u32; 2]>,
    extra: Vec<u32>,
}

fn table<K: Kind>() -> Vec<String> {
    let described = |kind: &K| {
        let shapes = kind.layout().fields.iter().map(|field| format!(" {:?}", field.shape));
        shapes.fold(kind.name().to_string(), |text, shape| text + &shape)
    };
    K::ALL.iter().map(described).collect()
}

impl<K: Kind> Serialize for Tree<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = Columns {
            table: table::<K>(),
            kinds: self.kinds().iter().map(|kind| kind.index()).collect(),
            spans: self.spans().to_vec(),
            data: self.data().to_vec(),
            extra: self.extra().to_vec(),
        };
        columns.serialize(serializer)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Tree<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree<K>, D::Error> {
        let columns = Columns::deserialize(deserializer)?;
        if columns.table != table::<K>() {
            return Err(D::Error::custom("the tree is of another table of kinds"));
        }
        let tree = Tree::from_columns(&columns.kinds, &columns.spans, &columns.data, &columns.extra);
        let tree: Tree<K> = tree.map_err(D::Error::custom)?;
        tree.validate().map_err(D::Error::custom)?;
        Ok(tree)
    }
}
