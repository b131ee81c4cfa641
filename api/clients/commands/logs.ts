import {stat} from 'node:fs/promises'
import {pipeline} from 'node:stream/promises'
import {setTimeout as sleep} from 'node:timers/promises'
import type {Command} from 'commander'
import {refused, usage} from '../cli/failure.ts'
import {findRun, runPath} from '../cli/find.ts'
import {interrupted} from '../cli/interrupt.ts'
import {clean} from '../cli/phrases.ts'
import {bodyOf, saveFile} from '../cli/save-file.ts'
import type {Cli, Session} from '../cli/session.ts'
import {type Json, readPages} from '../http.ts'
import {notOurs} from '../retry.ts'
import {openResults} from '../whole-results.ts'

type Logs = {follow?: boolean; failed?: boolean; limit?: number}
type Results = {output?: string; failed?: boolean; plan?: boolean; source?: string}

export default (cli: Cli, program: Command) => {
  program
    .command('logs')
    .summary('show the log of a run')
    .description('Shows every attempt of every row, in the order of settlement.')
    .argument('<run>', 'id of a run, or of an import (its last run)')
    .option('-f, --follow', 'continue until the run has ended')
    .option('--failed', 'only rows that were not written')
    .addHelpText(
      'after',
      `
With --json, every entry is one line. --failed shows the last attempt of a row.
With --follow, it shows each attempt that failed.

Examples:
  lading logs run_01k9… --failed
  lading logs run_01k9… --follow
  lading logs imp_01k9… --json | jq -c 'select(.code) | [.rowNumber, .code, .message]'`,
    )
    .action((given: string, options: Logs) => logs(cli, given, options))

  program
    .command('results')
    .summary('download the results of a run')
    .description(
      'Downloads the file with the result and the record ids of each row, to standard output or a file. With --json and no file: one line per row.',
    )
    .argument('<run>', 'id of a run, or of an import (its last run)')
    .option('-o, --output <file>', 'write to this file')
    .option('--failed', 'only rows that were not written, to fix and import again')
    .option('--plan', 'for a dry run: what would be written, field by field')
    .option('--source <id>', 'the file, by source id, if the run has several')
    .addHelpText(
      'after',
      '\nExamples:\n  lading results run_01k9… -o results.csv\n  lading results imp_01k9… --failed -o failed.csv\n  lading results run_01k9… --plan | less\n\nNext: correct failed.csv, then lading retry RUN --corrected failed.csv',
    )
    .action((given: string, options: Results) => results(cli, given, options))
}

const unwritten = ['refused', 'failed', 'unanswered', 'skipped', 'would_ask']
/** Codes of rows that need no write: the record already has the values, or keeps values that people changed. */
const needless = ['UNCHANGED', 'KEPT_EDIT']
const pageRows = 1000
const lookAgainMs = 1000

const logs = async (cli: Cli, given: string, {follow, failed}: Logs) => {
  const session = await cli.open()
  const run = await findRun(session, given)
  const signal = follow ? cli.interrupt() : undefined
  try {
    const read = () => readEntries(session, run, {follow: Boolean(follow), ...(signal && {signal})})
    if (failed && !follow) for (const entry of await readFailed(read, {byRecord: Boolean(run.undoOf)})) await say(cli, entry)
    else for await (const entry of read()) if (!failed || isUnwritten(entry)) await say(cli, entry)
  } catch (error) {
    if (!signal?.aborted) throw error
    throw interrupted(signal.reason, `Stopped following ${run.id}`, `Continue with: lading logs ${run.id} --follow`)
  }
}

const isUnwritten = ({outcome, code}: Json) => unwritten.includes(outcome) && !needless.includes(code)

/**
 * Returns the final entries of rows that were not written, in the order of the log. Keeps only the entries of rows that failed in memory. The answer
 * of an attempt may stand before its `unanswered` entry. So if an `unanswered` entry would be final, the log is read again to find the answer.
 * With `byRecord`, keeps one final entry for each record of a row. An undo needs this, because one of its rows can have several records.
 */
