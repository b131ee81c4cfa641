/** Calls and their answers, for tests that count them. */
export type Entry = {
  at: number
  method: string
  path: string
  key: string | null
  version: string | null
  requestId: string
  body: string
  /** Null if the connection was cut. */
  status: number | null
  fault: number | null
  isReplay: boolean
}

export type Journal = {note: (entry: Entry) => void; list: (filter?: {method?: string; path?: string}) => Entry[]; clear: () => void}

const kept = 5000

export const createJournal = (): Journal => {
  let entries: Entry[] = []
  return {
    note: entry => {
      entries.push(entry)
      if (entries.length > kept) entries = entries.slice(-kept / 2)
    },
    list: ({method, path} = {}) =>
      entries.filter(entry => (method === undefined || entry.method === method) && (path === undefined || entry.path.startsWith(path))),
    clear: () => {
      entries = []
    },
  }
}
