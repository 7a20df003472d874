export type NonEmptyReadonlyArray<Item> = readonly [Item, ...Array<Item>]