export const readFailed = async (read: () => AsyncIterable<Json>, {byRecord = false} = {}): Promise<Json[]> => {
  const finals = new Map<string, Json>()
  const collect = async () => {
    for await (const entry of read()) {
      const {rowKey, flowId, module, phase, target, recordId} = entry
      const key = JSON.stringify([rowKey, flowId, module, phase, phase === 'write' ? '' : target, byRecord ? recordId : ''])
      const held = finals.get(key)
      if (held ? replaces(entry, held) : isUnwritten(entry)) finals.set(key, entry)
    }
  }
  await collect()
  if ([...finals.values()].some(({outcome}) => outcome === 'unanswered')) await collect()
  return [...finals.values()].filter(isUnwritten).toSorted((one, other) => one.seq - other.seq)
}

/**
 * Whether `entry` replaces `held` as the final entry of its row. The higher attempt wins. Within an attempt, the last answer wins, even if an
 * `unanswered` entry follows it.
 */
const replaces = (entry: Json, held: Json): boolean => {
  if (entry.outcome === 'made_after_no_answer') return false
  if (entry.attempt !== held.attempt) return entry.attempt > held.attempt
  const [isGuess, wasGuess] = [entry, held].map(({outcome}) => outcome === 'unanswered')
  return isGuess === wasGuess ? entry.seq > held.seq : wasGuess!
}

/** Prints one log entry. Waits for a slow reader of the output, because a log may have millions of lines. */
const say = async ({out}: Cli, entry: Json) => {
  out.event(entry, out.json ? undefined : lineOf(entry))
  if (out.out.writableNeedDrain) await new Promise<void>(resolve => out.out.once('drain', resolve))
}

const lineOf = ({at, rowNumber, rowKey, module, outcome, recordId, code, message, attempt}: Json) =>
  [at, rowNumber ? `row ${rowNumber}` : rowKey, module, outcome, recordId, code, message, attempt > 1 ? `(attempt ${attempt})` : null]
    .filter(part => part)
    .map(clean)
    .join('  ')

/** Yields the log page by page. With `follow`, reads the last page again while the run is active, and yields only new entries. */
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
  if (failed && plan) throw usage('Use either --failed or --plan, not both')
  const session = await cli.open()
  const run = await findRun(session, given, (one: Json) => one.dryRun === Boolean(plan))
  if (!run.importId) throw usage(`${run.id} is an external run, so it has no file here`, `Show its log with: lading logs ${run.id}`)
  if (run.dryRun !== Boolean(plan))
    throw run.dryRun
      ? refused('A dry run writes nothing, so it has no results', 'DRY_RUN')
      : refused('Only a dry run has a plan', 'NOT_A_DRY_RUN')
  if (cli.out.json && output === undefined) return sayRows(cli, session, run, options)
  const kind = plan ? 'plan' : failed ? 'failed' : 'results'
  // Spreadsheets detect UTF-8 by the byte order mark. In a pipe, the mark would be part of the first column's name.
  const bom = kind === 'results' && output !== undefined && output !== '-' ? 1 : undefined
  const query = {run: run.id, source, bom}
  const path = session.path(`imports/${run.importId}/${kind}.csv`)
  const asked = {query, timeoutMs: 600_000}
  const response = kind === 'results' ? await openResults(session.client, path, asked) : await session.client.open('GET', path, asked)
  if (!response.headers.get('content-type')?.includes('csv')) throw notOurs()
  const body = bodyOf(response, session.client.base)
  if (output === undefined || output === '-') return pipeline(body, cli.out.out, {end: false})
  await saveFile(output, body)
  cli.out.answer({file: output, run: run.id, bytes: (await stat(output)).size}, `Wrote ${output}`)
}

const sayRows = async (cli: Cli, session: Session, run: Json, {failed, source}: Results) => {
  const {client} = session
  const at = `${runPath(session, run)}/rows`
  const {sources} = await client.get(at, {source, limit: 1})
  const filter = failed ? {phase: 'write', outcome: 'refused,failed'} : {}
  for (const {id} of source ? [{id: source}] : sources)
    for await (const row of readPages(client, at, 'rows', {source: id, ...filter, limit: 200}))
      if (!failed || isInFailedFile(row)) await say(cli, {source: id, ...row})
}

/**
 * Whether failed.csv includes a row whose write failed. It leaves out rows that do not fit the header or have an open quote, and rows whose record may
 * exist.
 */
export const isInFailedFile = ({entries}: Json): boolean =>
  !entries.some(
    ({phase, outcome, code, mayExist}: Json) =>
      (phase === 'write' && outcome === 'unanswered') || code === 'ROW_RAGGED' || code === 'ROW_QUOTE' || mayExist,
  )
