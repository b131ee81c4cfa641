import type {Command} from 'commander'
import {describeEnding} from '../cli/ending.ts'
import {limitUsual, wholeNumber} from '../cli/options.ts'
import {runProgress, sumCounts} from '../cli/progress.ts'
import type {Cli, Session} from '../cli/session.ts'
import {clean, count} from '../cli/words.ts'
import type {Json} from '../http.ts'

const mostAtOnce = 5

export default (cli: Cli, program: Command) => {
  program
    .command('runs')
    .summary('list imports and their runs')
    .description('Without an id the newest imports, each with its newest run; of an import its runs; of a run what became of it.')
    .argument('[id]', 'an import or a run')
    .option('-n, --limit <n>', 'at most so many', wholeNumber, 20)
    .addHelpText(
      'after',
      '\nExamples:\n  lading runs\n  lading runs imp_01k9…\n  lading runs run_01k9… --json | jq .run.counts\n\nNext: lading logs RUN, lading results RUN, lading retry RUN',
    )
    .action(async (id: string | undefined, {limit = limitUsual}: {limit?: number}) => {
      const session = await cli.open()
      if (id?.startsWith('run_')) return showRun(cli, session, id)
      return id === undefined ? listImports(cli, session, limit) : listRuns(cli, session, {id, limit})
    })
}

const listImports = async ({out}: Cli, {client, path}: Session, limit: number) => {
  const {imports} = await client.get(path('imports'), {limit})
  const runs: Json[] = []
  for (let at = 0; at < imports.length; at += mostAtOnce)
    runs.push(
      ...(await Promise.all(
        imports
          .slice(at, at + mostAtOnce)
          .map(async ({id}: Json) => (await client.get(path(`imports/${id}/runs`), {limit: 1})).runs[0] ?? null),
      )),
    )
  const rows = imports.map((one: Json, at: number) => [
    one.id,
    one.name,
    out.time(one.createdAt),
    stateOf(runs[at]) ?? one.state,
    countsOf(runs[at]),
  ])
  const heads = [{head: 'IMPORT', keep: true}, {head: 'NAME'}, {head: 'MADE'}, {head: 'STATE'}, {head: 'ROWS'}]
  out.answer({imports: imports.map((one: Json, at: number) => ({...one, lastRun: runs[at]}))}, () =>
    rows.length ? out.table(heads, rows) : 'Nothing was imported yet. Begin with: lading import FILE --template NAME',
  )
}

const listRuns = async ({out}: Cli, {client, path}: Session, {id, limit}: {id: string; limit: number}) => {
  const {runs} = await client.get(path(`imports/${encodeURIComponent(id)}/runs`), {limit})
  const rows = runs.map((run: Json) => [run.id, kindOf(run), out.time(run.startedAt ?? run.authorisedAt), stateOf(run), countsOf(run)])
  const heads = [{head: 'RUN', keep: true}, {head: 'KIND'}, {head: 'BEGUN'}, {head: 'STATE'}, {head: 'ROWS'}]
  out.answer({runs}, () => (rows.length ? out.table(heads, rows) : `No run of it yet. Begin one with: lading run ${clean(id)}`))
}

const showRun = async ({out}: Cli, {client, path}: Session, id: string) => {
  const {run} = await client.get(path(`runs/${encodeURIComponent(id)}`))
  const {parts} = runProgress(run.progress, run.counts)
  out.answer({run}, () => [
    `${run.id}  ${kindOf(run)} of ${run.importId ?? 'an engine of your own'}`,
    ...(run.state === 'ended'
      ? describeEnding(out, run)
      : [
          `${stateOf(run)}: ${parts.join(', ')}`,
          ...(run.pause ? [`Waits: ${clean(run.pause.message)}`] : []),
          `Next: lading watch ${run.id}`,
        ]),
  ])
}

const kindOf = ({dryRun, retryOf}: Json) => (dryRun ? 'dry run' : retryOf ? 'retry' : 'run')

/** One word, or the stop's. */
const stateOf = (run: Json): string | null => run && (run.stop ? `stopped (${run.stop.stopped})` : run.state)

const countsOf = (run: Json) =>
  run
    ? Object.entries(sumCounts(run.counts))
        .map(([outcome, rows]) => `${count(rows)} ${outcome}`)
        .join(', ')
    : ''
