// Keyboard shortcuts. They do not apply in text fields.

export function startKeys(actions) {
  addEventListener("keydown", (event) => {
    const writing = event.target.closest?.("input, select, textarea");
    if (writing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
