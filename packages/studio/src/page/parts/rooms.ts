/**
 * The rooms of the studio in the order of the rail. A room is one file and one line here. All but the first one are loaded when they are
 * opened.
 */
import type { IconName } from "./Icon.ts"
import { chosenRooms, mayAct } from "../lib/host.ts"
import { TalkRoom } from "./TalkRoom.ts"
import { realtimeModels } from "../state/catalogue.ts"
import { can } from "../state/studio.ts"
import { waitingCount } from "../state/waiting.ts"
import type { ReadonlySignal, View } from "../view.ts"

export interface RoomProps {
  /** The segments of the address behind the room's name. */
  readonly path: ReadonlyArray<string>
}

interface RoomFile {
  readonly Room: (props: RoomProps) => View
}

export interface RoomEntry {
  /** The first segment of the room's addresses. */
  readonly name: string
  readonly word: string
  readonly icon: IconName
  /** Returns false for a room that has an address but is not in the rail. It is called while the rail is drawn, so it may read signals. */
  readonly isShown?: () => boolean
  /** The number in the rail: how many items of the room wait for a person. */
  readonly count?: ReadonlySignal<number>
  /** True: the assistants and threads stand beside the room. */
  readonly hasLists?: boolean
  /** True: the purpose of the room is to change something, or to start turns. */
  readonly isActive?: boolean
  /** The name of the room to which this one belongs. A host that leaves that room out leaves this one out too. */
  readonly partOf?: string
  /** The room's file in `css/`, without the ending. */
  readonly styles?: string
  readonly load: () => RoomFile | Promise<RoomFile>
}

const isNever = () => false

const allRooms: ReadonlyArray<RoomEntry> = [
  { name: "talk", word: "Talk", icon: "talk", hasLists: true, load: () => ({ Room: TalkRoom }) },
  {
    name: "runs",
    word: "Runs",
    icon: "runs",
    count: waitingCount,
    styles: "runs",
    load: () => import("./RunsRoom.ts")
  },
  {
    name: "playground",
    word: "Playground",
    icon: "columns",
    isActive: true,
    styles: "playground",
    load: () => import("./PlaygroundRoom.ts")
  },
  {
    name: "tests",
    word: "Tests",
    icon: "flask",
    isShown: () => can.value.evals,
    styles: "tests",
    load: () => import("./TestsRoom.ts")
  },
  {
    name: "knowledge",
    word: "Knowledge",
    icon: "book",
    styles: "knowledge",
    load: () => import("./KnowledgeRoom.ts")
  },
  {
    name: "voice",
    word: "Voice",
    icon: "wave",
    isActive: true,
    hasLists: true,
    isShown: () => realtimeModels.value.length > 0,
    styles: "voice",
    load: () => import("./VoiceRoom.ts")
  },
  {
    name: "compare",
    word: "Compare",
    icon: "columns",
    partOf: "talk",
    isActive: true,
    hasLists: true,
    isShown: isNever,
    styles: "compare",
    load: () => import("./CompareRoom.ts")
  },
  { name: "shared", word: "Shared turn", icon: "open", isShown: isNever, load: () => import("./SharedRoom.ts") }
]

/** The rooms that the host chose, without rooms that change things if nothing may be changed. */
export const rooms: ReadonlyArray<RoomEntry> = allRooms.filter(
  ({ isActive, isShown, name, partOf }) =>
    (mayAct() || isActive !== true) &&
    (chosenRooms === null || chosenRooms.includes(partOf ?? name) || (partOf === undefined && isShown === isNever))
)

/** Whether the page has this room, so that a link may lead to it. */
export const hasRoom = (name: string): boolean => rooms.some((each) => each.name === name)
