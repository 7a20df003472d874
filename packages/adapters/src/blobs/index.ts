export * as FolderBlobs from "./FolderBlobs.ts"
