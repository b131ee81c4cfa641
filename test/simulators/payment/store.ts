/** Any object with an id. Those whose `object` begins with `~` are internal and never leave the stand-in. */
export type Thing = {id: string; object: string; [name: string]: any}

export type Store = {
  get: (object: string, id: string) => Thing | undefined
  find: (id: string) => Thing | undefined
  /** Oldest first. */
  all: (object: string) => Thing[]
  /** All objects, oldest first within each kind. */
  list: () => Thing[]
  /** Objects are immutable: a change replaces the object, so references to the old one stay unchanged. */
  put: <T extends Thing>(thing: T) => T
  drop: (object: string, id: string) => void
  mark: () => number
  restore: (mark: number) => void
  commit: () => void
}

export const createStore = (): Store => {
  const kinds = new Map<string, Map<string, Thing>>()
  const undo: (() => void)[] = []
  const ofKind = (object: string) => {
    let things = kinds.get(object)
    if (!things) kinds.set(object, (things = new Map()))
    return things
  }
  const set = (object: string, id: string, thing: Thing | undefined) => {
    const things = ofKind(object)
    const before = things.get(id)
    undo.push(() => (before ? things.set(id, before) : things.delete(id)))
    if (thing) things.set(id, thing)
    else things.delete(id)
  }
  return {
    get: (object, id) => kinds.get(object)?.get(id),
    find: id => {
      for (const [object, things] of kinds) {
        const found = object.startsWith('~') ? undefined : things.get(id)
        if (found) return found
      }
      return undefined
    },
    all: object => [...ofKind(object).values()],
    list: () => [...kinds.values()].flatMap(things => [...things.values()]),
    put: thing => {
      set(thing.object, thing.id, thing)
      return thing
    },
    drop: (object, id) => set(object, id, undefined),
    mark: () => undo.length,
    restore: mark => {
      while (undo.length > mark) undo.pop()!()
    },
    commit: () => {
      undo.length = 0
    },
  }
}
