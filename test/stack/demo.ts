import fs from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {type Client, openClient} from './client.ts'
import {countAccounts} from './crm-count.ts'
import {differences, type Imported, keysOf, type Measured, readResults, tallyOfLog, tallyOfRun} from './evidence.ts'
import {connect, discover, prepareImport, readLog, runImport, signIn} from './journey.ts'
import {openProgress} from './progress.ts'
import {root, type Stack, startStack} from './stack.ts'
import {paint} from './terminal.ts'

const email = 'ana@example.org'
const file = fileURLToPath(new URL('../data/airports.csv', import.meta.resolve('vega-datasets')))
const directory = join(root, '.data', `demo-${process.pid}`)
const number = new Intl.NumberFormat('en')
const say = (text: string) => console.log(`  ${text}`)

/** Imports a file into a CRM twice, and checks that every row was written exactly once. `npm run demo` calls it. */
const run = async () => {
  const startedAt = performance.now()
  const elapsed = () => ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\n  ${paint('bold', 'Lading')}  ${paint('dim', 'a file into a CRM, row by row')}\n`)
  say('Starting Postgres, a stand-in for the CRM, the API and its workers.')
  const stack = await startStack({directory, keep: false})
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stack.stop().then(() => process.exit(130)))
  try {
    say(`Up in ${elapsed()} s. Every step from here is a call to the API.`)
    const wrong = await demo(stack)
    for (const sentence of wrong) say(paint('red', `✗ ${sentence}`))
    if (!wrong.length) say(paint('green', `✓ Counts, log, results.csv and the CRM agree. ${elapsed()} s in all.`))
    console.log()
    return wrong.length ? 1 : 0
  } catch (error) {
    printLastWords(stack)
    throw error
  } finally {
    await stack.stop()
  }
}

const demo = async (stack: Stack) => {
  const {client, org, connectorId} = await prepare(stack)
  const csv = fs.readFileSync(file, 'utf8')
  const keys = keysOf(csv)
  say(`airports.csv, ${number.format(keys.length)} rows, into Accounts. Then the same file again.`)
  console.log()
  const first = await importFile(client, {label: 'First', org, connectorId, csv})
  const again = await importFile(client, {label: 'Again', org, connectorId, csv})
  const crmRecords = await countAccounts(stack.crmUrl, email)
  const result = {first: first.tally, again: again.tally, crmRecords}
  fs.writeFileSync(join(root, '.data', 'demo.json'), `${JSON.stringify(result, null, 2)}\n`)
  printResult(result)
  return differences({keys, first, again, crmRecords})
}

const prepare = async ({apiUrl}: Stack) => {
  const session = openClient(apiUrl, await signIn(apiUrl, email))
  const {org, role} = await session.call<{org: {id: string}; role: string}>('GET', '/auth/me')
  const {secret} = await session.call<{secret: string}>('POST', `/orgs/${org.id}/tokens`, {body: {name: 'demo'}})
  say(`Signed in as ${email}, ${role}; API token made.`)
  const connectorId = await connect(session, apiUrl, org.id, email)
  const client = openClient(apiUrl, secret)
  const modules = await discover(client, org.id, connectorId)
  say(`Connected to Example CRM; discovery found ${modules.length} modules.`)
  return {client, org: org.id, connectorId}
}

type ImportOptions = {label: string; org: string; connectorId: string; csv: string}

const importFile = async (client: Client, {label, org, connectorId, csv}: ImportOptions): Promise<Imported> => {
  const prepared = await prepareImport(client, {org, connectorId, csv})
  const bar = openProgress(label)
  const startedAt = performance.now()
  const ended = await runImport(client, prepared, bar.show)
  const seconds = (performance.now() - startedAt) / 1000
  bar.end()
  const speed = {seconds: Number(seconds.toFixed(2)), rowsPerSecond: Math.round(prepared.rows / seconds)}
  const log = tallyOfLog(await readLog(client, prepared.path, ended.id))
  const results = await client.send('GET', `${prepared.path}/results.csv?run=${ended.id}`)
  return {tally: {...tallyOfRun(ended.counts, prepared.rows), ...speed}, log, results: readResults(await results.text())}
}

const columns = {created: 9, updated: 9, skipped: 9, failed: 8, unanswered: 12, seconds: 9, rowsPerSecond: 9} as const
type Column = keyof typeof columns

const printResult = ({first, again, crmRecords}: {first: Measured; again: Measured; crmRecords: number}) => {
  const line = (label: string, cellOf: (column: Column) => string) =>
    label.padEnd(6) +
    Object.entries(columns)
      .map(([column, width]) => cellOf(column as Column).padStart(width))
      .join('')
  console.log()
  say(
    paint(
      'dim',
      line('', column => (column === 'rowsPerSecond' ? 'rows/s' : column)),
    ),
  )
  say(line('First', column => number.format(first[column])))
  say(line('Again', column => number.format(again[column])))
  console.log()
  say(`The CRM itself, when asked, has ${number.format(crmRecords)} Accounts.`)
  say(paint('dim', 'The stand-in answers at once: these are the rows/s of the service alone.'))
}

const printLastWords = ({processes}: Stack) => {
  for (const {name, tail} of processes.values()) for (const line of tail.slice(-10)) console.error(`  ${name} │ ${line}`)
}

try {
  process.exitCode = await run()
} catch (error) {
  console.error(paint('red', `\n  ${(error as Error).message}\n`))
  process.exitCode = 1
}
