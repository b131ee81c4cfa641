import {createWriteStream, rmSync} from 'node:fs'
import {rename, stat} from 'node:fs/promises'
import {Readable} from 'node:stream'
import {pipeline} from 'node:stream/promises'
import {setTimeout as sleep} from 'node:timers/promises'
import type {Command} from 'commander'
import {badFile, usage} from '../cli/failure.ts'
import {findRun, runPath} from '../cli/find.ts'
import {interrupted} from '../cli/interrupt.ts'
import {notOurs} from '../cli/patience.ts'
import type {Cli, Session} from '../cli/session.ts'
import {clean} from '../cli/words.ts'
import {ApiError, type Json, readPages, Unreachable} from '../http.ts'
import {openResults} from '../whole-results.ts'

type Logs = {follow?: boolean; failed?: boolean; limit?: number}
type Results = {output?: string; failed?: boolean; plan?: boolean; source?: string}

export default (cli: Cli, program: Command) => {
  program
    .command('logs')
    .summary('show what became of every row')
    .description('The log of a run: every attempt of every row, in the order it was settled.')
    .argument('<run>', 'its id, or that of an import, whose last run is meant')
    .option('-f, --follow', 'go on until the run has ended')
    .option('--failed', 'only what went wrong')
    .addHelpText(
      'after',
      `
With --json every entry is a line of its own.

Examples:
  lading logs run_01k9… --failed
  lading logs run_01k9… --follow
  lading logs imp_01k9… --json | jq -c 'select(.code) | [.rowNumber, .code, .message]'`,
    )
    .action((given: string, options: Logs) => logs(cli, given, options))

  program
    .command('results')
    .summary('get a run as a file')
    .description(
      'The file as it was, with what became of each row and its record ids; to the standard output or a file. With --json and no file: a line a row.',
    )
    .argument('<run>', 'its id, or that of an import, whose last run is meant')
    .option('-o, --output <file>', 'write it there')
    .option('--failed', 'only rows that were not written, to be put right and imported again')
    .option('--plan', 'of a dry run: what would be written, field by field')
    .option('--source <id>', 'which of several files, by the id of its source')
    .addHelpText(
      'after',
      '\nExamples:\n  lading results run_01k9… -o results.csv\n  lading results imp_01k9… --failed -o failed.csv\n  lading results run_01k9… --plan | less\n\nNext: put failed.csv right, then lading import failed.csv --template NAME',
    )
    .action((given: string, options: Results) => results(cli, given, options))
}

const wentWrong = ['refused', 'failed', 'unanswered', 'skipped', 'would_ask']
const pageRows = 1000
const lookAgainMs = 1000

const logs = async (cli: Cli, given: string, {follow, failed}: Logs) => {
  const session = await cli.open()
  const run = await findRun(session, given)
  const signal = follow ? cli.interrupt() : undefined
  try {
    for await (const entry of readEntries(session, run, {follow: Boolean(follow), ...(signal && {signal})}))
      if (!failed || wentWrong.includes(entry.outcome)) await say(cli, entry)
  } catch (error) {
    if (!signal?.aborted) throw error
    throw interrupted(signal.reason, `You no longer follow ${run.id}`, `Come back with: lading logs ${run.id} --follow`)
  }
}

/** A reader that is slow is waited for: a log may have millions of lines. */
const say = async ({out}: Cli, entry: Json) => {
  out.event(entry, out.json ? undefined : lineOf(entry))
  if (out.out.writableNeedDrain) await new Promise<void>(resolve => out.out.once('drain', resolve))
}

const lineOf = ({at, rowNumber, rowKey, module, outcome, recordId, code, message, attempt}: Json) =>
  [at, rowNumber ? `row ${rowNumber}` : rowKey, module, outcome, recordId, code, message, attempt > 1 ? `(attempt ${attempt})` : null]
    .filter(part => part)
    .map(clean)
    .join('  ')

/** Page by page. The page that was the last is asked for again while the run goes on; what of it was said is not said twice. */
async function* readEntries({client, path, keepFresh}: Session, {id}: Json, {follow, signal}: {follow: boolean; signal?: AbortSignal}) {
  const at = path(`runs/${id}`)
  let heard = 0
  for (let cursor: string | null = null; ; ) {
    const isOver = !follow || (await client.get(at, undefined, signal)).run.state === 'ended'
    const {records, nextCursor}: Json = await client.get(`${at}/records`, {limit: pageRows, cursor}, signal)
    for (const entry of records) {
      if (entry.seq > heard) yield entry
      heard = Math.max(heard, entry.seq)
    }
    if (nextCursor) cursor = nextCursor
    else if (isOver) return
    else await sleep(lookAgainMs, undefined, signal && {signal})
    await keepFresh()
  }
}

const results = async (cli: Cli, given: string, options: Results) => {
  const {output, failed, plan, source} = options
  if (failed && plan) throw usage('Ask for --failed or for --plan, not both')
  const session = await cli.open()
  const run = await findRun(session, given, (one: Json) => one.dryRun === Boolean(plan))
  if (!run.importId) throw usage(`${run.id} read no file here: an engine of your own carries it`, `Its log is here: lading logs ${run.id}`)
  if (cli.out.json && output === undefined) return sayRows(cli, session, run, options)
  const kind = plan ? 'plan' : failed ? 'failed' : 'results'
  const query = {run: run.id, source}
  const path = session.path(`imports/${run.importId}/${kind}.csv`)
  const asked = {query, timeoutMs: 600_000}
  const response = kind === 'results' ? await openResults(session.client, path, asked) : await session.client.open('GET', path, asked)
  if (!response.headers.get('content-type')?.includes('csv')) throw notOurs()
  const body = Readable.from(readWhole(response, session.client.base))
  if (output === undefined || output === '-') return pipeline(body, cli.out.out, {end: false})
  await writeWhole(output, body)
  cli.out.answer({file: output, run: run.id, bytes: (await stat(output)).size}, `${output} is written`)
}

/** A connection that breaks in mid-answer is the network's doing, and is told as such. */
async function* readWhole({body}: Response, base: string) {
  try {
    yield* body as AsyncIterable<Uint8Array>
  } catch (error) {
    // A later part of the file may be refused.
    if (error instanceof ApiError) throw error
    throw new Unreachable(`The connection to ${new URL(base).origin} broke before the file was whole`, {cause: error})
  }
}

/** The same for programs: every row of every file on a line, with what became of it. */
const sayRows = async (cli: Cli, session: Session, run: Json, {failed, source}: Results) => {
  const {client} = session
  const at = `${runPath(session, run)}/rows`
  const {sources} = await client.get(at, {source, limit: 1})
  const outcome = failed ? wentWrong.join(',') : undefined
  for (const {id} of source ? [{id: source}] : sources)
    for await (const row of readPages(client, at, 'rows', {source: id, outcome, limit: 200})) await say(cli, {source: id, ...row})
}

/** What breaks off, by Ctrl-C too, leaves the file that was there before. */
const writeWhole = async (path: string, body: Readable) => {
  const draft = `${path}.${process.pid}.part`
  const remove = () => rmSync(draft, {force: true})
  process.once('exit', remove)
  await pipeline(body, createWriteStream(draft)).catch(error => {
    throw error.syscall === 'open' ? badFile(`${path} cannot be written (${error.code})`, 'Check its path and its rights') : error
  })
  await rename(draft, path)
  process.off('exit', remove)
}
