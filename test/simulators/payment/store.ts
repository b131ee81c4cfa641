import {createHash} from 'node:crypto'
import {existsSync, readFileSync, renameSync, writeFileSync} from 'node:fs'
import type {Simulator} from './simulator.ts'
import type {KeptAnswer} from './state.ts'

/** Any object with an id. An object is internal if its `object` begins with `~`; no answer contains it. */
export type Thing = {id: string; object: string; [name: string]: any}

export type Store = ReturnType<typeof createStore>

/** Creates a store of objects by kind and id. Objects are immutable: a change replaces the object, so earlier references stay unchanged. */
export const createStore = () => {
  const kinds = new Map<string, Map<string, Thing>>()
  const undo: (() => void)[] = []
  const set = (object: string, id: string, thing: Thing | undefined) => {
    const things = kinds.get(object) ?? new Map<string, Thing>()
    kinds.set(object, things)
    const before = things.get(id)
    undo.push(() => (before ? things.set(id, before) : things.delete(id)))
    if (thing) things.set(id, thing)
    else things.delete(id)
  }
  return {
    get: (object: string, id: string): Thing | undefined => kinds.get(object)?.get(id),
    find: (id: string): Thing | undefined => [...kinds].find(([object, things]) => !object.startsWith('~') && things.has(id))?.[1].get(id),
    /** Lists the objects of a kind, oldest first. */
    all: (object: string): Thing[] => [...(kinds.get(object)?.values() ?? [])],
    /** Lists all objects, oldest first within each kind. */
    list: (): Thing[] => [...kinds.values()].flatMap(things => [...things.values()]),
    put: <T extends Thing>(thing: T): T => {
      set(thing.object, thing.id, thing)
      return thing
    },
    drop: (object: string, id: string) => set(object, id, undefined),
    mark: () => undo.length,
    restore: (mark: number) => {
      while (undo.length > mark) undo.pop()!()
    },
    commit: () => void (undo.length = 0),
  }
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Creates ids in the provider's form. Equal seeds and calls give equal ids. */
export const createIds = (store: Store, seed: string) => (prefix: string) => {
  const name = `ids:${prefix}`
  const count = (store.get('~count', name)?.count ?? 0) + 1
  store.put({id: name, object: '~count', count})
  const hash = createHash('sha256').update(`${seed}:${prefix}:${count}`).digest()
  return `${prefix}_1${[...hash.subarray(0, 23)].map(byte => letters[byte % letters.length]).join('')}`
}

export const secretOf = (seed: string, name: string) => `whsec_${createHash('sha256').update(`${seed}:${name}`).digest('hex').slice(0, 32)}`

const version = 1
const everyMs = 2000

type KeptContent = {version: number; now: number; things: Thing[]; keys: [string, KeptAnswer][]}

/**
 * Keeps the state in a file: reads it at the start, and writes changes every two seconds and at the end. An unreadable file is renamed, not
 * deleted.
 */
export const openSnapshot = (standIn: Simulator, file: string): {close: () => void} => {
  if (existsSync(file)) load(standIn, file)
  let last = ''
  const save = () => {
    const text = JSON.stringify(contentOf(standIn))
    if (text === last) return
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
    last = text
  }
  const timer = setInterval(save, everyMs).unref()
  return {
    close: () => {
      clearInterval(timer)
      save()
    },
  }
}

/** Returns the content of the file. Deliveries in flight become unsent, because their outcome is unknown. */
const contentOf = ({world}: Simulator): KeptContent => ({
  version,
  now: world.clock.now(),
  things: world.store.list().map(thing => (thing.object === '~delivery' ? {...thing, isOut: false} : thing)),
  keys: world.keys.list(),
})

const load = (standIn: Simulator, file: string) => {
  const {world} = standIn
  try {
    const kept: KeptContent = JSON.parse(readFileSync(file, 'utf8'))
    if (kept.version !== version) throw new Error(`version ${kept.version} is not ${version}`)
    for (const thing of kept.things) world.store.put(thing)
    world.store.commit()
    world.keys.restore(kept.keys)
    world.clock.set(Math.max(kept.now, world.clock.now()))
  } catch (error) {
    renameSync(file, `${file}.unreadable`)
    standIn.reset()
    console.error(`The snapshot ${file} could not be read and was put aside: ${error instanceof Error ? error.message : error}`)
  }
}
