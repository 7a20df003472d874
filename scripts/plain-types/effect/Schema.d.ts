/** Schemas as far as the types of their values need them. Schemas of Effect are assignable to `Codec`. */
import type { Brand } from "effect/Brand"

interface Of<out Value> {
  readonly Type: Value
}

/** A schema as a host gives it: a real one, or one of these. */
export interface Codec<out Value, out Encoded = Value, out Decoding = never, out Encoding = never> extends Of<Value> {
  readonly "~effect/Schema/Schema": unknown
  readonly Encoded: Encoded
  readonly DecodingServices: Decoding
  readonly EncodingServices: Encoding
}

export type Json = null | number | boolean | string | JsonArray | JsonObject
export interface JsonArray extends ReadonlyArray<Json> {}
export interface JsonObject {
  readonly [key: string]: Json
}

interface OfText extends Of<string> {}
interface OfNumber extends Of<number> {}
interface OfBoolean extends Of<boolean> {}
interface OfTime extends Of<Date> {}
interface OfAnything extends Of<unknown> {}

type Branded<Schema extends OfAnything, Name extends string> = Of<Schema["Type"] & Brand<Name>>
type OrNull<Schema extends OfAnything> = Of<Schema["Type"] | null>
type OneOf<Values extends ReadonlyArray<unknown>> = Of<Values[number]>
type AnyOf<Members extends ReadonlyArray<OfAnything>> = Of<Members[number]["Type"]>
type ListOf<Item extends OfAnything> = Of<ReadonlyArray<Item["Type"]>>
type TupleOf<Items extends ReadonlyArray<OfAnything>> = Of<{ readonly [Index in keyof Items]: Items[Index]["Type"] }>
type RecordOf<_Key, Value extends OfAnything> = Of<{ readonly [key: string]: Value["Type"] }>

interface Optional {
  readonly "~optional": true
}
type MayBeAbsent<Schema extends OfAnything> = Schema & Optional
/** Absent in what is decoded only. */
type WithDefault<Schema extends OfAnything, _Services = never> = Of<Schema["Type"]>

type Fields = { readonly [Name in string]: OfAnything }
type Whole<Value> = { [Name in keyof Value]: Value[Name] } & {}
type ValueOf<All extends Fields> = Whole<
  { readonly [Name in keyof All as All[Name] extends Optional ? never : Name]: All[Name]["Type"] } & {
    readonly [Name in keyof All as All[Name] extends Optional ? Name : never]?: All[Name]["Type"]
  }
>
type ObjectOf<All extends Fields> = Of<ValueOf<All>>
type TaggedOf<Tag extends string, All extends Fields> = Of<Whole<{ readonly _tag: Tag } & ValueOf<All>>>

/** An error class: made of its fields without the tag. */
interface ClassOf<Self, Struct extends OfAnything, Inherited> {
  readonly Type: Self
  new (fields: Omit<Struct["Type"], "_tag">): Struct["Type"] & Inherited
}

// The names inside of this file are others than those of JavaScript, because the joined files have one scope each.
export type {
  OfText as String,
  OfText as NonEmptyString,
  OfBoolean as Boolean,
  OfNumber as Int,
  OfNumber as Finite,
  OfNumber as Number,
  OfTime as Date,
  OfAnything as Defect,
  Branded as brand,
  OrNull as NullOr,
  Of as Literal,
  OneOf as Literals,
  AnyOf as Union,
  ListOf as $Array,
  TupleOf as Tuple,
  RecordOf as $Record,
  MayBeAbsent as optionalKey,
  WithDefault as withDecodingDefaultKey,
  ObjectOf as Struct,
  TaggedOf as TaggedStruct,
  ClassOf as Class
}
