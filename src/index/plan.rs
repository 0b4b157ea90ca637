//! A branch of a glob in terms of the tree: texts become component ids, and matches are remembered by id.

use super::tree::{Child, Tree};
use plumbago_model::glob::{Branch, Component, Matcher};

/// After this many matches, results are cached: the same components occur under every directory.
const REMEMBER_AFTER: u32 = 256;

/// How the places of a branch are matched in one tree.
pub(super) struct GlobPlan<'g> {
    branch: &'g Branch,
    steps: Vec<Step<'g>>,
}

/// How one place is matched.
pub(super) enum Step<'g> {
    /// Every component.
    Any,
    /// One of these components, ascending. Few enough to be looked up one by one.
    Ids(Vec<u32>),
    /// Whatever the matcher accepts.
    Test(&'g Matcher, Memo),
}

/// Cached results, two bits per component.
#[derive(Default)]
pub(super) struct Memo {
    asked: u32,
    bits: Vec<u8>,
}

impl<'g> GlobPlan<'g> {
    /// `None` when the branch requires a component that no name has, so nothing can match.
    pub(super) fn new(branch: &'g Branch, tree: &Tree) -> Option<GlobPlan<'g>> {
        let steps = branch.components().iter().map(|component| Step::new(component, tree));
        let plan = GlobPlan { branch, steps: steps.collect() };
        let hopeless = |step: &Step<'_>| matches!(step, Step::Ids(ids) if ids.is_empty());
        (!plan.steps.iter().any(hopeless)).then_some(plan)
    }

    /// The branch it is for.
    pub(super) fn branch(&self) -> &'g Branch {
        self.branch
    }

    /// The only components that lead on from `states`, if they can simply be looked up.
    pub(super) fn lookup(&self, states: u64) -> Option<&[u32]> {
        if !states.is_power_of_two() {
            return None;
        }
        match self.steps.get(states.trailing_zeros() as usize) {
            Some(Step::Ids(ids)) => Some(ids),
            _ => None,
        }
    }

    /// Visits those of `children` that lead on from `states`, with the places they lead to.
    pub(super) fn select(
        &mut self,
        states: u64,
        children: &[Child],
        tree: &Tree,
        mut visit: impl FnMut(Child, u64),
    ) {
        let (branch, steps) = (self.branch, &mut self.steps);
        // At a globstar a path is in at least two places. A path in one place has one step to test for every child.
        if states.is_power_of_two() {
            let Some(step) = steps.get_mut(states.trailing_zeros() as usize) else { return };
            let next = branch.advance(states, |_| true);
            for &child in children.iter().filter(|child| step.takes(child.component, tree)) {
                visit(child, next);
            }
            return;
        }
        for &child in children {
            let takes = |place| {
                steps.get_mut(place).is_some_and(|step: &mut Step<'_>| step.takes(child.component, tree))
            };
            let next = branch.advance(states, takes);
            if next != 0 {
                visit(child, next);
            }
        }
    }
}

impl<'g> Step<'g> {
    fn new(component: &'g Component, tree: &Tree) -> Step<'g> {
        let ids = |texts: &mut dyn Iterator<Item = &str>| {
            let mut ids: Vec<u32> = texts.filter_map(|text| tree.component(text)).collect();
            ids.sort_unstable();
            Step::Ids(ids)
        };
        match component {
            // The branch itself handles a globstar; its place is never tested.
            Component::Globstar | Component::One(Matcher::Any) => Step::Any,
            Component::One(Matcher::Literal(text)) => ids(&mut std::iter::once(&**text)),
            Component::One(Matcher::Set(texts)) => ids(&mut texts.iter().map(|text| &**text)),
            Component::One(matcher) => Step::Test(matcher, Memo::default()),
        }
    }
}

impl Step<'_> {
    #[inline]
    fn takes(&mut self, component: u32, tree: &Tree) -> bool {
        match self {
            Step::Any => true,
            Step::Ids(ids) => ids.binary_search(&component).is_ok(),
            Step::Test(matcher, memo) => memo.matches(matcher, component, tree),
        }
    }
}

impl Memo {
    const KNOWN: u8 = 0b10;

    #[inline]
    fn matches(&mut self, matcher: &Matcher, component: u32, tree: &Tree) -> bool {
        self.asked = self.asked.saturating_add(1);
        if self.asked <= REMEMBER_AFTER {
            return matcher.matches(tree.text(component));
        }
        let (byte, shift) = (component as usize / 4, component % 4 * 2);
        if byte >= self.bits.len() {
            // The tree may have grown since the last pause.
            self.bits.resize(tree.component_end().div_ceil(4), 0);
        }
        let known = self.bits[byte] >> shift & 0b11;
        if known != 0 {
            return known != Self::KNOWN;
        }
        let matches = matcher.matches(tree.text(component));
        self.bits[byte] |= (Self::KNOWN | u8::from(matches)) << shift;
        matches
    }
}
