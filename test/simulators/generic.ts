import {createServer, type IncomingMessage, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'

type StoredRecords = Record<string, unknown>
type StartGenericInput = {method: string; path: string; query: Record<string, string>; headers: IncomingMessage['headers']; body: any}
type Fault = {
  method?: string
  times?: number
  /**
   * `answer` replaces the effect. `drop` closes the connection before or after the effect. `refuse` declines records whose `field` has
   * `value`.
   */
  action:
    | {type: 'answer'; status: number; headers?: Record<string, string>; body?: unknown}
    | {type: 'drop'; when: 'before' | 'after'}
    | {type: 'refuse'; field: string; value: unknown; error: object}
}

type Options = {
  /** The collections by path, each with its id field and its unique fields. `convert`: converts values to the form in which they are stored. */
  collections: Record<string, {idField: string; unique?: string[]; convert?: (given: StoredRecords) => StoredRecords}>
  /** The header that every request must have. */
  auth?: {header: string; value: string}
}

/** Starts a plain REST destination with state in memory and injectable faults, on the loopback interface. It uses no code of the service. */
export const startGeneric = async ({collections, auth}: Options) => {
  const store = openStore(collections)
  const journal: StartGenericInput[] = []
  const faults: Fault[] = []
  let admit = (): number | null => null

  const perform = (asked: StartGenericInput, fault: Fault['action'] | undefined) => {
    if (auth && asked.headers[auth.header] !== auth.value) return {status: 401, body: {code: 'UNAUTHORISED', message: 'Who are you?'}}
    if (!(asked.path in collections)) return {status: 404, body: {code: 'NOT_FOUND', message: 'There is nothing here'}}
    if (fault?.type === 'answer') return fault
    const waitSeconds = admit()
    if (waitSeconds !== null) return {status: 429, headers: {'retry-after': String(waitSeconds)}, body: {code: 'SLOW'}}
    return asked.method === 'GET' ? store.read(asked) : store.write(asked, fault)
  }

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const asked = await readRequest(incoming)
    journal.push(asked)
    const fault = takeFault(faults, asked.method)
    if (fault?.type === 'drop' && fault.when === 'before') return void incoming.socket.destroy()
    const answer = perform(asked, fault)
    if (fault?.type === 'drop') return void incoming.socket.destroy()
    outgoing.writeHead(answer.status, {'content-type': 'application/json', ...('headers' in answer && answer.headers)})
    outgoing.end(answer.body === undefined ? '' : JSON.stringify(answer.body))
  }

  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records: store.all,
    journal: (method?: string) => journal.filter(asked => method === undefined || asked.method === method),
    fail: (fault: Fault) => void faults.push(fault),
    /** Admits this number of calls in each period, which begins with its first call. Refuses further calls until the period ends. */
    limit: (calls: number, seconds: number) => {
      admit = openLimit(calls, seconds * 1000)
    },
    clear: () => {
      faults.length = 0
      journal.length = 0
    },
    async stop() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type GenericSimulator = Awaited<ReturnType<typeof startGeneric>>

/** The returned function returns null if it admits the call, or the seconds until the period ends. */
const openLimit = (calls: number, periodMs: number) => {
  let [endsAt, admitted] = [0, 0]
  return () => {
    const now = performance.now()
    if (now >= endsAt) [endsAt, admitted] = [now + periodMs, 0]
    return ++admitted > calls ? Math.ceil((endsAt - now) / 1000) : null
  }
}

const readRequest = async (incoming: IncomingMessage): Promise<StartGenericInput> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const {pathname, searchParams} = new URL(incoming.url!, 'http://stand-in')
  const query = Object.fromEntries(searchParams)
  return {method: incoming.method!, path: pathname, query, headers: incoming.headers, body: text === '' ? null : JSON.parse(text)}
}

const takeFault = (faults: Fault[], method: string) => {
  const at = faults.findIndex(fault => fault.method === undefined || fault.method === method)
  const fault = faults[at]
  if (fault && (fault.times = (fault.times ?? 1) - 1) === 0) faults.splice(at, 1)
  return fault?.action
}

/** Records of different collections may have the same id. */
const openStore = (collections: Options['collections']) => {
  const stored = new Map(Object.keys(collections).map(path => [path, new Map<string, StoredRecords>()]))
  const made = new Map<string, number>()

  const findTwin = (path: string, record: StoredRecords, own: string) =>
    [...stored.get(path)!].find(
      ([id, other]) =>
        id !== own && (collections[path]!.unique ?? []).some(field => record[field] != null && record[field] === other[field]),
    )

  const put = ({method, path}: StartGenericInput, given: StoredRecords) => {
    const {idField, convert = (same: StoredRecords) => same} = collections[path]!
    const records = stored.get(path)!
    const no = (made.get(path) ?? 0) + 1
    if (method === 'POST') made.set(path, no)
    const id = method === 'POST' ? `c-${no}` : String(given[idField])
    if (method === 'PATCH' && !records.has(id)) return {error: {code: 'NO_SUCH_RECORD', message: 'There is none of this id'}}
    const twin = findTwin(path, given, id)
    if (twin) return {error: {code: 'DUPLICATE_DATA', message: 'Another record has this value', details: {id: twin[0]}}}
    records.set(id, {...records.get(id), ...convert(given), [idField]: id})
    return {id}
  }

  return {
    all: (path: string): StoredRecords[] => [...stored.get(path)!.values()],
    write(asked: StartGenericInput, fault: Fault['action'] | undefined) {
      const results = (asked.body as StoredRecords[]).map(given =>
        fault?.type === 'refuse' && given[fault.field] === fault.value ? {error: fault.error} : put(asked, given),
      )
      return {status: asked.method === 'POST' ? 201 : 200, body: {results}}
    },
    read({path, query: {ids, ...values}}: StartGenericInput) {
      const wanted = ids?.split(',')
      const isWanted = (record: StoredRecords) =>
        (!wanted || wanted.includes(String(record[collections[path]!.idField]))) &&
        Object.entries(values).every(([field, value]) => String(record[field]) === value)
      return {status: 200, body: {records: [...stored.get(path)!.values()].filter(isWanted)}}
    },
  }
}
