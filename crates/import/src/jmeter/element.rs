//! Elements of a test plan: each has properties, and the sibling `hashTree` behind it holds its children.

use roxmltree::Node;

/// An element and its children.
#[derive(Clone, Copy)]
pub(super) struct Element<'d> {
    node: Node<'d, 'd>,
    tree: Option<Node<'d, 'd>>,
    /// Where each line begins.
    lines: &'d [usize],
}

/// The elements of a `hashTree` that are not disabled.
pub(super) fn elements<'d>(
    tree: Node<'d, 'd>,
    lines: &'d [usize],
) -> impl Iterator<Item = Element<'d>> {
    let is_tree = |node: &Node<'d, 'd>| node.has_tag_name("hashTree");
    let nodes = tree.children().filter(move |node| node.is_element() && !is_tree(node));
    nodes.filter(|node| node.attribute("enabled") != Some("false")).map(move |node| Element {
        node,
        tree: node.next_sibling_element().filter(is_tree),
        lines,
    })
}

impl<'d> Element<'d> {
    /// What it is, such as `HTTPSamplerProxy`.
    pub(super) fn kind(&self) -> &'d str {
        self.node.tag_name().name()
    }

    /// What a person called it.
    pub(super) fn title(&self) -> &'d str {
        self.node.attribute("testname").unwrap_or_default()
    }

    /// An attribute.
    pub(super) fn attribute(&self, name: &str) -> &'d str {
        self.node.attribute(name).unwrap_or_default()
    }

    /// Its line, from 1.
    pub(super) fn line(&self) -> Option<usize> {
        Some(self.lines.partition_point(|begin| *begin <= self.node.range().start))
    }

    pub(super) fn children(&self) -> Vec<Element<'d>> {
        self.tree.map(|tree| elements(tree, self.lines).collect()).unwrap_or_default()
    }

    fn property(&self, name: &str) -> Option<Node<'d, 'd>> {
        self.node.children().find(|child| child.attribute("name") == Some(name))
    }

    /// The text of a property; empty without one.
    pub(super) fn text(&self, name: &str) -> &'d str {
        self.property(name).and_then(|node| node.text()).unwrap_or_default()
    }

    /// Whether a property is true.
    pub(super) fn is(&self, name: &str) -> bool {
        self.text(name).trim() == "true"
    }

    /// A property that is an element itself.
    pub(super) fn inner(&self, name: &str) -> Option<Element<'d>> {
        self.property(name).map(|node| Element { node, tree: None, lines: self.lines })
    }

    /// The entries of a collection.
    pub(super) fn entries(&self, name: &str) -> Vec<Element<'d>> {
        let nodes = self.property(name).map(|node| node.children().filter(Node::is_element));
        nodes
            .into_iter()
            .flatten()
            .map(|node| Element { node, tree: None, lines: self.lines })
            .collect()
    }

    /// The text of an entry itself.
    pub(super) fn own_text(&self) -> &'d str {
        self.node.text().unwrap_or_default()
    }
}
