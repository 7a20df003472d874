import type { ReactNode } from "react"
// Next takes styles by such an import.
// oxlint-disable-next-line import/no-unassigned-import
import "./chat.css"

export const metadata = { title: "Chat", icons: "data:," }

const Layout = ({ children }: { readonly children: ReactNode }) => (
  <html lang="en">
    <body>{children}</body>
  </html>
)
export default Layout
