import {createServer, type IncomingMessage, request, type ServerResponse} from 'node:http'
import {setTimeout as sleep} from 'node:timers/promises'
import {parseArgs} from 'node:util'
import {seedOrgs} from '../simulators/crm/seed.ts'
import {openServer} from '../simulators/crm/server.ts'
import {createSimulator} from '../simulators/crm/simulator.ts'
import {exportsPath, serveGeneratedExports} from './generated-exports.ts'

const text = (value: string) => ({type: 'string', default: value}) as const
/**
 * The options of a CRM that does nothing. It answers that every record of a write was made, at once or after `--latency` ms, and stores none.
 * All other answers (consent, tokens, metadata) come from the stand-in.
 * The first org of the stand-in exists `--orgs` times: bench1@example.org belongs to the first copy, bench2@example.org to the second.
 * With `--exports N`, bulk reads find N records in a module; they are generated when they are read.
 */
const {port, latency, orgs, exports} = parseArgs({
  options: {port: text('0'), latency: text('0'), orgs: text('0'), exports: text('0')},
}).values
const answerExport = serveGeneratedExports(Number(exports))
const latencyMs = Number(latency)
const copies = Array.from({length: Number(orgs)}, (_, at) => {
  const [number, [seed]] = [at + 1, seedOrgs]
  const users = [{email: `bench${number}@example.org`, firstName: 'Bench', lastName: `${number}`, profile: 'Administrator', role: 'CEO'}]
  return {
    ...seed!,
    key: `bench${number}`,
    companyName: `Bench ${number}`,
    prefix: `${9_000_000 + number}`,
    zgid: `${90_000 + number}`,
    users,
  }
})
const standIn = createSimulator({journal: {limit: 0}, switches: {credits: false}, orgs: [...seedOrgs, ...copies]}, () => {})
await openServer(standIn, {port: 0, control: false, keepAliveMs: 65_000})
const standInUrl = standIn.world.baseUrl
const server = createServer((incoming, outgoing) => {
  const isWrite = incoming.method === 'POST' && /^\/crm\/v8\/[A-Z]\w*$/.test(incoming.url!)
  if (isWrite) answerWrite(incoming, outgoing)
  else if (incoming.url!.startsWith(exportsPath)) answerExport(incoming, outgoing)
  else passOn(incoming, outgoing)
})
server.keepAliveTimeout = 65_000
server.listen(Number(port), '127.0.0.1', () => {
  standIn.world.baseUrl = `http://127.0.0.1:${port}`
})

const recordsPerCall = 100
let records = 4_400_000_000_000

const answerWrite = (incoming: IncomingMessage, outgoing: ServerResponse) => {
  // The answer needs the number of records, because the last call of a file may have fewer.
  const pieces: Buffer[] = []
  incoming.on('data', piece => pieces.push(piece))
  incoming.on('end', async () => {
    const text = answerTo(countIn(Buffer.concat(pieces)))
    if (latencyMs) await sleep(latencyMs)
    outgoing.writeHead(201, {'content-type': 'application/json;charset=UTF-8', 'content-length': text.length})
    outgoing.end(text)
  })
}

/** Counts the records of a body by a text that never occurs in their values. */
const countIn = (body: Buffer) => {
  let count = 0
  for (let at = body.indexOf('"Account_Number":'); at >= 0; at = body.indexOf('"Account_Number":', at + 17)) count++
  return Math.min(count, recordsPerCall)
}

const answerTo = (count: number) => {
  const items = Array.from(
    {length: count},
    () => `{"code":"SUCCESS","details":{"id":"${++records}"},"message":"record added","status":"success"}`,
  )
  return `{"data":[${items.join(',')}]}`
}

const passOn = (incoming: IncomingMessage, outgoing: ServerResponse) => {
  const {method, url, headers} = incoming
  const passed = request(`${standInUrl}${url}`, {method, headers}, answer => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
  })
  passed.on('error', () => outgoing.destroy())
  incoming.pipe(passed)
}
