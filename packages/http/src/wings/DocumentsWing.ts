/** Documents: files that a message carries, and the endpoints that keep them. */
import { notAvailable } from "./Fields.ts"
import type { Wing } from "./Wing.ts"

export const documentsWing: Wing = {
  part: "documents",
  message: {
    asked: () => [],
    // The bytes of files are not kept while a body is read, so there is nothing to hand to any part.
    problems: (_fields, { files }) =>
      files
        .filter((file) => file.field === "files")
        .map((_file, index) => notAvailable(["files", index], "Attaching files")),
    options: () => null,
    place: (path) => ["files", ...path]
  },
  absent: {
    title: "Documents",
    endpoints: [
      ["GET", "/threads/:thread_id/documents"],
      ["POST", "/threads/:thread_id/documents"],
      ["POST", "/threads/:thread_id/documents/search"],
      ["GET", "/assistants/:assistant_id/documents"],
      ["POST", "/assistants/:assistant_id/documents"],
      ["POST", "/assistants/:assistant_id/documents/search"],
      ["DELETE", "/documents/:document_id"],
      ["GET", "/documents/:document_id/status"],
      ["GET", "/documents/:document_id/content"],
      ["GET", "/documents/:document_id/chunks"],
      ["POST", "/documents/:document_id/url"]
    ]
  }
}
