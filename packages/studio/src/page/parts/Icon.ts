/**
 * The studio's icons: lines of one width, in the colour of the text beside them. Screen readers ignore them, because buttons have names.
 */
import { html, type View } from "../view.ts"

const paths = {
  plus: "M12 5v14M5 12h14",
  pencil: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  trash: "M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13M10 11v5M14 11v5",
  copy: "M9 9h10v10H9zM5 15V5h10",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  search: "M11 5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15.5 15.5L20 20",
  send: "M12 19V5M6 11l6-6l6 6",
  stop: "M7 7h10v10H7z",
  clip: "M18 11l-6.5 6.5a3.5 3.5 0 0 1-5-5L13 6a2.4 2.4 0 0 1 3.4 3.4l-6.5 6.5",
  mic: "M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4M6.5 11.5a5.5 5.5 0 0 0 11 0M12 17v3",
  wave: "M4 12h1M8 8v8M12 5v14M16 8v8M20 12h-1",
  look: "M3 12s3.5-6 9-6s9 6 9 6s-3.5 6-9 6s-9-6-9-6M12 9.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 1 0 0-5",
  save: "M12 4v11M7 11l5 5l5-5M5 20h14",
  open: "M12 16V5M7 9l5-5l5 5M5 20h14",
  sun: "M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8M12 3v1.5M12 19.5V21M3 12h1.5M19.5 12H21M5.6 5.6l1 1M17.4 17.4l1 1M5.6 18.4l1-1M17.4 6.6l1-1",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5",
  file: "M7 4h7l4 4v12H7zM14 4v4h4",
  key: "M8 12a3.5 3.5 0 1 0 0 .01M11.5 12H20M17 12v3",
  warning: "M12 5l8 14H4zM12 10v4M12 16.5v.5",
  columns: "M5 5h14v14H5zM12 5v14",
  options: "M4 8h9M17 8h3M15 6v4M4 16h3M11 16h9M9 14v4",
  play: "M8 6l10 6l-10 6z",
  gauge: "M4 17a8 8 0 1 1 16 0M12 17l4-5",
  talk: "M5 5h14v11h-8l-4 4v-4H5z",
  runs: "M4 7h5M4 12h9M4 17h6M13 7h7M17 12h3M14 17h6",
  inbox: "M4 13l2.5-8h11L20 13v6H4zM4 13h5l1 2.5h4l1-2.5h5",
  clock: "M12 4a8 8 0 1 0 0 16a8 8 0 1 0 0-16M12 8v4.5l3 2",
  hook: "M14 4a2 2 0 1 0 0 4a2 2 0 1 0 0-4M14 8v6a4 4 0 0 1-8 0v-2",
  user: "M12 4a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7M5 20c.6-4 3.2-6 7-6s6.4 2 7 6",
  again: "M19 8a8 8 0 1 0 1 5M19 4v4h-4",
  fork: "M7 5v14M7 13c6 0 10-2 10-6V5M14.5 7.5L17 5l2.5 2.5",
  back: "M10 7l-5 5l5 5M5 12h9a5 5 0 0 1 0 7h-2",
  thumb: "M7 11v8H4v-8zM7 11l4-7c1.5 0 2.3 1 2 2.6L12.4 10H18a2 2 0 0 1 2 2.3l-1 5a2 2 0 0 1-2 1.7H7",
  thumbDown: "M17 13V5h3v8zM17 13l-4 7c-1.5 0-2.3-1-2-2.6l.6-3.4H6a2 2 0 0 1-2-2.3l1-5A2 2 0 0 1 7 5h10",
  flask: "M9 4h6M10 4v6l-5 8a1.5 1.5 0 0 0 1.3 2h11.4a1.5 1.5 0 0 0 1.3-2l-5-8V4M7.5 15h9",
  check: "M5 12.5l4.5 4.5L19 7.5",
  book: "M12 7a2 2 0 0 0-2-2H4v13h6a2 2 0 0 1 2 1.5a2 2 0 0 1 2-1.5h6V5h-6a2 2 0 0 0-2 2M12 7v12.5"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }): View =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`

export interface IconButtonProps {
  readonly icon: IconName
  readonly label: string
  readonly onClick: (event: Event) => void
  readonly isPressed?: boolean
  readonly isDisabled?: boolean
  readonly class?: string
}

export const IconButton = ({
  class: className = "",
  icon,
  isDisabled = false,
  isPressed,
  label,
  onClick
}: IconButtonProps): View =>
  html`<button
    type="button"
    class="icon-button ${className}"
    aria-label=${label}
    title=${label}
    aria-pressed=${isPressed}
    disabled=${isDisabled}
    onClick=${onClick}
  >
    <${Icon} name=${icon} />
  </button>`
