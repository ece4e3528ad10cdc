"""The colours of the page by name, for light and dark; tests hold them to the contrast that WCAG AA asks for."""

from __future__ import annotations

LIGHT = {
    "ground": "#fbfaf8", "raised": "#ffffff", "ink": "#1b1c1e", "soft": "#3c4046", "muted": "#5f646b", "rule": "#e2e0db", "edge": "#85898f",
    "shade": "#e9e6df", "link": "#1a56b0", "good": "#1f6f3f", "bad": "#b3261e", "on-heat": "#ffffff",
    "h1": "#fbe3d3", "h2": "#f3bf9b", "h3": "#e79562", "h4": "#a9481b", "h5": "#7d2d0c",
    "c0": "#b3261e", "c1": "#1f5fbf", "c2": "#8a5a00", "c3": "#00695c", "c4": "#6a3fb5", "c5": "#a01f6b", "c6": "#3d6b00", "c7": "#455a64",
}  # fmt: skip
DARK = {
    "ground": "#131416", "raised": "#1b1d20", "ink": "#f1efeb", "soft": "#cfd1d4", "muted": "#a2a7ae", "rule": "#303338", "edge": "#7b8189",
    "shade": "#2a2d33", "link": "#8ab4ff", "good": "#7ddc9f", "bad": "#ff8a80", "on-heat": "#1b1c1e",
    "h1": "#3a2419", "h2": "#55301d", "h3": "#7d4322", "h4": "#f0a071", "h5": "#ffc9a3",
    "c0": "#ff8a80", "c1": "#82b1ff", "c2": "#ffcc66", "c3": "#5eead4", "c4": "#c4a7ff", "c5": "#ff9bd0", "c6": "#b5e48c", "c7": "#b0bec5",
}  # fmt: skip


def variables() -> str:
    """The style sheet that sets them: by what the reader's system prefers, by the page's own switch, and light in print."""
    light, dark = _declared(LIGHT), _declared(DARK)
    return (
        f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    )


def _declared(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
