/**
 * Repairs the reader of API descriptions in the browser, for screen readers and for weak eyes: names that controls lack, roles that their
 * elements may not have, greys that are too light.
 */

/** Styles of the reader, and of the links above it. */
export const styles = `
  .light-mode { --scalar-color-2: #474c52; --scalar-color-3: #565c63; --scalar-color-green: #00663f; --scalar-color-blue: #005a94;
    --scalar-color-orange: #98340a; --scalar-color-red: #b3101b; --scalar-color-purple: #5a3fb0; --scalar-color-yellow: #7a5200;
    --scalar-color-accent: #005a94; }
  .dark-mode { --scalar-color-3: #a9b0b7; --scalar-color-red: #ff8a80; }
  .docs-links { display: flex; gap: 1.2rem; padding: 0.6rem 1.2rem; font: 15px/1.4 system-ui, sans-serif;
    color: #1d2126; background: #f4f2ee; }
  .docs-links b { margin-inline-end: auto; }
  .docs-links a { color: #0d615d; }
  .dark-mode .docs-links { color: #e9e7e3; background: #1c1f23; }
  .dark-mode .docs-links a { color: #74c9c1; }
`

/** A script of the page. Each rule names elements of the reader, and what is changed in them. */
export const repairs = `
  const rules = [
    ["button[aria-selected]:not([role])", (each) => { each.ariaCurrent = each.ariaSelected; each.ariaSelected = null }],
    ["aside[role=navigation]", (each) => each.removeAttribute("role")],
    ["button[role=search]", (each) => each.removeAttribute("role")],
    ["aside button [aria-hidden=true]:not(svg, svg *)", (each) => { if (each.textContent.trim() === "Search") each.ariaHidden = null }],
    [".cm-content:not([aria-label])", (each) => { each.ariaLabel = "Text of the request" }],
    [".client-libraries-list [role=tab]", (each) => { each.removeAttribute("role"); each.ariaPressed = each.ariaSelected; each.ariaSelected = null }],
    [".client-libraries-list[role=tablist]", (each) => { each.setAttribute("role", "group"); each.removeAttribute("aria-orientation") }],
    [".client-libraries__select:not([aria-label])", (each) => { each.ariaLabel = "More languages" }],
    [".show-more[aria-label]", (each) => { each.ariaLabel = null }],
    [".endpoints:not([tabindex])", (each) => { each.tabIndex = 0 }],
    ["[role=region].response-card", (each) => { each.removeAttribute("role") }]
  ]
  const repair = () => { for (const [where, change] of rules) for (const each of document.querySelectorAll(where)) change(each) }
  let isPlanned = false
  new MutationObserver(() => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(() => { isPlanned = false; repair() })
  }).observe(document.documentElement, { childList: true, subtree: true, attributes: true, attributeFilter: ["role", "aria-selected", "aria-label"] })
`
